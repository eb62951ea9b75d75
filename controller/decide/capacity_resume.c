/* A wait for the primary that goes on from tick to tick. */
#include "decide/capacity.h"
#include "decide/release/release.h"
#include "decide/rollback.h"
#include "decide/rules.h"

/*
 * A rollback that waits goes on, whatever the hooks and checks say now; so does the end of a
 * promotion, for which the primary was ready before it was asked for more. Other waits are decided
 * anew at each tick by the rules that began them.
 */
enum verdict capacity_resume(struct release *r)
{
    bool begun = release_is_analysing(r) || r->phase == PHASE_Waiting;

    if (begun && capacity_waits(r, CAPACITY_ROLLBACK))
        return rollback_run(r, r->phase == PHASE_Waiting);
    if (r->phase == PHASE_Promoting && capacity_waits(r, CAPACITY_PROMOTION) && capacity_answers(r))
        return promote_shift(r);
    capacity_settle(r);
    return VERDICT_GO;
}

/*
 * Waits for the primary that go on from tick to tick (act/capacity.c), whatever the hooks and
 * checks say now. Other waits are decided anew at each tick by the rules that began them.
 */
#include "decide/act/capacity.h"
#include "decide/act/rollback.h"
#include "decide/act/shift.h"
#include "decide/release/release.h"
#include "decide/rules.h"

enum verdict resume_rollback(struct release *r)
{
    if (!capacity_waits(r, CAPACITY_ROLLBACK))
        return VERDICT_GO;
    return rollback_run(r, r->phase == PHASE_Waiting);
}

/* The primary was ready before it was asked for more. */
enum verdict resume_promotion(struct release *r)
{
    if (!capacity_waits(r, CAPACITY_PROMOTION) || !capacity_answers(r))
        return VERDICT_GO;
    return shift_traffic(r);
}

enum verdict resume_settle(struct release *r)
{
    capacity_settle(r);
    return VERDICT_GO;
}

/* The pause of a target that has lost its traffic, from tick to tick (act/drain.c). */
#include "decide/act/drain.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/rules.h"

static const char back[] = "TrafficBack"; /* its reason when somebody gave it traffic meanwhile */

/*
 * Somebody routes to a target that was about to go. What is not meant goes back (detect.c,
 * promote.c); before that the pause of before is forgotten, or a tick that is cut off in between
 * would leave a target that passes for one which has had no traffic for an interval.
 */
static enum verdict begin_anew(struct release *r)
{
    int64_t since;

    if (r->canary->status.canary_weight > 0) {
        condition_clear(r, CONDITION_DRAINED);
        return VERDICT_GO;
    }
    if (condition_since(r, CONDITION_DRAINED, back, &since))
        return VERDICT_GO;
    condition_clear(r, CONDITION_DRAINED);
    condition_set(r, CONDITION_DRAINED, back, "The target has traffic again, which is taken away.");
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

enum verdict drain_idle(struct release *r)
{
    bool drains = condition_is_set(r, CONDITION_DRAINED);

    /* Kept for a Service of others, it may be at zero by hand, or have pods again. */
    if (!drains && !condition_is_set(r, CONDITION_FREE))
        return VERDICT_GO;
    if (r->weights.canary > 0)
        return drains ? begin_anew(r) : VERDICT_GO;
    enum verdict verdict = drain_target(r);
    if (verdict != VERDICT_GO || !release_has_writes(r))
        return verdict;
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

/* Who began the pause ends it. */
enum verdict drain_running(struct release *r)
{
    if (!condition_is_set(r, CONDITION_DRAINED))
        return VERDICT_GO;
    if (r->weights.canary > 0)
        return begin_anew(r);
    return drain_note(r);
}

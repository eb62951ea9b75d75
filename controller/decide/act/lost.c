/*
 * The target is gone, or has become one that cannot be released, and with it whoever had the
 * canary's share of the traffic: that goes to the primary. A promotion that the primary has all of
 * is brought to its end. Whatever else is under way needs the target, which may be about to be made
 * anew: it is waited for as long as the progress deadline, and then the release has failed. The
 * condition TargetFound=False says so, and since when. (Flagger tells it at every tick, for ever.)
 */
#include "decide/act/lost.h"

#include "decide/act/promote.h"
#include "decide/act/ready.h"
#include "decide/act/refusal.h"
#include "decide/act/rollback.h"
#include "decide/act/shift.h"
#include "decide/release/condition.h"
#include "decide/release/status.h"

static const char missing[] = "TargetMissing", unusable[] = "TargetUnusable";

static enum verdict take_share(struct release *r)
{
    enum verdict verdict = release_read_routes(r);

    if (verdict == VERDICT_GO)
        verdict = release_route(r, 0);
    /* also a share that was taken before, and not told of */
    if (verdict == VERDICT_GO && r->canary->status.canary_weight > 0)
        status_weight(r, 0);
    return verdict;
}

static enum verdict expire(struct release *r, const char *reason)
{
    int64_t since, deadline = r->canary->progress_deadline_s * (int64_t)1000;

    if (!condition_since(r, CONDITION_TARGET, reason, &since))
        since = r->tick->now_ms;
    if (since + deadline > r->tick->now_ms) {
        release_wake(r, since + deadline - r->tick->now_ms);
        return VERDICT_STOP;
    }
    release_warn(r, "Rolling back %s there has been no target for %d seconds", release_canary(r),
                 r->canary->progress_deadline_s);
    plan_alert(r->tick, "error", false, "Progress deadline exceeded, there is no target");
    condition_clear(r, CONDITION_DRAINED);
    return rollback_run(r, false);
}

static enum verdict end_promotion(struct release *r, const char *reason)
{
    enum carried carried = CARRIED_ALL;
    enum verdict verdict = VERDICT_GO;

    if (!r->info.primary)
        return expire(r, reason);
    if (r->target->carried || promote_is_being_written(r))
        verdict = promote_carried(r, &carried);
    if (verdict != VERDICT_GO)
        return verdict;
    if (carried == CARRIED_ALL) {
        verdict = ready_or_end(r, SIDE_PRIMARY);
        if (verdict != VERDICT_GO)
            return verdict;
        condition_clear(r, CONDITION_WHOLE);
        condition_clear(r, CONDITION_DRAINED);
        return shift_end(r);
    }
    verdict = expire(r, reason);
    if (r->phase == PHASE_Failed && carried == CARRIED_PART)
        promote_give_up(r);
    else if (r->phase == PHASE_Failed)
        condition_clear(r, CONDITION_WHOLE);
    return verdict;
}

enum verdict lost_target(struct release *r)
{
    const char *reason = r->info.object ? unusable : missing;

    if (condition_set(r, CONDITION_TARGET, reason, r->info.unusable))
        release_warn(r, "%s", r->info.unusable);
    if (release_is_initialising(r))
        return VERDICT_STOP;
    r->info.object = NULL; /* what is there instead is not touched */
    enum verdict verdict = take_share(r);
    if (verdict == VERDICT_GO && r->refused && release_is_analysing(r))
        verdict = refusal_expire(r);
    if (verdict != VERDICT_GO)
        return verdict;
    if (release_is_promoting(r))
        return end_promotion(r, reason);
    return release_is_analysing(r) ? expire(r, reason) : VERDICT_STOP;
}

void lost_clear(struct release *r)
{
    condition_clear(r, CONDITION_TARGET);
}

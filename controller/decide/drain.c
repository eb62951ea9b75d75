/*
 * Between moving traffic and taking away where it went there is a pause. A route or a selector that
 * was written is not what proxies and nodes do in the same moment: they hear of it in their own
 * time, and until then they send requests to pods that would be gone. So when a target has lost its
 * traffic, the status says so at once, with the phase that is reached, and the target goes to zero
 * an analysis interval later, and not before the mesh has taken over the routes. (Flagger scales
 * down with the same stroke.) So it is with a port that the routes have left.
 *
 * The condition Drained=False is the memory of it, so that it outlives a restart. A new revision
 * that comes meanwhile begins at once, on the pods that are there.
 */
#include "decide/release.h"

static const char left[] = "TrafficLeft"; /* its reason */
static const char back[] = "TrafficBack"; /* another: somebody gave it traffic meanwhile */

static bool has_pods(const struct release *r)
{
    return !r->info.at_zero && !r->info.stopped;
}

static const char *text(struct release *r)
{
    return arena_printf(r->tick->arena,
                        "The traffic of %s has been taken away; it keeps its pods until that is "
                        "known everywhere",
                        release_target(r));
}

void drain_begin(struct release *r)
{
    status_untell(r, CONDITION_DRAINED);
    if (has_pods(r))
        status_tell(r, CONDITION_DRAINED, left, text(r));
}

bool drain_is_under_way(struct release *r)
{
    return status_has(r, CONDITION_DRAINED) && has_pods(r);
}

enum verdict drain_pause(struct release *r, const char *type, const char *reason, const char *text)
{
    int64_t since;

    if (!status_since(r, type, reason, &since)) {
        status_untell(r, type);
        status_tell(r, type, reason, text);
        release_wake(r, tick_interval_ms(r->tick));
        return VERDICT_STOP;
    }
    int64_t rest = since + tick_interval_ms(r->tick) - r->tick->now_ms;
    if (rest > 0) {
        release_wake(r, rest);
        return VERDICT_STOP;
    }
    enum verdict verdict = release_settled(r);
    if (verdict == VERDICT_STOP)
        release_wake(r, tick_interval_ms(r->tick));
    return verdict;
}

/* GO: the pause is over. STOP: it is not. */
static enum verdict pass(struct release *r)
{
    if (!has_pods(r))
        return VERDICT_GO;
    if (!r->left)
        return drain_pause(r, CONDITION_DRAINED, left, text(r));
    drain_begin(r);
    release_wake(r, tick_interval_ms(r->tick));
    return VERDICT_STOP;
}

enum verdict drain_target(struct release *r)
{
    enum verdict verdict = pass(r);

    if (verdict == VERDICT_STOP)
        return VERDICT_GO;
    if (verdict == VERDICT_GO && r->scaler)
        verdict = r->scaler->pause_target(r->tick);
    if (verdict != VERDICT_GO)
        return verdict;
    r->target->scale_to_zero(r->tick, &r->info);
    status_untell(r, CONDITION_DRAINED);
    return VERDICT_GO;
}

/*
 * Somebody routes to a target that was about to go. What is not meant goes back (detect.c,
 * promote.c); before that the pause of before is forgotten, or a tick that is cut off in between
 * would leave a target that passes for one which has had no traffic for an interval.
 */
static enum verdict begin_anew(struct release *r)
{
    int64_t since;

    if (r->canary->status.canary_weight > 0) {
        status_untell(r, CONDITION_DRAINED);
        return VERDICT_GO;
    }
    if (status_since(r, CONDITION_DRAINED, back, &since))
        return VERDICT_GO;
    status_untell(r, CONDITION_DRAINED);
    status_tell(r, CONDITION_DRAINED, back, "The target has traffic again, which is taken away.");
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

enum verdict drain_idle(struct release *r)
{
    bool waits = release_is_idle(r) || r->phase == PHASE_Waiting;

    if (!status_has(r, CONDITION_DRAINED))
        return VERDICT_GO;
    if (r->weights.canary > 0)
        return begin_anew(r);
    if (!waits)
        return VERDICT_GO; /* who began the pause ends it */
    enum verdict verdict = drain_target(r);
    if (verdict != VERDICT_GO || !release_has_writes(r))
        return verdict;
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

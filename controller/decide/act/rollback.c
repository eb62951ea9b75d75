/*
 * Traffic back to the primary (decide/RULES.md §6, §7). The order is the safety: routes
 * first, then the status, and the scale-down after a pause (drain.c); a tick that is cut off in
 * between starts the same rollback again.
 */
#include "decide/act/rollback.h"

#include "decide/act/capacity.h"
#include "decide/act/drain.h"
#include "decide/act/refused_write.h"
#include "decide/ask/hooks.h"
#include "decide/release/condition.h"
#include "decide/release/history.h"
#include "decide/release/release.h"
#include "decide/release/revision.h"
#include "decide/release/status.h"
#include "decide/release/steering.h"

/*
 * A primary that serves a part goes on serving, if only with some of its pods. One that serves
 * nothing, or that a failed promotion has left behind, must be ready before it gets anything more:
 * otherwise the canary keeps what it has; and so where nobody answers on the primary any more.
 * (Flagger routes all traffic to the broken primary and scales the healthy canary to zero.)
 */
enum verdict rollback_to_primary(struct release *r, const char *reason, bool *kept)
{
    const char *why;
    bool waits = capacity_waits(r, NULL);
    bool is_ready = release_ready(r, SIDE_PRIMARY, &why) == READY;

    *kept = r->weights.canary > 0;
    if (release_goes_forward(r) && !waits && !is_ready)
        return VERDICT_GO;
    enum verdict verdict = capacity_wait(r, reason);
    if (verdict != VERDICT_GO)
        return verdict;
    /* One that was asked for more is not ready as long as it has not got all of it. */
    if (release_goes_forward(r) && !is_ready && !capacity_answers(r))
        return VERDICT_GO;
    if (capacity_is_empty(r))
        return VERDICT_GO;
    *kept = false;
    return release_route(r, 0);
}

static void finish(struct release *r)
{
    plan_outcome(r->tick, false, "completed");
    hooks_post_rollout(r, PHASE_Failed);
}

enum verdict rollback_run(struct release *r, bool consume)
{
    history_fail(r);
    /* a target that somebody has deleted has lost its share already */
    bool kept = r->weights.canary > 0, refused = false;
    const struct weights routed = r->weights;
    enum verdict verdict =
        r->info.object ? rollback_to_primary(r, CAPACITY_ROLLBACK, &kept) : VERDICT_GO;

    if (verdict == VERDICT_GO && !kept) /* a route that cannot be written back: detect.c tries on */
        kept = refused = refused_write_keeps(r, &routed);
    if (verdict == VERDICT_GO && !kept && r->info.object)
        verdict = drain_target(r);
    if (verdict != VERDICT_GO)
        return verdict;
    status_phase(r, PHASE_Failed);
    status_weight(r, r->weights.canary);
    status_reset(r);
    status_forget_waits(r);
    steering_forget(r);
    if (!kept)
        status_forget_capacity(r);
    if (consume)
        status_sync(r);
    if (!kept)
        release_warn(r, "Canary failed! Scaling down %s", release_canary(r));
    else
        release_warn(r, "Canary failed! %s keeps %s traffic, %s", release_target(r),
                     release_canary_serves_all(r) ? "all" : "its",
                     refused ? "the API server refuses to route it back"
                             : "the primary is not ready");
    finish(r);
    /* a share that the primary cannot serve goes to the canary at once (detect.c) */
    if (kept && !release_canary_serves_all(r))
        release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

enum verdict rollback_failed_promotion(struct release *r, const char *why)
{
    const char *canary_why;
    enum verdict verdict = VERDICT_GO;
    bool analysed = !revision_changed(r);
    bool canary_ready = !r->info.at_zero && release_ready(r, SIDE_CANARY, &canary_why) == READY;

    /* Both have a share, and nobody to give it to: it waits for the one or the other, or for
     * another revision. */
    if (analysed && !canary_ready && r->weights.canary > 0)
        return condition_hold(r, side_condition(SIDE_PRIMARY), CONDITION_WAITING,
                              arena_printf(r->tick->arena,
                                           "Promotion of %s waits, neither side is ready: %s",
                                           release_target(r), why));
    /* First the pause that has begun is forgotten: cut off after its traffic has come back, the
     * target would pass for one that has had none for an interval. */
    if (analysed && canary_ready && r->router->weighted && condition_is_set(r, CONDITION_DRAINED)) {
        condition_clear(r, CONDITION_DRAINED);
        release_again(r, AGAIN_NOW);
        return VERDICT_STOP;
    }
    release_warn(r, "Promotion of %s failed, primary not ready: %s", release_target(r), why);
    plan_alert(r->tick, "error", false, "Promotion failed, primary not ready: %s", why);
    history_fail(r);
    /* Traffic goes only to who is ready and was analysed, or serves already: a revision on the
     * canary that came meanwhile keeps the share that is there. */
    if (analysed && canary_ready)
        verdict = release_route_everything(r);
    if (verdict != VERDICT_GO)
        return verdict;
    status_phase(r, PHASE_Failed);
    status_weight(r, r->weights.canary);
    status_reset(r);
    /* The primary carries neither the one revision nor the other whole: even the spec that was
     * promoted before is a revision to release. */
    status_text(r, "lastPromotedSpec", "");
    finish(r);
    return VERDICT_STOP;
}

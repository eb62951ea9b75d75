/* Steps 17, 21, 23, 26 of a running release: what ends it early, or makes it wait. */
#include "decide/act/gates.h"
#include "decide/act/ready.h"
#include "decide/act/rollback.h"
#include "decide/act/scale_up.h"
#include "decide/act/stall.h"
#include "decide/ask/checks.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/settled.h"
#include "decide/release/status.h"
#include "decide/rules.h"

enum verdict guard_primary(struct release *r)
{
    /* the canary has everything for as long as the primary has no ready pod: that is no way forward */
    bool forward = release_goes_forward(r) && !condition_is_set(r, CONDITION_SHARES);

    if (r->canary->skip_analysis || forward)
        return VERDICT_GO;
    return ready_or_end(r, SIDE_PRIMARY);
}

enum verdict guard_promoted(struct release *r)
{
    return ready_or_end(r, SIDE_PRIMARY);
}

/*
 * Also while the primary, the canary, a gate or the mesh is waited for. Not while promoting: the
 * primary has the new revision then, and there is no other to go back to.
 */
enum verdict guard_rollback_hooks(struct release *r)
{
    if (r->canary->skip_analysis)
        return VERDICT_GO;
    enum verdict verdict = gates_rollback(r);
    return verdict == VERDICT_STOP ? rollback_run(r, false) : verdict;
}

enum verdict guard_threshold(struct release *r)
{
    int failed = r->canary->status.failed_checks;

    if (r->canary->skip_analysis || failed < r->canary->analysis.threshold)
        return VERDICT_GO;
    release_warn(r, "Rolling back %s failed checks threshold reached %d", release_canary(r),
                 failed);
    const char *why = checks_why(r);
    struct effect *alert =
        plan_alert(r->tick, "error", false, "Failed checks threshold reached %d", failed);
    alert->reason = *why ? why : NULL;
    return rollback_run(r, false);
}

enum verdict guard_stalled(struct release *r)
{
    return stall_expire(r);
}

/*
 * At zero: a rollback was cut off before its status was written. Or an autoscaler that may go down
 * to zero has done so for want of load: then its share goes to who is there, it is started again,
 * and the analysis with it. That counts as a failed check, so that it comes to an end. (Flagger
 * goes on sending traffic to nobody.)
 */
static enum verdict leave_zero(struct release *r)
{
    bool paused = true;
    enum verdict verdict = r->scaler ? r->scaler->is_paused(r->tick, &paused) : VERDICT_GO;

    if (verdict == VERDICT_GO && paused)
        return rollback_run(r, false);
    if (verdict == VERDICT_GO)
        verdict = release_route(r, 0);
    if (verdict == VERDICT_GO)
        verdict = scale_up_target(r);
    if (verdict != VERDICT_GO)
        return verdict;
    status_phase(r, PHASE_Progressing);
    status_weight(r, 0);
    status_int(r, "iterations", 0);
    status_int(r, "failedChecks", r->canary->status.failed_checks + 1);
    release_warn(r, "Halt %s advancement %s was scaled to zero by its %s, starting it again",
                 release_canary(r), release_target(r), r->scaler->kind);
    return VERDICT_STOP;
}

/* While promoting, the primary has been found ready: what becomes of the canary no longer matters.
 */
enum verdict guard_canary(struct release *r)
{
    return r->info.at_zero ? leave_zero(r) : ready_or_end(r, SIDE_CANARY);
}

/* Whether the live weight is one step ahead of the status: a step was routed and its status was not
 * written. */
static bool is_next_step(const struct release *r, int told)
{
    if (r->strategy == STRATEGY_CANARY)
        return r->weights.canary == release_next_weight(r, told);
    /* an A/B test routes all that is matched at every iteration, and Flagger's status does not say
     * so */
    if (r->strategy == STRATEGY_AB_TESTING)
        return r->weights.canary == 100;
    return r->weights.canary == 100 && r->canary->status.iterations >= r->iterations;
}

/* Without a config no pod starts any more, of the target or of its copy: no step forward, but every
 * way back. */
enum verdict guard_configs(struct release *r)
{
    if (!r->info.missing)
        return VERDICT_GO;
    return condition_hold(r, CONDITION_CONFIGURED, "ConfigMissing", r->info.missing);
}

/* A weight that the strategy does not give: it is what an A/B test routed before the spec was
 * edited into another strategy, which begins at the beginning. */
static bool is_of_another_strategy(const struct release *r, int told)
{
    if (r->weights.canary > 0)
        return false;
    if (r->strategy == STRATEGY_CANARY)
        return told > r->canary->analysis.max_weight;
    return r->strategy == STRATEGY_BLUE_GREEN && r->canary->status.iterations <= r->iterations;
}

enum verdict guard_routes(struct release *r)
{
    return settled_or_hold(r);
}

/* A mesh that copies every request although a share was asked for: the condition remembers that it
 * was told. */
enum verdict guard_mirror(struct release *r)
{
    const char *text = arena_printf(
        r->tick->arena,
        "spec.analysis.mirrorWeight: the routes of this cluster know no share, every request is "
        "copied instead of %d %%",
        r->canary->analysis.mirror_weight);

    if (!r->weights.mirrors_all)
        condition_clear(r, CONDITION_MIRROR);
    else if (condition_set(r, CONDITION_MIRROR, "EveryRequestIsCopied", text))
        release_warn(r, "%s", text);
    return VERDICT_GO;
}

enum verdict guard_weights(struct release *r)
{
    int told = r->canary->status.canary_weight;
    const char *why;

    if (!r->router->weighted || r->weights.canary == told)
        return VERDICT_GO;
    /* It took everything when the primary was lost, which is there again but not ready. */
    if (release_canary_serves_all(r) && release_ready(r, SIDE_PRIMARY, &why) != READY) {
        status_weight(r, r->weights.canary);
        return VERDICT_STOP;
    }
    /* Flagger's status says 0 while it waits for the promotion. */
    if (is_next_step(r, told) || is_of_another_strategy(r, told) ||
        r->phase == PHASE_WaitingPromotion) {
        status_weight(r, r->weights.canary);
        condition_clear(r, CONDITION_JUDGED); /* the wait for this step is over */
        if (r->strategy == STRATEGY_BLUE_GREEN && r->weights.canary == 100)
            status_int(r, "iterations", r->iterations + 1);
        return VERDICT_STOP;
    }
    enum verdict verdict = release_route(r, told);
    if (verdict != VERDICT_GO)
        return verdict;
    plan_weights(r->tick, r->weights.primary, r->weights.canary);
    return VERDICT_STOP;
}

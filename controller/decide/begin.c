/* Steps 17 and 19 of an idle canary, or one that waits at its first gate: a new revision is there.
 */
#include "base/clock.h"
#include "decide/act/capacity.h"
#include "decide/act/contested.h"
#include "decide/act/drain.h"
#include "decide/act/gates.h"
#include "decide/act/ready.h"
#include "decide/act/rollback.h"
#include "decide/act/scale_up.h"
#include "decide/act/share.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/revision.h"
#include "decide/release/serving.h"
#include "decide/release/settled.h"
#include "decide/release/status.h"
#include "decide/rules.h"

/* Flagger does not hear the rollback hook here. What is turned down is not offered again. */
enum verdict begin_waiting(struct release *r)
{
    enum verdict verdict = gates_rollback(r);

    if (verdict == VERDICT_STOP)
        return rollback_run(r, true);
    return verdict == VERDICT_GO && r->refused ? VERDICT_STOP : verdict;
}

/*
 * The primary has no ready pod, and had none for as long as the deadline: the new revision may be
 * what mends it. From here on the primary is no way back (release_goes_forward()).
 */
static enum verdict go_forward(struct release *r, const char *why)
{
    status_text(r, "lastPromotedSpec", "");
    condition_clear(r, side_condition(SIDE_PRIMARY));
    release_warn(r, "%s; no pod has been ready for %d seconds, the new revision of %s begins", why,
                 r->canary->progress_deadline_s, release_target(r));
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

/* When a new revision begins beside a primary without a ready pod; the wait may begin just now. */
static int64_t forward_at(struct release *r)
{
    int64_t since;

    if (!condition_since(r, side_condition(SIDE_PRIMARY), CONDITION_WAITING, &since))
        since = r->tick->now_ms / 1000 * 1000; /* as the condition will say */
    return since + r->canary->progress_deadline_s * (int64_t)1000;
}

static const char *hold_text(struct release *r, const char *why, bool forward)
{
    char at[CLOCK_TEXT];

    return forward ? arena_printf(r->tick->arena,
                                  "The new revision of %s waits: %s; no pod of it is ready, and "
                                  "from %s on the new revision begins all the same",
                                  release_target(r), why, clock_rfc3339(forward_at(r), at))
                   : arena_printf(r->tick->arena,
                                  "The new revision of %s waits: %s; mend that, or set "
                                  "spec.skipAnalysis to promote without an analysis",
                                  release_target(r), why);
}

/* A primary that has no ready pod, or never gets ready, is told of at once, and by an alert: a new
 * revision may be what is to mend it. */
static enum verdict hold_for_primary(struct release *r)
{
    const char *condition = side_condition(SIDE_PRIMARY), *why;
    enum readiness readiness = release_ready(r, SIDE_PRIMARY, &why);
    bool broken = !release_serves(r, SIDE_PRIMARY) && !r->info.primary_at_zero;
    bool forward = broken && !r->canary->analysis.waits_for_primary;

    if (readiness == READY || (readiness == NOT_READY_YET && !broken))
        return ready_or_hold(r, SIDE_PRIMARY);
    if (forward && r->tick->now_ms >= forward_at(r))
        return go_forward(r, why);
    bool told = condition_is_set(r, condition);
    enum verdict verdict =
        condition_hold(r, condition, CONDITION_WAITING, hold_text(r, why, forward));
    if (!told)
        plan_alert(r->tick, "warn", false, "The new revision waits, the primary is not ready")
            ->reason = why;
    if (forward)
        release_wake(r, forward_at(r) - r->tick->now_ms);
    return verdict;
}

/*
 * Against a primary that is not ready nothing can be compared: hold, and keep the revision for
 * later. (Flagger calls it failed when the primary's deadline has passed.) After a failed
 * promotion, or where no analysis is wanted, the new revision is the way out. One that its scaler
 * keeps at zero is brought up; one that nothing scales was put there by a person, who is asked.
 */
enum verdict begin_primary(struct release *r)
{
    const char *why;

    if (r->canary->skip_analysis || release_goes_forward(r))
        return VERDICT_GO;
    bool ready = release_ready(r, SIDE_PRIMARY, &why) == READY;
    enum verdict verdict = capacity_start(r, ready);
    if (verdict == VERDICT_GO && !ready && r->phase == PHASE_Waiting)
        verdict = gates_start_overdue(r);
    if (verdict != VERDICT_GO)
        return verdict;
    if (ready || !release_is_idle(r) || r->scaler || !r->info.primary_at_zero)
        return hold_for_primary(r);
    release_again(r, AGAIN_NEVER); /* the condition says so; somebody scales it up */
    return VERDICT_STOP;
}

/* Pods that still run after the last release have read their configs: with other ones they go
 * first. */
enum verdict begin_configs(struct release *r)
{
    bool needs = false; /* they serve, and are not waited for */
    enum verdict verdict = drain_is_under_way(r) ? serving_needs_target(r, &needs) : VERDICT_GO;

    if (verdict != VERDICT_GO)
        return verdict;
    if (drain_is_under_way(r) && !needs && revision_configs_changed(r)) {
        if (release_is_idle(r) && condition_is_set(r, CONDITION_FREE))
            release_again(r, AGAIN_NEVER); /* the Service that keeps them wakes it */
        return VERDICT_STOP;
    }
    if (!r->info.missing)
        return VERDICT_GO;
    if (release_is_idle(r))
        release_again(r, AGAIN_NEVER); /* the config wakes it when it comes */
    return condition_hold(r, CONDITION_CONFIGURED, "ConfigMissing", r->info.missing);
}

/* Step 30, told once a release: Flagger tells it every tick. */
static void tell_strategy(struct release *r)
{
    if (r->canary->analysis.match && !r->router->weighted)
        release_warn(r, "A/B testing is not supported when using the %s provider",
                     r->tick->provider);
    if (r->router->matches_whole && r->strategy != r->canary->strategy)
        release_warn(r,
                     "Provider %s routes all requests that match or none, the steps of weight are "
                     "%d iterations",
                     r->tick->provider, r->iterations);
    if (r->router->weighted || r->canary->analysis.iterations > 0)
        return;
    release_warn(r, "Progressive traffic is not supported when using the %s provider",
                 r->tick->provider);
    release_warn(r, "Setting canaryAnalysis.iterations: %d", r->iterations);
}

/* A release that has its primary scaled up for it has had its turn. */
enum verdict begin_turn(struct release *r)
{
    if (!r->tick->queued || capacity_waits_to_begin(r)) {
        condition_clear(r, CONDITION_TURN);
        return VERDICT_GO;
    }
    r->tick->plan->queues = true;
    if (release_is_idle(r))
        release_again(r, AGAIN_NEVER); /* it is called when its turn has come */
    const char *text =
        arena_printf(r->tick->arena, "The new revision of %s waits until other releases have ended",
                     release_target(r));
    if (condition_set(r, CONDITION_TURN, "Queued", text))
        release_say(r, "%s", text);
    return VERDICT_STOP;
}

enum verdict begin_release(struct release *r)
{
    bool kept; /* what the canary has kept then, the analysis begins with */
    enum verdict verdict = settled_or_hold(r);

    /* the gate has let it begin when it waits for the primary */
    if (verdict == VERDICT_GO && !capacity_waits_to_begin(r))
        verdict = gates_confirm_rollout(r);
    if (verdict == VERDICT_GO)
        verdict = contested_look(r);
    r->tick->plan->begins = verdict == VERDICT_GO;
    if (verdict == VERDICT_GO)
        verdict = rollback_to_primary(r, CAPACITY_BEGIN, &kept);
    if (verdict == VERDICT_GO)
        verdict = scale_up_target(r);
    if (verdict != VERDICT_GO)
        return verdict;

    status_phase(r, PHASE_Progressing);
    status_weight(r, r->weights.canary);
    status_reset(r);
    condition_clear(r, CONDITION_DRAINED);
    condition_clear(r, CONDITION_IDLE);
    status_sync(r);
    share_begin(r);
    release_say(r, "New revision detected! Scaling up %s", release_target(r));
    if (!r->canary->skip_analysis)
        tell_strategy(r);
    plan_alert(r->tick, "info", true, "New revision detected, progressing canary analysis.");
    return VERDICT_STOP;
}

/* New revisions: detection while idle or running, and the beginning of their release. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "decide/capacity.h"
#include "decide/checks.h"
#include "decide/condition.h"
#include "decide/foreign.h"
#include "decide/gates.h"
#include "decide/history.h"
#include "decide/promote.h"
#include "decide/pushes.h"
#include "decide/refused_write.h"
#include "decide/release.h"
#include "decide/revision.h"
#include "decide/rollback.h"
#include "decide/rules.h"
#include "decide/serving.h"
#include "decide/share.h"
#include "decide/status.h"
#include "decide/steering.h"
#include "target/shared/configs.h"

enum { OUTRUN = 3 }; /* consecutive releases */

enum rule_result detect_routes(struct release *r)
{
    return release_read_routes(r);
}

/* The end of a rollback that had to wait: the traffic has left the canary. */
static enum rule_result stop_left_target(struct release *r)
{
    enum rule_result verdict = drain_target(r);

    if (verdict != RULE_CONTINUE)
        return verdict;
    status_weight(r, 0);
    return RULE_DONE;
}

static bool is_ready(struct release *r, enum side side)
{
    const char *why;

    return release_ready(r, side, &why) == READY;
}

/* A failed promotion found neither side ready, and both kept their share. */
static enum rule_result leave_broken_primary(struct release *r)
{
    enum rule_result verdict = release_route_everything(r);

    if (verdict != RULE_CONTINUE)
        return verdict;
    status_weight(r, WEIGHT_ALL);
    event_normal(r, "Routing all traffic to %s, the primary is not ready", release_target(r));
    return RULE_DONE;
}

/* True if no pod serves the canary's share, while the primary has some. */
static bool is_left_alone(struct release *r)
{
    return !r->target->own_services && !release_serves(r, SIDE_CANARY) &&
           release_serves(r, SIDE_PRIMARY) && !is_ready(r, SIDE_PRIMARY);
}

/*
 * The canary has traffic although no release is under way: a rollback or promotion failed while the
 * primary was not ready. Now it is ready, and the traffic returns, unless the canary serves
 * everything well and the primary has the revision that failed, or was left half promoted
 * (lastPromotedSpec is empty).
 */
static enum rule_result repair_left_traffic(struct release *r)
{
    bool canary_ready = !r->info.at_zero && is_ready(r, SIDE_CANARY);
    bool same;
    enum rule_result verdict = RULE_CONTINUE;

    if (is_left_alone(r)) {
        verdict = release_route(r, 0);
        if (verdict == RULE_CONTINUE)
            verdict = stop_left_target(r);
        if (verdict == RULE_DONE)
            event_warning(r, "%s has no ready pod, its traffic goes to the primary",
                          release_target(r));
        return verdict;
    }
    verdict = r->target->compare(r->tick, &r->info, &same);

    if (verdict != RULE_CONTINUE)
        return verdict;
    /* with more replicas requested, it does not count as ready either */
    if (!is_ready(r, SIDE_PRIMARY) && !capacity_waits(r, NULL))
        return canary_ready && !release_canary_serves_all(r) ? leave_broken_primary(r) : RULE_DONE;
    if (canary_ready && release_canary_serves_all(r) &&
        (!*r->canary->status.last_promoted_spec || (same && r->phase == PHASE_Failed)))
        return RULE_DONE;
    bool kept;
    verdict = rollback_to_primary(r, CAPACITY_RETURN, &kept);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (kept)
        return RULE_DONE;
    verdict = stop_left_target(r);
    if (verdict == RULE_DONE)
        event_normal(r, "Routing all traffic to primary, it is ready again");
    return verdict;
}

/*
 * A recreated or resumed scaler starts the unused target. (After a failed promotion, with
 * lastPromotedSpec empty, it keeps running.)
 */
static enum rule_result repair_idle_scaler(struct release *r)
{
    if (!r->scaler || r->weights.canary > 0 || drain_is_under_way(r) ||
        !*r->canary->status.last_promoted_spec)
        return RULE_DONE;
    enum rule_result verdict = r->scaler->pause_target(r->tick);
    return verdict == RULE_NEEDS_FACTS ? verdict : RULE_DONE;
}

/*
 * Without a release, routes changed by others are restored: with the target at zero, a weight for
 * it is lost traffic. After a failed promotion the canary serves, and a weight set by a person is
 * adopted.
 */
static enum rule_result repair_idle_weights(struct release *r)
{
    int told = r->canary->status.canary_weight;

    if (r->router->weighted && told > 0 && told == r->weights.canary && !r->weights.uneven)
        return repair_left_traffic(r);
    if (!r->router->weighted ||
        (r->weights.canary == told && !r->weights.mirrored && !r->weights.uneven))
        return repair_idle_scaler(r);
    if (told == 0)
        return release_route(r, 0) == RULE_NEEDS_FACTS ? RULE_NEEDS_FACTS : RULE_DONE;
    if (r->weights.canary == 0 && is_ready(r, SIDE_PRIMARY))
        return stop_left_target(r); /* repair_left_traffic() was interrupted */
    status_weight(r, r->weights.canary);
    return RULE_DONE;
}

/*
 * The hash differs although the primary runs this revision: the status was written by a Flagger
 * with another hash, or a person promoted it by hand. There is nothing to release.
 */
static enum rule_result adopt(struct release *r, bool *changed)
{
    bool same;
    enum rule_result verdict = r->target->compare(r->tick, &r->info, &same);

    if (verdict != RULE_CONTINUE || !same)
        return verdict;
    *changed = false;
    condition_clear(r, CONDITION_WHOLE);
    status_sync(r);
    status_text(r, "lastPromotedSpec", r->info.hash);
    return RULE_CONTINUE;
}

/*
 * In Failed, the previously promoted spec is nothing new if the primary runs it. After a broken
 * promotion it does not: Flagger's status still calls it promoted.
 */
static enum rule_result check_restored(struct release *r, bool *changed)
{
    bool same;
    enum rule_result verdict = r->target->compare(r->tick, &r->info, &same);

    *changed = !same;
    return verdict;
}

static enum rule_result find_change(struct release *r, bool *changed)
{
    *changed = revision_changed(r);
    if (*changed && r->phase != PHASE_Failed)
        return adopt(r, changed);
    if (!*changed && r->phase == PHASE_Failed && !revision_is_applied(r))
        return check_restored(r, changed);
    return RULE_CONTINUE;
}

/*
 * A new revision may wait long before it begins, or never begin: the target has no pods for a share
 * that it is given meanwhile.
 */
static bool has_stray_share(const struct release *r)
{
    return r->router->weighted && r->canary->status.canary_weight == 0 && r->weights.canary > 0;
}

enum rule_result detect_idle(struct release *r)
{
    bool changed;
    enum rule_result verdict = find_change(r, &changed);

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!changed) { /* no release is waiting any longer */
        condition_clear(r, side_condition(SIDE_PRIMARY));
        condition_clear(r, CONDITION_ROUTES);
        condition_clear(r, CONDITION_TURN);
        condition_clear(r, CONDITION_SCHEDULED);
        verdict = repair_idle_weights(r);
        if (verdict == RULE_DONE)
            drain_tell_idle(r);
        return verdict;
    }
    if (has_stray_share(r)) {
        release_requeue(r, REQUEUE_NOW);
        verdict = release_route(r, 0);
        return verdict == RULE_CONTINUE ? RULE_DONE : verdict;
    }
    release_requeue(r, REQUEUE_INTERVAL);
    return RULE_CONTINUE;
}

/*
 * The promoted spec is back while another revision waits or is analysed: nothing is left to
 * release. (Flagger goes on and promotes a revision that it has not analysed.) With tracked configs
 * the old spec may be combined with new configs, which is a new revision: then the primary decides.
 * It also decides if the hashes may come from another version of Flagger. While Flagger waits after
 * a failure, its status calls the waiting revision the last applied one.
 */
static enum rule_result find_restored(struct release *r, bool *restored)
{
    bool waiting = r->phase == PHASE_Waiting;
    bool of_flagger = waiting && revision_is_flaggers(r);

    *restored = false;
    /* after an analysis that it has ended, the status names no revision */
    if (waiting && !of_flagger && *r->canary->status.last_applied_spec) {
        *restored = !revision_changed(r);
        return RULE_CONTINUE;
    }
    if (!of_flagger && (revision_is_applied(r) || !revision_is_promoted(r)))
        return RULE_CONTINUE;
    return r->target->compare(r->tick, &r->info, restored);
}

/*
 * The analysed revision may return before the cancellation is complete, and a target at zero must
 * not be mistaken for the end of its rollback. So the status names no revision first.
 */
static enum rule_result cancel(struct release *r)
{
    bool promoted = revision_is_promoted(r);
    bool begun = release_is_analysing(r) || release_is_promoting(r);
    bool kept;
    enum rule_result verdict = rollback_to_primary(r, CAPACITY_RESTART, &kept);

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (begun && *r->canary->status.last_applied_spec) {
        status_weight(r, r->weights.canary);
        status_text(r, "lastAppliedSpec", "");
        release_requeue(r, REQUEUE_NOW);
        return RULE_DONE;
    }
    if (!kept)
        verdict = drain_target(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    history_cancel(r, "Its previous spec was restored.");
    if (!kept)
        status_forget_capacity(r);
    status_phase(r, promoted ? PHASE_Succeeded : PHASE_Failed);
    status_weight(r, r->weights.canary);
    status_reset(r);
    status_forget_waits(r);
    steering_forget(r);
    condition_clear(r, CONDITION_WHOLE);
    status_sync(r);
    /* Tears down what the pre-rollout hooks set up. */
    if (begun)
        hooks_post_rollout(r, r->phase);
    event_normal(r, "Release of %s cancelled, its previous spec was restored", release_target(r));
    return RULE_DONE;
}

/*
 * Running pods have read their configs at start: with changed configs, they do not represent the
 * revision to be promoted. So they are stopped first, and the restart follows when they are gone.
 * (Flagger analyses the old pods.) The status first names no revision: the configs may change back,
 * and a target at zero must not be mistaken for the end of a rollback.
 */
static bool must_stop_pods(struct release *r)
{
    bool same_pods = revision_is_applied(r) || !*r->canary->status.last_applied_spec;

    return same_pods && !release_stopped(r) && r->weights.canary == 0;
}

/*
 * The revision analysed before is on the primary, with its configs: its promotion was interrupted
 * before the status was written.
 */
static enum rule_result note_promoted(struct release *r)
{
    const char *applied = r->canary->status.last_applied_spec;
    enum carried carried = CARRIED_NOTHING;
    enum rule_result verdict = *applied ? promote_progress(r, &carried) : RULE_CONTINUE;

    if (carried == CARRIED_ALL)
        status_text(r, "lastPromotedSpec", applied);
    return verdict;
}

/* Ends an intended promotion as failed: the primary is unchanged, or a mixture of both. */
static void leave_promotion(struct release *r, enum carried carried)
{
    if (carried == CARRIED_PART)
        promote_give_up(r);
    else if (carried == CARRIED_NOTHING)
        condition_clear(r, CONDITION_WHOLE);
}

/*
 * The pods should be stopped but are kept for a foreign Service. Without configs the pods are
 * current, and the analysis begins on them (*stops is false). With configs they do not represent
 * the revision to be promoted; this release ends, and the next change begins another.
 */
static enum rule_result give_way(struct release *r, enum carried carried, bool *stops)
{
    bool has_configs = r->info.configs && json_object_object_length(r->info.configs) > 0;
    enum rule_result verdict = *stops ? bystander_wait(r) : RULE_CONTINUE;

    if (verdict != RULE_DONE)
        return verdict;
    *stops = false;
    if (!has_configs)
        return RULE_CONTINUE;
    leave_promotion(r, carried);
    event_warning(r,
                  "%s cannot be restarted with other configs, its pods are kept for a Service of "
                  "others",
                  release_target(r));
    verdict = rollback_run(r, true);
    return verdict == RULE_CONTINUE ? RULE_DONE : verdict;
}

/* The number of releases cancelled in a row before this one. */
static int count_cancelled(const struct release *r)
{
    struct json_object *history = json_at(r->canary->status.json, "history", NULL);
    int count = 0;

    for (size_t i = 0; i < json_len(history); i++, count++) {
        const char *outcome = json_str_at(json_elem(history, i), "outcome", NULL);
        if (!outcome || strcmp(outcome, "cancelled") != 0)
            break;
    }
    return count;
}

/*
 * Changes arrive faster than the analysis: nothing reaches production, although no revision
 * failed. Reported once, until a release ends.
 */
static void tell_outrun(struct release *r)
{
    int cancelled = count_cancelled(r) + 1;
    const char *text = arena_printf(
        r->tick->arena,
        "%d releases of %s in a row were replaced by the next revision before they ended, and none "
        "of them is promoted; analysis.onNewRevision: finish lets each come to its end first",
        cancelled, release_canary(r));
    bool known = condition_is_set(r, CONDITION_OUTRUN);

    if (cancelled < OUTRUN)
        return;
    condition_set_true(r, CONDITION_OUTRUN, "ReplacedInARow", text);
    if (known)
        return;
    event_warning(r, "%s", text);
    plan_alert(r->tick, "warn", false, "No release comes to its end")->reason = text;
}

/* carried: the progress of the promotion that this interrupts. */
static void leave_analysis(struct release *r, enum carried carried)
{
    history_cancel(r, revision_configs_changed(r) && revision_is_applied(r)
                          ? "Its configs changed, and it was started over."
                          : "Another revision came.");
    status_weight(r, r->weights.canary);
    status_reset(r);
    status_forget_waits(r);
    steering_forget(r);
    leave_promotion(r, carried);
    tell_outrun(r);
}

/* The status names no revision: every revision, even the analysed one, begins at the gate. */
static enum rule_result wait_to_begin(struct release *r, bool kept)
{
    enum rule_result verdict = kept ? RULE_CONTINUE : drain_target(r);

    if (verdict != RULE_CONTINUE)
        return verdict;
    status_text(r, "lastAppliedSpec", "");
    return RULE_DONE;
}

/*
 * The approval was for the previous revision. This one passes the gate of begin_release(), and a
 * paused Canary begins nothing. (Flagger asks for the first revision only.)
 */
static enum rule_result pass_gate(struct release *r, bool kept)
{
    bool paused = steering_is_paused(r) && !steering_is_at_gate(r);
    bool held = !paused && pushes_hold(r);
    enum rule_result verdict = paused || held ? RULE_DONE : gates_confirm_rollout(r);

    if (paused) {
        status_phase(r, PHASE_Waiting);
        event_normal(r, "New revision detected! %s is paused, it waits", release_canary(r));
    }
    if (held)
        status_phase(r, PHASE_Waiting);
    if (verdict == RULE_DONE)
        return wait_to_begin(r, kept);
    if (verdict == RULE_CONTINUE)
        verdict = scale_up_target(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    pushes_count(r);
    status_phase(r, PHASE_Progressing);
    condition_clear(r, CONDITION_DRAINED);
    status_sync(r);
    event_normal(r, "New revision detected! Restarting analysis for %s", release_target(r));
    r->tick->plan->stepped = true;
    return RULE_DONE;
}

/* carried: as for leave_analysis(). */
static enum rule_result restart(struct release *r, enum carried carried)
{
    bool kept = false;
    enum rule_result verdict = note_promoted(r);

    if (verdict == RULE_CONTINUE)
        verdict = rollback_to_primary(r, CAPACITY_RESTART, &kept);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (kept && capacity_is_empty(r) && !release_goes_forward(r))
        return condition_hold(
            r, side_condition(SIDE_PRIMARY), CONDITION_WAITING,
            arena_printf(r->tick->arena,
                         "The new revision of %s waits, no pod of the primary answers yet",
                         release_target(r)));
    bool stops = must_stop_pods(r), needs = false;
    verdict = stops ? serving_needs_target(r, &needs) : RULE_CONTINUE;
    if (verdict != RULE_CONTINUE)
        return verdict;
    stops = stops && !needs; /* as if the canary had a share: serving pods are not stopped */
    verdict = give_way(r, carried, &stops);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (stops && *r->canary->status.last_applied_spec) {
        status_phase(r, PHASE_Progressing);
        status_weight(r, 0);
        leave_promotion(r, carried);
        status_text(r, "lastAppliedSpec", "");
        release_requeue(r, REQUEUE_NOW);
        return RULE_DONE;
    }
    if (stops) {
        verdict = drain_target(r);
        if (verdict != RULE_CONTINUE)
            return verdict;
        status_weight(r, 0);
        return RULE_DONE;
    }
    leave_analysis(r, carried);
    refused_write_forget(r); /* this revision has a deadline of its own */
    return pass_gate(r, kept);
}

/*
 * While promoting, the primary has or gets the analysed revision, and new revisions wait for the
 * end. Exceptions: the promotion was intended, but the primary has nothing of it yet, or a part of
 * a revision that is gone; or the primary was deleted and restored with the old revision.
 */
enum rule_result detect_while_promoting(struct release *r)
{
    bool changed = !revision_is_applied(r) || revision_configs_changed(r), restored = false;
    enum carried carried = CARRIED_ALL;
    enum rule_result verdict = RULE_CONTINUE;

    if (!revision_is_applied(r) && revision_is_promoted(r))
        verdict = r->target->compare(r->tick, &r->info, &restored);
    if (verdict == RULE_CONTINUE && changed)
        verdict = promote_carried(r, &carried);
    /* the old template with part of the new configs was never analysed */
    restored = restored && carried != CARRIED_PART;
    if (verdict != RULE_CONTINUE || (!restored && carried == CARRIED_ALL))
        return verdict;
    if (restored)
        return cancel(r);
    return restart(r, carried);
}

enum rule_result detect_other_revision(struct release *r)
{
    bool restored;
    enum rule_result verdict = find_restored(r, &restored);

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (restored)
        return cancel(r);
    if (release_is_analysing(r) && (!revision_is_applied(r) || revision_configs_changed(r)))
        return restart(r, CARRIED_ALL);
    return RULE_CONTINUE;
}

enum rule_result detect_due(struct release *r)
{
    /* a person is waiting for it, and nothing of it has been checked yet */
    bool asked = r->phase == PHASE_Progressing && steering_ends_analysis(r);

    if (!r->tick->due && !asked)
        return RULE_DONE;
    r->tick->plan->stepped = true;
    return RULE_CONTINUE;
}

/* --- beginning a release, when idle or at the first gate */

/* Flagger ignores the rollback hook here. A rejected revision is not offered again. */
enum rule_result begin_waiting(struct release *r)
{
    enum rule_result verdict = gates_rollback(r);

    if (verdict == RULE_DONE)
        return rollback_run(r, true);
    return verdict == RULE_CONTINUE && r->refused ? RULE_DONE : verdict;
}

/*
 * The primary has had no ready pod for the whole deadline: the new revision may be the fix. From
 * here on there is no way back to the primary (release_goes_forward()).
 */
static enum rule_result go_forward(struct release *r, const char *why)
{
    status_text(r, "lastPromotedSpec", "");
    condition_clear(r, side_condition(SIDE_PRIMARY));
    event_warning(r, "%s; no pod has been ready for %d seconds, the new revision of %s begins", why,
                  r->canary->progress_deadline_s, release_target(r));
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/* The time when a new revision may begin beside a primary without ready pods; the wait may begin in
 * this tick.
 */
static int64_t forward_at(struct release *r)
{
    int64_t since;

    if (!condition_since(r, side_condition(SIDE_PRIMARY), CONDITION_WAITING, &since))
        since = r->tick->now_ms / 1000 * 1000; /* as the condition will say */
    return since + tick_deadline_ms(r->tick);
}

static const char *hold_text(struct release *r, const char *why, bool forward)
{
    char at[CLOCK_TEXT];

    return forward ? arena_printf(r->tick->arena,
                                  "The new revision of %s waits: %s; no pod of it is ready, and "
                                  "from %s on the new revision begins anyway",
                                  release_target(r), why, clock_rfc3339(forward_at(r), at))
                   : arena_printf(r->tick->arena,
                                  "The new revision of %s waits: %s; fix that, or set "
                                  "spec.skipAnalysis to promote without an analysis",
                                  release_target(r), why);
}

/*
 * A primary that has no ready pods, or never gets ready, is reported at once, with an alert: a new
 * revision may be meant to fix it.
 */
static enum rule_result hold_for_primary(struct release *r)
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
    enum rule_result verdict =
        condition_hold(r, condition, CONDITION_WAITING, hold_text(r, why, forward));
    if (!told)
        plan_alert(r->tick, "warn", false, "The new revision waits, the primary is not ready")
            ->reason = why;
    if (forward)
        release_requeue_within(r, forward_at(r) - r->tick->now_ms);
    return verdict;
}

/*
 * Without a ready primary there is no comparison: the release holds and keeps the revision.
 * (Flagger calls it failed after the primary's deadline.) After a failed promotion, or without
 * analysis, the new revision is the way out. A primary that its scaler keeps at zero is scaled up;
 * one without a scaler was set to zero by a person, and the condition asks for more replicas.
 */
enum rule_result begin_primary(struct release *r)
{
    const char *why;

    if (r->canary->skip_analysis || release_goes_forward(r))
        return RULE_CONTINUE;
    bool ready = release_ready(r, SIDE_PRIMARY, &why) == READY;
    enum rule_result verdict = capacity_start(r, ready);
    if (verdict == RULE_CONTINUE && !ready && r->phase == PHASE_Waiting)
        verdict = gates_start_overdue(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (ready || !release_is_idle(r) || r->scaler || !r->info.primary_at_zero)
        return hold_for_primary(r);
    release_requeue(r, REQUEUE_NEVER); /* the condition asks a person to scale it up */
    return RULE_DONE;
}

/*
 * Pods left from the last release have read their configs: with other configs they are stopped
 * first.
 */
enum rule_result begin_configs(struct release *r)
{
    bool needs = false; /* they serve, and the release does not wait for them to stop */
    enum rule_result verdict =
        drain_is_under_way(r) ? serving_needs_target(r, &needs) : RULE_CONTINUE;

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (drain_is_under_way(r) && !needs && revision_configs_changed(r)) {
        if (release_is_idle(r) && condition_is_set(r, CONDITION_FREE))
            release_requeue(r, REQUEUE_NEVER); /* the Service that keeps them wakes the Canary */
        return RULE_DONE;
    }
    if (!r->info.missing)
        return RULE_CONTINUE;
    if (release_is_idle(r))
        release_requeue(r, REQUEUE_NEVER); /* the config wakes the Canary when it is created */
    return condition_hold(r, CONDITION_CONFIGURED, "ConfigMissing", r->info.missing);
}

/* The strategy actually used, reported once per release; Flagger reports it at every tick. */
static void tell_strategy(struct release *r)
{
    if (r->canary->analysis.match && !router_splits(r->router))
        event_warning(r, "A/B testing is not supported when using the %s provider",
                      r->tick->provider);
    if (r->router->matches_whole && r->strategy != r->canary->strategy)
        event_warning(r,
                      "Provider %s routes all requests that match or none, the steps of weight are "
                      "%d iterations",
                      r->tick->provider, r->iterations);
    if (router_splits(r->router) || r->canary->analysis.iterations > 0)
        return;
    event_warning(r, "Progressive traffic is not supported when using the %s provider",
                  r->tick->provider);
    event_warning(r, "Setting canaryAnalysis.iterations: %d", r->iterations);
}

/* A release keeps its slot while its primary is being scaled up for it. */
enum rule_result begin_turn(struct release *r)
{
    if (!r->tick->queued || capacity_waits_to_begin(r)) {
        condition_clear(r, CONDITION_TURN);
        return RULE_CONTINUE;
    }
    r->tick->plan->queues = true;
    if (release_is_idle(r))
        release_requeue(r, REQUEUE_NEVER); /* woken when it is offered a slot */
    const char *text =
        arena_printf(r->tick->arena, "The new revision of %s waits until other releases have ended",
                     release_target(r));
    if (condition_set(r, CONDITION_TURN, "Queued", text))
        event_normal(r, "%s", text);
    return RULE_DONE;
}

/* Makes the release of a recent revision one without checks, like a request to skip them. Called
 * before the phase changes, since the request depends on it. */
static bool leads_back(struct release *r)
{
    const char *until;

    if (r->canary->skip_analysis || !history_leads_back(r, &until))
        return false;
    event_normal(r,
                 "Revision %s of %s has served until %s, it is promoted without checks "
                 "(spec.rollback)",
                 r->info.hash, release_target(r), until);
    steering_end_analysis(r);
    return true;
}

enum rule_result begin_release(struct release *r)
{
    bool kept; /* share kept by the canary, with which the analysis begins */
    enum rule_result verdict = settled_or_hold(r);

    /* the old route may get the requests of the canary */
    if (verdict == RULE_CONTINUE && condition_is_set(r, CONDITION_REPLACED)) {
        r->tick->plan->stepped = true;
        return RULE_DONE;
    }
    /* the gate was passed before the wait for the primary */
    if (verdict == RULE_CONTINUE && !capacity_waits_to_begin(r))
        verdict = gates_confirm_rollout(r);
    if (verdict == RULE_CONTINUE)
        verdict = contested_check(r);
    r->tick->plan->begins = verdict == RULE_CONTINUE;
    if (verdict == RULE_CONTINUE)
        verdict = rollback_to_primary(r, CAPACITY_BEGIN, &kept);
    if (verdict == RULE_CONTINUE)
        verdict = scale_up_target(r);
    if (verdict != RULE_CONTINUE)
        return verdict;

    bool back = leads_back(r);
    pushes_count(r);
    status_phase(r, PHASE_Progressing);
    status_weight(r, r->weights.canary);
    status_reset(r);
    condition_clear(r, CONDITION_DRAINED);
    condition_clear(r, CONDITION_IDLE);
    status_sync(r);
    share_begin(r);
    event_normal(r, "New revision detected! Scaling up %s", release_target(r));
    if (!back && !r->canary->skip_analysis)
        tell_strategy(r);
    plan_alert(r->tick, "info", true, "New revision detected, progressing canary analysis.");
    return RULE_DONE;
}

/* Guards of a running release: conditions that end it early or make it wait. */
#include "decide/rules.h"

#include <string.h>

#include "base/clock.h"
#include "decide/bake.h"
#include "decide/capacity.h"
#include "decide/checks.h"
#include "decide/condition.h"
#include "decide/gates.h"
#include "decide/history.h"
#include "decide/promote.h"
#include "decide/refused_write.h"
#include "decide/release.h"
#include "decide/revision.h"
#include "decide/rollback.h"
#include "decide/serving.h"
#include "decide/share.h"
#include "decide/status.h"
#include "decide/steering.h"

/*
 * Stalled releases: a step was due, and no rule made one, counted a failed check or recorded a
 * wait. That is a fault of a rule, or of a mesh that accepts one route and shows another, and users
 * would stay on an unchecked canary. The condition Advancing=False records the beginning; at the
 * progress deadline an analysis is rolled back.
 */
enum { REPAIRS = 3 }; /* intervals without a step that repairs may take */

/* Reasons of the condition. */
static const char stalled[] = "Stalled", expired[] = "Expired", given_up[] = "GivenUp";

static bool is_wait(struct json_object *condition)
{
    const char *type = json_str_at(condition, "type", NULL);
    const char *status = json_str_at(condition, "status", NULL);

    return type && status && strcmp(status, "False") == 0 && condition_holds(type);
}

static bool has_wait(struct json_object *conditions)
{
    for (size_t i = 0; i < json_len(conditions); i++) {
        if (is_wait(json_elem(conditions, i)))
            return true;
    }
    return false;
}

/* True if something delays the step, has delayed it until now, or has a schedule of its own. */
static bool waits(struct release *r)
{
    return has_wait(json_at(r->canary->status.json, "conditions", NULL)) ||
           has_wait(json_at(r->status, "conditions", NULL)) || r->refused || r->canary->suspend ||
           r->phase == PHASE_WaitingPromotion || r->requeue == REQUEUE_NOW ||
           r->tick->plan->waits || r->tick->plan->wake_ms > 0 || steering_is_paused(r);
}

/*
 * A tick that writes an object repairs it, and the step follows an interval later, unless the same
 * object is repaired for ever. Without a step, the release may have waited for readiness, which no
 * condition records, for up to the deadline; once it is reported as stalled, this excuse no longer
 * holds.
 */
static bool repairs(struct release *r)
{
    int64_t moved, patience = tick_deadline_ms(r->tick) + REPAIRS * tick_interval_ms(r->tick);

    return release_has_writes(r) && !condition_is_set(r, CONDITION_ADVANCES) &&
           (clock_parse(r->canary->status.last_transition_time, &moved, NULL) != ERR_OK ||
            r->tick->now_ms - tick_since(r->tick, moved) <= patience);
}

static const char *sentence(struct release *r)
{
    return arena_printf(
        r->tick->arena,
        "A step of %s was due, none was made, and nothing is being waited for%s: this is a bug of "
        "the controller, or of a mesh that shows another route than it was given",
        release_canary(r),
        release_is_analysing(r) ? ", at the progress deadline it is rolled back" : "");
}

/*
 * At the deadline the next step must fail as well: faults that arose while no rule ran, such as a
 * changed route, are repaired by then.
 */
static void expire(struct release *r)
{
    int64_t since;

    if (condition_has_reason(r, CONDITION_ADVANCES, expired)) {
        hold_plan(
            r, r->tick->plan->first); /* no repair precedes it: if interrupted, nothing is done */
        condition_set(r, CONDITION_ADVANCES, given_up, sentence(r));
        release_requeue(r, REQUEUE_NOW);
    } else if (condition_since(r, CONDITION_ADVANCES, stalled, &since) &&
               tick_deadline_passed(r->tick, since)) {
        condition_set(r, CONDITION_ADVANCES, expired, sentence(r));
    }
}

void stall_note(struct release *r)
{
    bool runs = release_is_analysing(r) || release_is_promoting(r);

    if (runs && (!r->tick->due || !r->tick->plan->stepped))
        return; /* the finding of the last step remains */
    if (!runs || status_moves(r) || waits(r) || repairs(r) || r->phase != r->canary->status.phase) {
        condition_clear(r, CONDITION_ADVANCES);
        return;
    }
    if (condition_is_set(r, CONDITION_ADVANCES)) {
        if (release_is_analysing(r))
            expire(r);
        return;
    }
    const char *text = sentence(r);
    condition_set(r, CONDITION_ADVANCES, stalled, text);
    event_warning(r, "%s", text);
    plan_alert(r->tick, "error", false, "The release has stalled")->reason = text;
}

/* Rolls back an analysis that has stalled for longer than the deadline, as found by stall_note().
 */
static enum rule_result stall_expire(struct release *r)
{
    if (!condition_has_reason(r, CONDITION_ADVANCES, given_up))
        return RULE_CONTINUE;
    event_warning(r, "Rolling back %s no step was made for %d seconds", release_canary(r),
                  r->canary->progress_deadline_s);
    plan_alert(r->tick, "error", false, "Progress deadline exceeded, no step was made");
    return rollback_run(r, false);
}

enum rule_result guard_primary(struct release *r)
{
    /* the canary keeps everything while the primary has no ready pod: there is no way forward
     * then */
    bool forward = release_goes_forward(r) && !condition_is_set(r, CONDITION_SHARES);

    if (r->canary->skip_analysis || forward)
        return RULE_CONTINUE;
    return ready_or_end(r, SIDE_PRIMARY);
}

enum rule_result guard_promoted(struct release *r)
{
    return ready_or_end(r, SIDE_PRIMARY);
}

/*
 * These hooks are called also while the release waits for the primary, the canary, a gate or the
 * mesh. Not while promoting: the primary then has the new revision, and there is no other revision
 * to return to.
 */
enum rule_result guard_rollback_hooks(struct release *r)
{
    if (r->canary->skip_analysis)
        return RULE_CONTINUE;
    enum rule_result verdict = gates_rollback(r);
    return verdict == RULE_DONE ? rollback_run(r, false) : verdict;
}

enum rule_result guard_threshold(struct release *r)
{
    int failed = r->canary->status.failed_checks;

    if (r->canary->skip_analysis || failed < r->canary->analysis.threshold)
        return RULE_CONTINUE;
    event_warning(r, "Rolling back %s failed checks threshold reached %d", release_canary(r),
                  failed);
    const char *why = checks_why(r);
    struct effect *alert =
        plan_alert(r->tick, "error", false, "Failed checks threshold reached %d", failed);
    alert->reason = *why ? why : NULL;
    return rollback_run(r, false);
}

enum rule_result guard_stalled(struct release *r)
{
    return stall_expire(r);
}

/* The first condition that holds the step, or the last failed check; "" if none. */
static const char *last_wait(struct release *r)
{
    const char *const types[] = {CONDITION_APPROVED, CONDITION_MEASURED, CONDITION_JUDGED,
                                 CONDITION_SHARE,    CONDITION_ROUTES,   CONDITION_CHECKS};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const char *message = condition_message(r, types[i]);
        if (*message)
            return arena_printf(r->tick->arena, "; last: %s", message);
    }
    return "";
}

static enum rule_result roll_back_late(struct release *r)
{
    char most[DURATION_TEXT];
    const char *last = last_wait(r), *more = bake_longer_ms(r) > 0 ? " and its bake" : "";

    duration_format(r->canary->analysis.max_duration_ms * 1000000, most);
    const char *text = arena_printf(
        r->tick->arena, "The analysis of %s has lasted longer than %s (maxDuration)%s%s",
        release_canary(r), most, more, last);
    (void)condition_set(r, CONDITION_CHECKS, "DurationExceeded", text);
    event_warning(r, "Rolling back %s, the analysis has lasted longer than %s (maxDuration)%s%s",
                  release_canary(r), most, more, last);
    plan_alert(r->tick, "error", false, "Longest duration of an analysis exceeded")->reason = text;
    return rollback_run(r, false);
}

/*
 * The hard limit of an analysis, whatever delays it: closed gates and pauses count. Before the last
 * interval the timer of the steps is enough; a wake-up would hide a stalled release (stall_note()).
 */
enum rule_result guard_duration(struct release *r)
{
    int64_t began, most = r->canary->analysis.max_duration_ms;

    if (most == 0 || r->canary->skip_analysis || !history_analysis_began(r, &began))
        return RULE_CONTINUE;
    int64_t left = most + bake_longer_ms(r) - (r->tick->now_ms - tick_since(r->tick, began));
    if (left <= 0)
        return roll_back_late(r);
    if (left < tick_interval_ms(r->tick))
        release_requeue_within(r, left);
    return RULE_CONTINUE;
}

/*
 * The target is at zero: a rollback was interrupted before its status was written. Or an autoscaler
 * that may scale to zero did so for lack of load: its share then goes to the primary, and the
 * target and the analysis are restarted. That counts as a failed check, so that the release ends
 * eventually. (Flagger keeps sending traffic to no pods.)
 */
static enum rule_result leave_zero(struct release *r)
{
    bool paused = true;
    enum rule_result verdict = r->scaler ? r->scaler->is_paused(r->tick, &paused) : RULE_CONTINUE;

    if (verdict == RULE_CONTINUE && paused)
        return rollback_run(r, false);
    if (verdict == RULE_CONTINUE)
        verdict = release_route(r, 0);
    if (verdict == RULE_CONTINUE)
        verdict = scale_up_target(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    status_phase(r, PHASE_Progressing);
    status_weight(r, 0);
    status_int(r, "iterations", 0);
    status_int(r, "failedChecks", r->canary->status.failed_checks + 1);
    event_warning(r, "Halt %s advancement %s was scaled to zero by its %s, starting it again",
                  release_canary(r), release_target(r), r->scaler->kind);
    return RULE_DONE;
}

/* While promoting, the primary was found to be ready: the canary no longer matters. */
enum rule_result guard_canary(struct release *r)
{
    return r->info.at_zero ? leave_zero(r) : ready_or_end(r, SIDE_CANARY);
}

/*
 * True if the status says that the step with `match` runs: the canary has all matching requests.
 * That is neither all traffic, nor the last weight of a list without such a step.
 */
static bool told_is_match(const struct release *r)
{
    const struct canary_status *status = &r->canary->status;
    struct json_object *noted = json_at(status->json, "step", NULL);
    bool is_weight =
        json_int_at(noted, 0, "weight", NULL) == 100 && !json_bool_at(noted, false, "match", NULL);

    return r->canary->analysis.match_step && status->canary_weight == WEIGHT_ALL &&
           !status->serves_everything && !is_weight;
}

/* The step with `match` comes before the first weight. */
static bool is_next_of_steps(const struct release *r, int told)
{
    if (release_is_at_match(r) || (told == 0 && r->canary->analysis.match_step))
        return release_is_at_match(r) && told == 0;
    return r->weights.canary == release_next_weight(r, told_is_match(r) ? 0 : told);
}

/*
 * True if the live weight is one step ahead of the status: a step was routed and its status was
 * not written.
 */
static bool is_next_step(const struct release *r, int told)
{
    if (bake_was_routed(r, told))
        return true;
    if (r->strategy == STRATEGY_CANARY)
        return is_next_of_steps(r, told);
    /*
     * an A/B test routes all matched requests at every iteration, and Flagger's status does not
     * say so
     */
    if (r->strategy == STRATEGY_AB_TESTING)
        return r->weights.canary == WEIGHT_ALL;
    return r->weights.canary == WEIGHT_ALL && r->canary->status.iterations >= r->iterations;
}

/*
 * Without a config no new pod of the target or its copy starts: no step forward is taken, but every
 * way back stays open.
 */
enum rule_result guard_configs(struct release *r)
{
    if (!r->info.missing)
        return RULE_CONTINUE;
    return condition_hold(r, CONDITION_CONFIGURED, "ConfigMissing", r->info.missing);
}

/*
 * A weight that the strategy does not produce: left over from an A/B test whose Canary was edited
 * into another strategy; the analysis starts over.
 */
static bool is_of_another_strategy(const struct release *r, int told)
{
    if (r->weights.canary > 0)
        return false;
    if (r->strategy == STRATEGY_CANARY)
        return told > r->canary->analysis.max_weight && !told_is_match(r);
    return r->strategy == STRATEGY_BLUE_GREEN && r->canary->status.iterations <= r->iterations;
}

enum rule_result guard_routes(struct release *r)
{
    return settled_or_hold(r);
}

/*
 * The mesh mirrors every request although the spec gives a share: the condition records that this
 * was reported.
 */
enum rule_result guard_mirror(struct release *r)
{
    const char *text = arena_printf(r->tick->arena,
                                    "%s: the routes of this cluster cannot copy a part of the "
                                    "requests, so every request is copied instead of %d %%",
                                    r->canary->analysis.mirror_step ? r->canary->analysis.mirror_at
                                                                    : "spec.analysis.mirrorWeight",
                                    r->canary->analysis.mirror_weight);

    if (!r->weights.mirrors_all)
        condition_clear(r, CONDITION_MIRROR);
    else if (condition_set(r, CONDITION_MIRROR, "EveryRequestIsCopied", text))
        event_warning(r, "%s", text);
    return RULE_CONTINUE;
}

/* Weights that a rule wrote before it could write its status; guard_weights() adopts them. */
static bool is_ahead_of_status(const struct release *r, int told)
{
    if (r->strategy == STRATEGY_CANARY && is_of_another_strategy(r, told))
        return true;
    return release_is_analysing(r) && !r->weights.uneven && is_next_step(r, told);
}

/* True if each side with a share of this weight can serve it; other rules move the share of a side
 * that cannot. */
static bool can_take(struct release *r, int told)
{
    const char *why;

    if (told > 0 && (r->info.at_zero || release_ready(r, SIDE_CANARY, &why) != READY))
        return false;
    return told == WEIGHT_ALL || release_serves(r, SIDE_PRIMARY);
}

/*
 * A user who applies the route again restores the weights of the manifest: they are corrected at
 * once, not when a step is due.
 */
enum rule_result guard_refs(struct release *r)
{
    int told = r->canary->status.canary_weight;

    if (!r->router->ref_kinds || (r->weights.canary == told && !r->weights.uneven) ||
        is_ahead_of_status(r, told) || !can_take(r, told))
        return RULE_CONTINUE;
    enum rule_result verdict = release_route(r, told);
    if (verdict != RULE_CONTINUE)
        return verdict;
    plan_weights(r->tick, r->weights.primary, r->weights.canary);
    if (r->tick->due)
        release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/* The steps are repeated from the first. */
static void begin_steps_again(struct release *r)
{
    if (!release_is_analysing(r))
        return;
    status_phase(r, PHASE_Progressing);
    status_int(r, "iterations", 0);
}

/* An edit has turned weights of the matching requests into weights of all requests: a share of few
 * users would become a share of all users. */
enum rule_result guard_matches(struct release *r)
{
    if (!status_weight_was_matched(r))
        return RULE_CONTINUE;
    enum rule_result verdict = release_route(r, 0);
    if (verdict != RULE_CONTINUE)
        return verdict;
    event_normal(r, "The steps of %s start over, its weight was of the requests that match",
                 release_canary(r));
    begin_steps_again(r);
    status_weight(r, 0);
    return RULE_DONE;
}

enum rule_result guard_weights(struct release *r)
{
    int told = r->canary->status.canary_weight;
    const char *why;

    if (!r->router->weighted || (r->weights.canary == told && !r->weights.uneven &&
                                 told_is_match(r) == release_is_at_match(r)))
        return RULE_CONTINUE;
    /* The canary took everything when the primary was lost; the primary is back but not ready. */
    if (release_canary_serves_all(r) && release_ready(r, SIDE_PRIMARY, &why) != READY) {
        status_weight(r, r->weights.canary);
        return RULE_DONE;
    }
    /* Flagger's status says 0 while it waits for the promotion. */
    if (is_next_step(r, told) || is_of_another_strategy(r, told) ||
        r->phase == PHASE_WaitingPromotion) {
        status_weight(r, r->weights.canary);
        condition_clear(r, CONDITION_JUDGED); /* the wait for this step is over */
        if (r->strategy == STRATEGY_BLUE_GREEN && r->weights.canary == WEIGHT_ALL)
            status_int(r, "iterations", r->iterations + 1);
        return RULE_DONE;
    }
    /* a share of pods also needs their number */
    enum rule_result verdict = r->router->by_pods && told > 0 ? share_wait(r, told) : RULE_CONTINUE;
    if (verdict == RULE_CONTINUE)
        verdict = told_is_match(r) ? release_match(r) : release_route(r, told);
    if (verdict != RULE_CONTINUE)
        return verdict;
    plan_weights(r->tick, r->weights.primary, r->weights.canary);
    return RULE_DONE;
}

/*
 * Traffic follows readiness: a side without ready pods loses its share to the other side as soon
 * as the watch shows it, not when the next step is due. (Flagger leaves the share until the
 * progress deadline, and its requests fail.)
 *
 * A disturbed analysis restarts at its first step once both sides are ready: its results are about
 * pods that are gone. It counts as a failed check, so that a version that keeps crashing is rolled
 * back. While the primary has lost its share, the condition TrafficServed=False records why the
 * canary has all traffic.
 */

static const char *primary_text(struct release *r)
{
    return arena_printf(r->tick->arena, "%s-primary.%s", r->canary->target.name,
                        r->canary->namespace_);
}

static const char *gone_text(struct release *r)
{
    return arena_printf(r->tick->arena,
                        "%s has no ready pod, all traffic goes to %s until it is ready again",
                        primary_text(r), release_target(r));
}

static void count(struct release *r)
{
    if (release_is_analysing(r))
        status_int(r, "failedChecks", r->canary->status.failed_checks + 1);
}

/* The API server refuses the route: when a step is due, the other guards decide instead. */
static bool cannot_route(struct release *r, const struct weights *routed)
{
    if (!r->tick->due || !refused_write_keeps(r, routed))
        return false;
    release_requeue_within(r, (tick_interval_ms(r->tick) + 1) / 2);
    return true;
}

/* The canary's share is gone. guard_canary() restarts and counts one that its scaler took to
 * zero. */
static enum rule_result left_canary(struct release *r)
{
    release_requeue(r, REQUEUE_NOW);
    if (r->info.at_zero && release_is_analysing(r)) {
        status_weight(r, 0);
        return RULE_DONE;
    }
    begin_steps_again(r);
    count(r);
    status_weight(r, 0);
    if (release_is_analysing(r))
        return checks_failed(r, "NotServed",
                             "Halt %s advancement %s has no ready pod, its traffic goes to the "
                             "primary",
                             release_canary(r), release_target(r));
    event_warning(r, "%s has no ready pod, its traffic goes to the primary", release_target(r));
    return RULE_DONE;
}

static enum rule_result leave_canary(struct release *r)
{
    const struct weights routed = r->weights;
    enum rule_result verdict = release_route(r, 0);

    if (verdict != RULE_CONTINUE || cannot_route(r, &routed))
        return verdict;
    return left_canary(r);
}

/*
 * The reason is written before the canary gets everything: a route found without it is a step of
 * the analysis. The release does not wait for a primary to which there is no way back, as after a
 * failed promotion.
 */
static enum rule_result leave_primary(struct release *r)
{
    const char *text = gone_text(r);
    const struct weights routed = r->weights;

    if (!condition_is_set(r, CONDITION_SHARES) && !release_goes_forward(r)) {
        release_requeue(r, REQUEUE_NOW);
        count(r);
        if (release_is_analysing(r))
            plan_alert(r->tick, "error", false, "%s", text);
        return condition_hold(r, CONDITION_SHARES, SERVING_GONE, text);
    }
    enum rule_result verdict = release_route_everything(r);
    if (verdict != RULE_CONTINUE || cannot_route(r, &routed))
        return verdict;
    release_requeue(r, REQUEUE_NOW);
    status_weight(r, WEIGHT_ALL);
    return RULE_DONE;
}

/* The primary is back with its revision: it regains its share, and the analysis repeats its
 * steps. */
static enum rule_result returned(struct release *r)
{
    condition_clear(r, CONDITION_SHARES);
    begin_steps_again(r);
    status_weight(r, 0);
    event_normal(r, "%s is ready again, its traffic is back", primary_text(r));
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

static enum rule_result return_share(struct release *r)
{
    bool kept;
    const struct weights routed = r->weights;
    enum rule_result verdict = rollback_to_primary(r, CAPACITY_RETURN, &kept);

    if (verdict != RULE_CONTINUE || kept || cannot_route(r, &routed))
        return verdict;
    return returned(r);
}

static bool is_ready(struct release *r, enum side side)
{
    const char *why;

    return release_ready(r, side, &why) == READY;
}

/* True if this tick writes the promotion and ends with it. */
static bool writes_promotion(struct release *r)
{
    return promote_is_being_written(r) && !r->target->is_promoted(r->tick, &r->info);
}

/* True if the step that is due ends the release because of this side, and routes at once. */
static bool ends_for_primary(struct release *r)
{
    const char *why;
    bool forward = release_is_analysing(r) && release_goes_forward(r);

    return release_ready(r, SIDE_PRIMARY, &why) == NOT_READY_EVER && !forward;
}

/*
 * True if the due step ends the release, restarts the canary, or ends a promotion; the primary is
 * checked before.
 */
static bool ends_for_canary(struct release *r)
{
    const char *why;

    if (!is_ready(r, SIDE_PRIMARY))
        return false;
    return release_is_promoting(r) || r->info.at_zero ||
           release_ready(r, SIDE_CANARY, &why) == NOT_READY_EVER;
}

static bool ends_now(struct release *r, enum side side)
{
    if (capacity_waits(r, CAPACITY_ROLLBACK) || capacity_waits(r, CAPACITY_PROMOTION) ||
        rollback_is_in_steps(r))
        return side == SIDE_CANARY; /* the promotion is then over, see resume_promotion() */
    return r->tick->due && !steering_stops_clock(r) && !writes_promotion(r) &&
           (side == SIDE_PRIMARY ? ends_for_primary(r) : ends_for_canary(r));
}

/*
 * Another revision withdraws the share itself, and routes to a draining target are handled by
 * drain_running().
 */
static bool may_leave_canary(struct release *r)
{
    bool other = release_is_analysing(r) && !promote_is_of_analysed(r);

    return !other && !condition_is_set(r, CONDITION_DRAINED) && !ends_now(r, SIDE_CANARY);
}

/* Only the analysed revision gets a larger share. */
static bool may_leave_primary(struct release *r)
{
    return !release_canary_serves_all(r) && r->phase != PHASE_Waiting &&
           promote_is_of_analysed(r) && (is_ready(r, SIDE_CANARY) || share_grows(r)) &&
           !ends_now(r, SIDE_PRIMARY);
}

static bool is_to_return(struct release *r)
{
    return release_is_analysing(r) && release_canary_serves_all(r) && promote_is_of_analysed(r);
}

/* The process was interrupted between route and status: the route is not changed again. */
static bool is_half_left(const struct release *r)
{
    return release_is_analysing(r) && r->weights.canary == 0 && r->canary->status.canary_weight > 0;
}

/* The status still has the earlier weight, if the process was also interrupted when everything left
 * the primary. */
static bool is_half_returned(struct release *r)
{
    return release_is_analysing(r) && condition_has_reason(r, CONDITION_SHARES, SERVING_GONE) &&
           r->canary->status.canary_weight > 0 && r->weights.canary == 0 &&
           promote_is_of_analysed(r) && is_ready(r, SIDE_PRIMARY);
}

/*
 * Without a mesh only the apex Service can switch. It leads to the target, which is ready and was
 * analysed or is being promoted, while the primary has no ready pod (initialise_apex); the release
 * continues. A target at zero, or with another revision, is no way out. If the release ends in
 * this state, the Service stays there and the target keeps its pods until the primary has one
 * (services_selector(), serving.c).
 */
static enum rule_result lead_apex(struct release *r)
{
    bool away = condition_has_reason(r, CONDITION_SHARES, SERVING_GONE);

    if (away == !release_serves(r, SIDE_PRIMARY))
        return RULE_CONTINUE;
    if (!away && (!promote_is_of_analysed(r) || r->phase == PHASE_Waiting || r->info.at_zero ||
                  !is_ready(r, SIDE_CANARY)))
        return RULE_CONTINUE;
    release_requeue(r, REQUEUE_NOW);
    if (away) {
        condition_clear(r, CONDITION_SHARES);
        event_normal(r, "%s is ready again, its traffic is back", primary_text(r));
        return RULE_DONE;
    }
    const char *text = gone_text(r);
    count(r);
    plan_alert(r->tick, "error", false, "%s", text);
    return condition_hold(r, CONDITION_SHARES, SERVING_GONE, text);
}

enum rule_result fail_over(struct release *r)
{
    if (r->target->own_services || !r->info.primary)
        return RULE_CONTINUE;
    if (!r->router->weighted)
        return lead_apex(r);
    bool canary = release_serves(r, SIDE_CANARY), primary = release_serves(r, SIDE_PRIMARY);
    if (!canary && primary && r->weights.canary > 0 && may_leave_canary(r))
        return leave_canary(r);
    if (!canary && primary && is_half_left(r) && may_leave_canary(r))
        return left_canary(r);
    if (canary && !primary && may_leave_primary(r))
        return leave_primary(r);
    if (!condition_is_set(r, CONDITION_SHARES))
        return RULE_CONTINUE;
    if (is_to_return(r))
        return is_ready(r, SIDE_PRIMARY) ? return_share(r) : RULE_CONTINUE;
    if (is_half_returned(r))
        return returned(r);
    condition_clear(r, CONDITION_SHARES);
    return RULE_CONTINUE;
}

/*
 * A release with writes that the API server rejects permanently ends at the progress deadline: it
 * is rolled back if nothing of its promotion was written. If a part was written, there is no way
 * back: it is held and retried.
 */

/*
 * *may: true if there is a release to take back, or, when idle, a revision for which the target
 * cannot be scaled up. A refused repair is no reason to reject a revision.
 */
static enum rule_result may_end(struct release *r, bool *may)
{
    enum carried carried = CARRIED_ALL;
    enum rule_result verdict = promote_is_untouched(r, may);

    /* another revision has arrived, and the API server refuses the writes that make way for it */
    if (verdict == RULE_CONTINUE && promote_is_being_written(r) && !promote_is_of_analysed(r)) {
        verdict = promote_carried(r, &carried);
        *may = carried == CARRIED_NOTHING;
    }
    if (release_is_idle(r))
        *may = *may && revision_changed(r) && refused_write_is_of_target(r);
    *may = *may && !steering_is_paused(r);
    return verdict;
}

/*
 * Repairs are planned before a release ends. A refused one would prevent the end, and, while the
 * release runs, its guards: a share on a side without pods, failed checks, a rollback hook.
 */
enum rule_result refused_writes_forgo(struct release *r)
{
    bool may = false;
    enum rule_result verdict = refused_write_expired(r) ? may_end(r, &may) : RULE_CONTINUE;

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (may || release_is_analysing(r) || release_is_promoting(r))
        refused_write_set_aside(r);
    return RULE_CONTINUE;
}

static enum rule_result end(struct release *r)
{
    bool begun = release_is_analysing(r) || release_is_promoting(r);

    event_warning(r, "Rolling back %s the API server has refused a write for %d seconds: %s",
                  release_canary(r), r->canary->progress_deadline_s, refused_write_says(r));
    plan_alert(r->tick, "error", false,
               "Progress deadline exceeded, the API server refuses a write: %s",
               refused_write_says(r));
    if (release_is_promoting(r))
        condition_clear(r, CONDITION_WHOLE);
    enum rule_result verdict = rollback_run(r, !begun);
    /* the pods of the canary stay until they can be removed */
    if (verdict == RULE_DONE && refused_write_is_of_target(r))
        refused_write_forgo(r);
    return verdict;
}

/*
 * A side without pods loses its share although a write is refused: the write is retried between
 * this step and the next, unless a step is due, which decides more.
 */
enum rule_result refused_writes_end(struct release *r)
{
    bool may = false;
    enum rule_result verdict = refused_write_expired(r) ? may_end(r, &may) : RULE_CONTINUE;

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (may)
        return end(r);
    if (!r->set_aside)
        return RULE_CONTINUE;
    if (r->tick->due && release_is_analysing(r)) {
        release_requeue_within(r, (tick_interval_ms(r->tick) + 1) / 2);
        return RULE_CONTINUE;
    }
    refused_write_put_back(r);
    return release_reread(r);
}

/* The guards have passed, but the step is not taken. */
enum rule_result refused_writes_wait(struct release *r)
{
    return r->forgoes ? RULE_DONE : RULE_CONTINUE;
}

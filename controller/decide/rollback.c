/*
 * Returning traffic to the primary (decide/RULES.md). The order makes it safe: routes
 * first, then the status, and the scale-down after a pause (serving.c); an interrupted tick starts
 * the same rollback again.
 */
#include "decide/rollback.h"

#include <string.h>

#include "base/clock.h"
#include "decide/capacity.h"
#include "decide/checks.h"
#include "decide/condition.h"
#include "decide/history.h"
#include "decide/refused_write.h"
#include "decide/release.h"
#include "decide/revision.h"
#include "decide/serving.h"
#include "decide/status.h"
#include "decide/steering.h"
#include "notify/notify.h"
#include "proto/weight.h"
#include "tick/edit.h"

/* --- steps */

bool shift_may_be_slow(struct release *r)
{
    const char *why;

    /* shares of matching requests are not shares of all requests */
    return !release_is_at_match(r) && !status_weight_was_matched(r) &&
           strcmp(r->info.hash, r->canary->status.last_applied_spec) == 0 &&
           release_ready(r, SIDE_CANARY, &why) == READY;
}

int shift_next(const struct shift *shift, int left)
{
    for (int i = 0; i < shift->way->n_steps; i++) {
        if (shift->way->steps[i].weight > WEIGHT_ALL - left)
            return WEIGHT_ALL - shift->way->steps[i].weight;
    }
    return 0;
}

void shift_note(struct release *r, const struct shift *shift, int primary)
{
    struct json_object *out = edit_object(r->tick->arena);
    char text[CLOCK_TEXT];

    weight_put(r->tick->arena, out, "weight", primary);
    json_set_str(out, "since", clock_rfc3339(r->tick->now_ms, text));
    status_object(r, shift->field, out);
}

int64_t shift_left_ms(struct release *r, const struct shift *shift, int primary)
{
    struct json_object *noted = json_at(r->canary->status.json, shift->field, NULL);
    const char *began = json_str_at(noted, "since", NULL);
    int64_t since, weight, lasts_ms = 0;

    for (int i = 0; i < shift->way->n_steps; i++) {
        int64_t for_ms = shift->way->steps[i].for_ms;
        if (shift->way->steps[i].weight == primary)
            lasts_ms = for_ms > 0 ? for_ms : shift->default_ms;
    }
    if (lasts_ms == 0)
        return 0;
    if (!began || !weight_read(json_at(noted, "weight", NULL), WEIGHT_ALL, &weight) ||
        weight != primary || clock_parse(began, &since, NULL) != ERR_OK ||
        since > r->tick->now_ms) {
        shift_note(r, shift, primary);
        return lasts_ms;
    }
    int64_t left = lasts_ms - (r->tick->now_ms - since);
    return left > 0 ? left : 0;
}

/* --- the rollback */

/*
 * A primary with a share continues to serve, even with only some of its pods. A primary that serves
 * nothing, or was left by a failed promotion, must be ready before it gets more: until then the
 * canary keeps its share, as long as the canary answers or the primary does not. (Flagger routes
 * all traffic to the broken primary and scales the healthy canary to zero.)
 */
static enum rule_result wait_for_primary(struct release *r, const char *reason, bool *kept,
                                         bool *may)
{
    const char *why;
    bool waits = capacity_waits(r, NULL);
    bool is_ready = release_ready(r, SIDE_PRIMARY, &why) == READY;
    bool nobody_else = !release_serves(r, SIDE_CANARY) && capacity_answers(r);

    *kept = r->weights.canary > 0;
    *may = !*kept && r->weights.mirrored; /* copying ends, whatever the primary can carry */
    if (*may)
        return RULE_CONTINUE;
    if (release_goes_forward(r) && !waits && !is_ready && !nobody_else)
        return RULE_CONTINUE;
    enum rule_result verdict = capacity_wait(r, reason);
    if (verdict != RULE_CONTINUE)
        return verdict;
    /* A primary with more replicas requested is not ready until it has them all. */
    if (release_goes_forward(r) && !is_ready && !capacity_answers(r))
        return RULE_CONTINUE;
    if (capacity_is_empty(r))
        return RULE_CONTINUE;
    *kept = false;
    *may = true;
    return RULE_CONTINUE;
}

enum rule_result rollback_to_primary(struct release *r, const char *reason, bool *kept)
{
    bool may = false;
    enum rule_result verdict = wait_for_primary(r, reason, kept, &may);

    return verdict == RULE_CONTINUE && may ? release_route(r, 0) : verdict;
}

bool rollback_is_in_steps(const struct release *r)
{
    return condition_is_set(r, CONDITION_ROLLED_BACK);
}

/*
 * Matching requests are not a share of all requests. A route that the API server refuses ends a
 * rollback in steps like an immediate one (refused_write_keeps()).
 */
static bool goes_in_steps(struct release *r, const struct shift *shift)
{
    return shift->way->n_steps > 0 && r->router->weighted && r->phase != PHASE_Waiting &&
           !r->weights.matched && r->strategy != STRATEGY_AB_TESTING && !r->at_once &&
           !condition_is_set(r, CONDITION_WRITES) && shift_may_be_slow(r);
}

/*
 * The next step of spec.analysis.rollback, which follows from the status, so that a step routed
 * before a crash is not taken twice. CONTINUE: the primary has everything. DONE: not yet.
 */
static enum rule_result shift_back(struct release *r)
{
    const struct shift shift = {.way = &r->canary->analysis.rollback,
                                .field = "rollbackStep",
                                .default_ms = tick_interval_ms(r->tick)};
    int left =
        r->canary->status.canary_weight > 0 ? r->canary->status.canary_weight : r->weights.canary;

    if (!goes_in_steps(r, &shift) || left == 0 || r->weights.canary == 0)
        return release_route(r, 0);
    r->tick->plan->waits = true;
    int64_t lasts = rollback_is_in_steps(r) ? shift_left_ms(r, &shift, WEIGHT_ALL - left) : 0;
    if (lasts > 0) {
        release_requeue_within(r, lasts);
        return RULE_DONE;
    }
    left = shift_next(&shift, left);
    enum rule_result verdict = release_route(r, left);
    if (verdict != RULE_CONTINUE || left == 0)
        return verdict;
    const char *share = weight_text(r->tick->arena, WEIGHT_ALL - left);
    event_warning(r, "Rolling back %s primary weight %s", release_canary(r), share);
    condition_set(r, CONDITION_ROLLED_BACK, "InSteps",
                  arena_printf(r->tick->arena,
                               "%s is rolled back in steps, the primary has %s "
                               "percent of the traffic",
                               release_canary(r), share));
    status_weight(r, left);
    release_requeue_within(r, shift_left_ms(r, &shift, WEIGHT_ALL - left)); /* and begins it */
    return RULE_DONE;
}

static void finish(struct release *r)
{
    plan_outcome(r->tick, false, "completed");
    hooks_post_rollout(r, PHASE_Failed);
}

enum rule_result rollback_run(struct release *r, bool consume)
{
    history_fail(r);
    /* a deleted target has already lost its share */
    bool kept = r->weights.canary > 0, refused = false;
    const struct weights routed = r->weights;
    bool may = false;
    enum rule_result verdict =
        r->info.object ? wait_for_primary(r, CAPACITY_ROLLBACK, &kept, &may) : RULE_CONTINUE;

    if (verdict == RULE_CONTINUE && may)
        verdict = shift_back(r);
    if (verdict == RULE_CONTINUE &&
        !kept) /* a route that cannot be restored: detect.c keeps trying */
        kept = refused = refused_write_keeps(r, &routed);
    if (verdict == RULE_CONTINUE && !kept && r->info.object)
        verdict = drain_target(r);
    if (verdict != RULE_CONTINUE)
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
    if (!kept) {
        r->tick->plan->change = alert_change_name(ALERT_ROLLED_BACK);
        event_warning(r, "Canary failed! Scaling down %s", release_canary(r));
    } else
        event_warning(r, "Canary failed! %s keeps %s traffic, %s", release_target(r),
                      release_canary_serves_all(r) ? "all" : "its",
                      refused ? "the API server refuses to route it back"
                              : "the primary is not ready");
    finish(r);
    /* a share that the primary cannot serve goes to the canary at once (detect.c) */
    if (kept && !release_canary_serves_all(r))
        release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

enum rule_result rollback_failed_promotion(struct release *r, const char *why)
{
    const char *canary_why;
    enum rule_result verdict = RULE_CONTINUE;
    bool analysed = !revision_changed(r);
    bool canary_ready = !r->info.at_zero && release_ready(r, SIDE_CANARY, &canary_why) == READY;

    /*
     * Both sides have a share, and neither can carry the other's: waits for one of them to become
     * ready, or for another revision.
     */
    if (analysed && !canary_ready && r->weights.canary > 0)
        return condition_hold(r, side_condition(SIDE_PRIMARY), CONDITION_WAITING,
                              arena_printf(r->tick->arena,
                                           "Promotion of %s waits, neither side is ready: %s",
                                           release_target(r), why));
    /*
     * The running pause is forgotten first: if interrupted after its traffic has returned, the
     * target would seem to have had none for an interval.
     */
    if (analysed && canary_ready && r->router->weighted && condition_is_set(r, CONDITION_DRAINED)) {
        condition_clear(r, CONDITION_DRAINED);
        release_requeue(r, REQUEUE_NOW);
        return RULE_DONE;
    }
    event_warning(r, "Promotion of %s failed, primary not ready: %s", release_target(r), why);
    plan_alert(r->tick, "error", false, "Promotion failed, primary not ready: %s", why);
    history_fail(r);
    /*
     * Traffic goes only to a side that is ready and was analysed, or already serves: an unanalysed
     * revision on the canary keeps its present share.
     */
    if (analysed && canary_ready)
        verdict = release_route_everything(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    status_phase(r, PHASE_Failed);
    status_weight(r, r->weights.canary);
    status_reset(r);
    /*
     * The primary has no complete revision: even the one promoted before must be released again.
     */
    status_text(r, "lastPromotedSpec", "");
    finish(r);
    return RULE_DONE;
}

/* A paused Deployment does not record the beginning of its wait. */
static bool is_paused_canary(const struct release *r, enum side side)
{
    return side == SIDE_CANARY && (r->info.paused || r->info.pin == PIN_HOLDS);
}

static enum readiness probe(struct release *r, enum side side, const char **why)
{
    enum readiness readiness = release_ready(r, side, why);

    if (readiness == READY)
        condition_clear(r, side_condition(side));
    else if ((r->target->deadline_by_condition || is_paused_canary(r, side)) &&
             readiness != NOT_READY_EVER)
        condition_set(r, side_condition(side), CONDITION_WAITING, *why);
    return readiness;
}

enum rule_result ready_or_end(struct release *r, enum side side)
{
    const char *why;

    switch (probe(r, side, &why)) {
    case READY:
        return RULE_CONTINUE;
    case NOT_READY_YET:
        return plan_stop(r->tick, "%s", why);
    case NOT_READY_EVER:
        break;
    }
    /* While it is paused, the checks judge the serving pods. */
    if (steering_stops_clock(r))
        return steering_is_paused(r) && r->weights.canary > 0
                   ? RULE_CONTINUE
                   : condition_hold(r, side_condition(side), CONDITION_WAITING, why);
    if (side == SIDE_PRIMARY && release_is_promoting(r))
        return rollback_failed_promotion(r, why);
    event_warning(r, "%s", why);
    plan_alert(r->tick, "error", false, "Progress deadline exceeded %s", why);
    return rollback_run(r, false);
}

enum rule_result ready_or_hold(struct release *r, enum side side)
{
    const char *why;
    enum readiness readiness = probe(r, side, &why);

    if (readiness == NOT_READY_EVER)
        return condition_hold(r, side_condition(side), CONDITION_WAITING, why);
    return readiness == READY ? RULE_CONTINUE : plan_stop(r->tick, "%s", why);
}

#define REASON "InvalidSpec"

bool refusal_set(struct release *r, const char *sentence)
{
    return condition_set(r, CONDITION_ACCEPTED, REASON, sentence);
}

void refusal_clear(struct release *r)
{
    condition_clear(r, CONDITION_ACCEPTED);
}

enum rule_result refusal_expire(struct release *r)
{
    int64_t since;

    if (!condition_since(r, CONDITION_ACCEPTED, REASON, &since)) {
        refusal_clear(r);
        refusal_set(r, r->refused);
        since = r->tick->now_ms;
    }
    if (!release_deadline_passed(r, since))
        return RULE_CONTINUE;
    event_warning(r, "Rolling back %s the spec has been refused for %d seconds: %s",
                  release_canary(r), r->canary->progress_deadline_s, r->refused);
    plan_alert(r->tick, "error", false, "Progress deadline exceeded, the spec is refused: %s",
               r->refused);
    return rollback_run(r, false);
}

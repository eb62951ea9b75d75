/*
 * A target without traffic keeps its pods for a pause (pause_begin()): the status shows the new
 * phase at once, and the target goes to zero when the pause is over. (Flagger scales down
 * immediately.) The condition Drained=False records it. A new revision that arrives meanwhile
 * begins at once, on the existing pods.
 */
#include "decide/drain.h"

#include "decide/capacity.h"
#include "decide/condition.h"
#include "decide/foreign.h"
#include "decide/release.h"
#include "decide/rules.h"
#include "decide/serving.h"

static bool has_pods(const struct release *r)
{
    return !r->info.at_zero && !r->info.stopped;
}

static struct pause pause_of(struct release *r)
{
    return (struct pause){
        .type = CONDITION_DRAINED,
        .reason = "TrafficLeft",
        .text = arena_printf(r->tick->arena,
                             "The traffic of %s has been taken away; it keeps its pods until that "
                             "is known everywhere",
                             release_target(r)),
    };
}

enum rule_result drain_begin(struct release *r)
{
    struct pause pause = pause_of(r);

    condition_clear(r, CONDITION_DRAINED);
    return has_pods(r) ? pause_begin(r, &pause) : RULE_CONTINUE;
}

/*
 * Continues a pause that another rule ends: the condition says what it waits for. CONTINUE or
 * NEEDS_FACTS.
 */
static enum rule_result drain_note(struct release *r)
{
    struct pause pause = pause_of(r);

    return has_pods(r) ? pause_note(r, &pause) : RULE_CONTINUE;
}

int64_t drain_left_ms(struct release *r)
{
    struct pause pause = pause_of(r);

    return has_pods(r) ? pause_left_ms(r, &pause) : 0;
}

bool drain_is_under_way(struct release *r)
{
    return condition_is_set(r, CONDITION_DRAINED) && has_pods(r);
}

/* CONTINUE: the pause is over. DONE: not yet. */
static enum rule_result pass(struct release *r)
{
    struct pause pause = pause_of(r);

    /* a worker takes its work by itself until it is gone */
    if (!has_pods(r) || (r->router->by_pods && canary_is_worker(r->canary)))
        return RULE_CONTINUE;
    if (!r->left)
        return pause_pass(r, &pause);
    enum rule_result verdict = drain_begin(r);
    release_requeue_within(r, tick_interval_ms(r->tick));
    return verdict == RULE_CONTINUE ? RULE_DONE : verdict;
}

/* DONE: requests to the apex Service have no other pods. */
static enum rule_result serve_on(struct release *r)
{
    bool needs = false;
    enum rule_result verdict = has_pods(r) ? serving_needs_target(r, &needs) : RULE_CONTINUE;

    return verdict == RULE_CONTINUE && needs ? RULE_DONE : verdict;
}

enum rule_result drain_target(struct release *r)
{
    enum rule_result verdict = pass(r);

    if (verdict == RULE_CONTINUE)
        verdict = bystander_wait(r);
    if (verdict == RULE_CONTINUE)
        verdict = serve_on(r);
    if (verdict == RULE_DONE)
        return RULE_CONTINUE;
    if (verdict == RULE_CONTINUE && r->scaler)
        verdict = r->scaler->pause_target(r->tick);
    if (verdict != RULE_CONTINUE)
        return verdict;
    r->target->scale_to_zero(r->tick, &r->info);
    condition_clear(r, CONDITION_DRAINED);
    condition_clear(r, CONDITION_FREE);
    return RULE_CONTINUE;
}

/*
 * A pause, a Service of others or a failed promotion has its own message about why the target
 * keeps pods.
 */
static bool has_idle_pods(const struct release *r)
{
    return r->target->has_replicas && !r->info.at_zero && r->weights.canary == 0 &&
           r->canary->status.canary_weight == 0 && *r->canary->status.last_promoted_spec &&
           !condition_is_set(r, CONDITION_DRAINED) && !condition_is_set(r, CONDITION_FREE) &&
           !release_has_writes(r);
}

void drain_tell_idle(struct release *r)
{
    bool is_scaled = r->own_scaler[SIDE_CANARY].object != NULL;

    if (!has_idle_pods(r)) {
        if (r->info.at_zero)
            condition_clear(r, CONDITION_IDLE);
        return;
    }
    const char *by = is_scaled ? arena_printf(r->tick->arena,
                                              ", which %s scales; name that in "
                                              "spec.autoscalerRef, or",
                                              scaled_text(r, SIDE_CANARY))
                               : ";";
    const char *text =
        arena_printf(r->tick->arena,
                     "%s has pods that serve nothing while no release is under way%s scale it to "
                     "zero: the next release starts it",
                     release_target(r), by);
    if (condition_set(r, CONDITION_IDLE, is_scaled ? "ScaledByOthers" : "ScaledByHand", text))
        event_warning(r, "%s", text);
}

/* The pause, from tick to tick. */

static const char back[] =
    "TrafficBack"; /* reason of the condition when traffic was sent to the target meanwhile */

/*
 * Traffic was routed to a target that was about to be removed. Unintended routes are restored
 * (detect.c, promote.c); before that the old pause is forgotten: an interruption in between would
 * leave a target that seems to have had no traffic for an interval.
 */
static enum rule_result begin_anew(struct release *r)
{
    int64_t since;

    if (r->canary->status.canary_weight > 0) {
        condition_clear(r, CONDITION_DRAINED);
        return RULE_CONTINUE;
    }
    if (condition_since(r, CONDITION_DRAINED, back, &since))
        return RULE_CONTINUE;
    condition_clear(r, CONDITION_DRAINED);
    condition_set(r, CONDITION_DRAINED, back, "The target has traffic again, which is taken away.");
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

enum rule_result drain_idle(struct release *r)
{
    bool drains = condition_is_set(r, CONDITION_DRAINED);

    /* Kept for a Service of others, it may be at zero by hand, or have pods again. */
    if (!drains && !condition_is_set(r, CONDITION_FREE))
        return RULE_CONTINUE;
    if (r->weights.canary > 0)
        return drains ? begin_anew(r) : RULE_CONTINUE;
    enum rule_result verdict = drain_target(r);
    if (verdict != RULE_CONTINUE || !release_has_writes(r))
        return verdict;
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/* Ended by the rule that began it. */
enum rule_result drain_running(struct release *r)
{
    if (!condition_is_set(r, CONDITION_DRAINED))
        return RULE_CONTINUE;
    if (r->weights.canary > 0)
        return begin_anew(r);
    return drain_note(r);
}

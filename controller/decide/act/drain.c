/*
 * A target that has lost its traffic keeps its pods for a pause (pause.c): the status says so at
 * once, with the phase that is reached, and the target goes to zero when the pause is over.
 * (Flagger scales down with the same stroke.) The condition Drained=False is the memory of it. A
 * new revision that comes meanwhile begins at once, on the pods that are there.
 */
#include "decide/act/drain.h"

#include "decide/act/bystander.h"
#include "decide/release/condition.h"
#include "decide/release/pause.h"
#include "decide/release/release.h"
#include "decide/release/scaled.h"
#include "decide/release/serving.h"

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

enum verdict drain_begin(struct release *r)
{
    struct pause pause = pause_of(r);

    condition_clear(r, CONDITION_DRAINED);
    return has_pods(r) ? pause_begin(r, &pause) : VERDICT_GO;
}

enum verdict drain_note(struct release *r)
{
    struct pause pause = pause_of(r);

    return has_pods(r) ? pause_note(r, &pause) : VERDICT_GO;
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

/* GO: the pause is over. STOP: it is not. */
static enum verdict pass(struct release *r)
{
    struct pause pause = pause_of(r);

    if (!has_pods(r))
        return VERDICT_GO;
    if (!r->left)
        return pause_pass(r, &pause);
    enum verdict verdict = drain_begin(r);
    release_wake(r, tick_interval_ms(r->tick));
    return verdict == VERDICT_GO ? VERDICT_STOP : verdict;
}

/* STOP: requests that reach the apex Service have no other pods. */
static enum verdict serve_on(struct release *r)
{
    bool needs = false;
    enum verdict verdict = has_pods(r) ? serving_needs_target(r, &needs) : VERDICT_GO;

    return verdict == VERDICT_GO && needs ? VERDICT_STOP : verdict;
}

enum verdict drain_target(struct release *r)
{
    enum verdict verdict = pass(r);

    if (verdict == VERDICT_GO)
        verdict = bystander_wait(r);
    if (verdict == VERDICT_GO)
        verdict = serve_on(r);
    if (verdict == VERDICT_STOP)
        return VERDICT_GO;
    if (verdict == VERDICT_GO && r->scaler)
        verdict = r->scaler->pause_target(r->tick);
    if (verdict != VERDICT_GO)
        return verdict;
    r->target->scale_to_zero(r->tick, &r->info);
    condition_clear(r, CONDITION_DRAINED);
    condition_clear(r, CONDITION_FREE);
    return VERDICT_GO;
}

/* A pause, a Service of others or a promotion that failed says itself why the target keeps pods. */
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
        release_warn(r, "%s", text);
}

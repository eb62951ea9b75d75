/*
 * Who takes over all traffic must have the pods for it. While the canary had its share, an
 * autoscaler may have shrunk the primary to the rest. So before the canary's share comes back at
 * once (a rollback, a restart, the end of a promotion), the primary is asked for the replicas that
 * all traffic needs, and waited for; not for long, and only as long as the canary answers. (Flagger
 * routes at once.)
 *
 * The same holds for a primary that has no pods at all: somebody scaled it to zero, or an
 * autoscaler that may. While a release needs it, it is brought up again, with an autoscaler or
 * without, and gets nothing as long as the canary answers and it does not.
 *
 * The condition PrimaryScaled is the memory of it. False: it waits, since its transition time, for
 * what the reason says. True: the traffic has moved; the primary keeps its replicas a little
 * longer, for what an autoscaler measures lags behind. Their number is status.capacity.replicas,
 * the floor of the primary's scaler as long as the condition is there: an autoscaler that was
 * merely overruled would take the pods away again before the traffic comes. Where the CRD is still
 * Flagger's and drops that field, nothing is asked for, and it is waited only for the first pod.
 */
#include "decide/act/capacity.h"

#include <limits.h>
#include <string.h>

#include "decide/ask/hooks.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/status.h"
#include "tick/edit.h"

enum {
    WAIT_MS = 60 * 1000,
    HOLD_MS = 2 * 60 * 1000,
    IDLE_LOOK_MS = 5 * 1000,    /* readiness wakes no idle canary */
    CLOCK_SLACK_MS = 60 * 1000, /* between replicas of the controller */
    TOLERATED_SHARE = 9, /* percent: up to 10 % more load, an autoscaler does nothing either */
};

static const char scaled[] = "Scaled"; /* its reason when True; else one of capacity.h */

static bool waits_for(struct release *r, const char *reason)
{
    int64_t since;

    return condition_since(r, CONDITION_CAPACITY, reason, &since);
}

bool capacity_waits(struct release *r, const char *reason)
{
    return reason ? waits_for(r, reason)
                  : condition_is_set(r, CONDITION_CAPACITY) && !waits_for(r, scaled);
}

static const char *primary_text(struct release *r)
{
    return arena_printf(r->tick->arena, "%s-primary.%s", r->canary->target.name,
                        r->canary->namespace_);
}

/* Who waits to begin says which revision: its gate has let this one through, and no other. */
static void tell_waiting(struct release *r, const char *reason, int replicas)
{
    const char *revision = strcmp(reason, CAPACITY_BEGIN) == 0 ? hooks_revision(r) : NULL;
    struct json_object *capacity = edit_object(r->tick->arena);

    json_set_int(capacity, "replicas", replicas);
    json_set(capacity, "revision", NULL);
    if (revision)
        json_set_str(capacity, "revision", revision);
    status_object(r, "capacity", capacity);
    condition_set(r, CONDITION_CAPACITY, reason,
                  arena_printf(r->tick->arena, "%s needs %d replicas for all traffic%s%s%s",
                               primary_text(r), replicas, revision ? " before revision " : "",
                               revision ? revision : "", revision ? " begins" : ""));
}

bool capacity_is_scaled(const struct release *r)
{
    return r->scaler || r->own_scaler[SIDE_PRIMARY].object;
}

bool capacity_waits_to_begin(struct release *r)
{
    const char *revision = r->canary->status.capacity_revision;

    return waits_for(r, CAPACITY_BEGIN) && revision && strcmp(revision, hooks_revision(r)) == 0;
}

/* What it was asked for; 0: nothing, or it is not known. */
static int asked_for(struct release *r)
{
    return condition_is_set(r, CONDITION_CAPACITY) ? r->canary->status.capacity_replicas : 0;
}

int capacity_asked(struct release *r)
{
    return asked_for(r);
}

/* A release is under way, or ended with traffic on the canary: the primary is the way back. */
static bool needs_primary(struct release *r)
{
    return release_is_initialising(r) || release_is_analysing(r) || release_is_promoting(r) ||
           r->canary->status.canary_weight > 0 || capacity_waits(r, NULL);
}

int capacity_floor(struct release *r)
{
    int asked = asked_for(r);

    return asked == 0 && needs_primary(r) ? 1 : asked;
}

/* How many pods of a side answer; of a kind that does not count them, one if any does. */
static int pods(struct release *r, enum side side)
{
    if (!release_serves(r, side))
        return 0;
    return r->target->available ? release_available(r, side) : 1;
}

void capacity_raise(struct release *r)
{
    if (!r->target->raise_primary || !r->info.primary || !needs_primary(r))
        return;
    if (capacity_is_scaled(r) && capacity_waits(r, NULL))
        r->target->raise_primary(r->tick, &r->info, capacity_floor(r));
    else if (r->info.primary_at_zero) {
        int replicas = r->scaler ? 1 : pods(r, SIDE_CANARY);
        replicas = replicas > 0 ? replicas : 1;
        r->target->raise_primary(r->tick, &r->info, replicas);
        release_warn(r, "%s was scaled to zero while it is needed, scaling it up to %d",
                     primary_text(r), replicas);
    }
}

/* --- may and must it wait? */

static bool is_analysed(const struct release *r)
{
    return strcmp(r->info.hash, r->canary->status.last_applied_spec) == 0;
}

/* Another revision than the analysed one rolls out pod by pod, and one that is asked for more pods gets
 * them one by one: those that are there answer. */
static bool canary_answers(struct release *r)
{
    const char *why;
    enum readiness readiness = release_ready(r, SIDE_CANARY, &why);

    return pods(r, SIDE_CANARY) > 0 &&
           (readiness == READY || (readiness == NOT_READY_YET &&
                                   (!is_analysed(r) || condition_is_set(r, CONDITION_SHARE))));
}

bool capacity_is_empty(struct release *r)
{
    return pods(r, SIDE_PRIMARY) == 0 && pods(r, SIDE_CANARY) > 0;
}

/* A rollback waits for the autoscaler that the Canary names, and for none of others. */
static bool may_wait(struct release *r, const char *reason)
{
    const char *why;
    bool waits = r->scaler || (capacity_is_scaled(r) && strcmp(reason, CAPACITY_ROLLBACK) != 0);

    if (!r->router->weighted || r->weights.canary == 0 ||
        release_ready(r, SIDE_PRIMARY, &why) == NOT_READY_EVER)
        return false;
    return capacity_is_empty(r) || (waits && r->target->available &&
                                    r->weights.canary > TOLERATED_SHARE && canary_answers(r));
}

enum verdict capacity_target_scaler(struct release *r, struct own_scaler *out)
{
    struct json_object *named = NULL;
    enum verdict verdict = r->scaler ? r->scaler->source(r->tick, &named) : VERDICT_GO;

    *out = r->own_scaler[SIDE_CANARY];
    if (named) /* else it is missing, and that of others scales it */
        *out = (struct own_scaler){.kind = r->scaler, .object = named};
    return verdict;
}

/* The canary has had pods for its share: act/share.h asks for them, up to its scaler's maximum. */
static bool is_proportional(struct release *r)
{
    struct own_scaler scaler;

    if (r->canary->analysis.any_capacity || capacity_target_scaler(r, &scaler) != VERDICT_GO)
        return false;
    return !scaler.object || pods(r, SIDE_CANARY) < scaler.kind->most(scaler.object);
}

static int64_t whole(int64_t part, int share)
{
    return (part * 100 + share - 1) / share;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * As many as serve the primary's share now, in proportion; no more than both sides have together, or
 * the canary's in proportion, where it has had pods for its share. Where a share is nothing, or
 * nobody serves it, those that serve on the other side; where it is not known (an A/B test), those of
 * both. A primary that nothing scales has carried all of it.
 */
int64_t capacity_total(struct release *r)
{
    int64_t primary = pods(r, SIDE_PRIMARY);
    int64_t canary = pods(r, SIDE_CANARY);
    int64_t noted = r->canary->status.share_total;

    if (r->weights.canary == 0 && primary > 0)
        return primary;
    if (r->weights.primary == 0 || primary == 0)
        return primary > canary ? primary : canary;
    if (!capacity_is_scaled(r) || primary == noted) /* it has not shrunk to its share */
        return primary;
    if (r->weights.matched)
        return primary + canary;
    int64_t all = whole(primary, r->weights.primary);
    if (is_proportional(r))
        all = least(all, least(primary + canary, whole(canary, r->weights.canary)));
    /* what was needed at first still fits: pods are whole, so that shares of them are rounded up */
    return noted > 0 && (primary - 1) * 100 < noted * r->weights.primary ? least(all, noted) : all;
}

/* Without an autoscaler somebody has chosen their number: then it is enough that anybody answers. */
static int needed(struct release *r)
{
    int64_t all = capacity_is_scaled(r) ? capacity_total(r) : 1;

    return all > 0 ? (int)all : 1;
}

/* --- waiting */

static enum verdict start_waiting(struct release *r, const char *reason)
{
    int all = needed(r);
    int has = pods(r, SIDE_PRIMARY);
    int most = all;
    const struct own_scaler *own = &r->own_scaler[SIDE_PRIMARY];
    enum verdict verdict = r->scaler ? r->scaler->primary_max(r->tick, &most) : VERDICT_GO;

    if (verdict != VERDICT_GO)
        return verdict;
    if (own->object)
        most = own->kind->most(own->object);
    all = all < most ? all : most;
    /* It still has what the last release asked for: more than its share needs. */
    if (waits_for(r, scaled) && asked_for(r) > 0 && asked_for(r) < all)
        all = asked_for(r);
    all = all > 0 ? all : 1;
    if (all <= has)
        return VERDICT_GO;
    tell_waiting(r, reason, all);
    release_say(r, "Waiting until %s has %d replicas for all traffic, it has %d", primary_text(r),
                all, has);
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

/* It has come to an end, one way or another: the traffic moves with this plan. */
static enum verdict end_waiting(struct release *r)
{
    condition_set_true(r, CONDITION_CAPACITY, scaled, condition_message(r, CONDITION_CAPACITY));
    release_wake(r, HOLD_MS);
    return VERDICT_GO;
}

static int64_t longest_ms(const struct release *r)
{
    int64_t deadline = r->canary->progress_deadline_s * (int64_t)1000;

    return deadline < WAIT_MS ? deadline : WAIT_MS;
}

/* How long until `ms` have passed since the condition became what it is; 0 when they have, and
 * where that is not known. */
static int64_t left_of(struct release *r, int64_t ms)
{
    int64_t since;

    if (!condition_time(r, CONDITION_CAPACITY, &since))
        return 0;
    int64_t left = since + ms - r->tick->now_ms;
    return left < 0 || left > ms + CLOCK_SLACK_MS ? 0 : left < ms ? left : ms;
}

enum verdict capacity_wait(struct release *r, const char *reason)
{
    bool waits = capacity_waits(r, NULL);
    int asked = capacity_floor(r);
    int has = pods(r, SIDE_PRIMARY);

    if (!may_wait(r, reason))
        return waits ? end_waiting(r) : VERDICT_GO;
    if (!waits)
        return start_waiting(r, reason);
    int64_t left = left_of(r, longest_ms(r));
    if (has >= asked)
        return end_waiting(r);
    if (left == 0) {
        release_warn(r,
                     has > 0 ? "%s has %d of %d replicas, routing all traffic to it"
                             : "%s has %d of %d replicas, it gets no traffic yet",
                     primary_text(r), has, asked);
        return end_waiting(r);
    }
    /* a step that was routed before a crash is told now, not after the wait */
    status_int(r, "canaryWeight", r->weights.canary);
    /* what it began to wait for may have become something else */
    if (!waits_for(r, reason) || strcmp(reason, CAPACITY_BEGIN) == 0)
        tell_waiting(r, reason, asked);
    release_wake(r, release_is_idle(r) && left > IDLE_LOOK_MS ? IDLE_LOOK_MS : left);
    return VERDICT_STOP;
}

bool capacity_answers(struct release *r)
{
    const char *why;

    return pods(r, SIDE_PRIMARY) > 0 && release_ready(r, SIDE_PRIMARY, &why) != NOT_READY_EVER;
}

enum verdict capacity_start(struct release *r, bool ready)
{
    if (ready)
        return waits_for(r, CAPACITY_START) ? end_waiting(r) : VERDICT_GO;
    if (!r->scaler || !r->info.primary_at_zero || capacity_waits(r, NULL))
        return VERDICT_GO;
    tell_waiting(r, CAPACITY_START, 1);
    release_say(r, "Scaling up %s before the new revision begins", primary_text(r));
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

void capacity_settle(struct release *r)
{
    int64_t left = left_of(r, capacity_waits(r, NULL) ? WAIT_MS + HOLD_MS : HOLD_MS);

    if (!condition_is_set(r, CONDITION_CAPACITY))
        return;
    if (left > 0) {
        release_wake(r, left);
        return;
    }
    condition_clear(r, CONDITION_CAPACITY);
    status_text(r, "capacity", NULL);
    release_again(r, AGAIN_NOW);
}

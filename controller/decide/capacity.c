/*
 * A side that gets all traffic needs the pods for it. While the canary had its share, an autoscaler
 * may have shrunk the primary. So before all traffic returns at once (a rollback, a restart, the
 * end of a promotion), the primary is scaled to the replicas that all traffic needs, and the
 * release waits for it; not for long, and only while the canary answers. (Flagger routes at once.)
 *
 * The same holds for a primary without pods, scaled to zero by a person or an autoscaler: while a
 * release needs it, it is scaled up, and gets no traffic as long as the canary answers and it does
 * not.
 *
 * The condition PrimaryScaled records this. False: waiting, since its transition time, for the
 * purpose in its reason. True: the traffic has moved, and the primary keeps its replicas a little
 * longer, since autoscalers measure with a delay. The number is in status.capacity.replicas, and is
 * the floor of the primary's scaler while the condition exists: an autoscaler that was only
 * overruled would remove the pods before the traffic arrives. Flagger's CRD drops that field; then
 * no replicas are requested, and the release waits for the first pod only.
 */
#include "decide/capacity.h"

#include <limits.h>
#include <string.h>

#include "decide/bake.h"
#include "decide/checks.h"
#include "decide/condition.h"
#include "decide/release.h"
#include "decide/share.h"
#include "decide/status.h"
#include "target/shared/primary.h"
#include "tick/edit.h"

enum {
    WAIT_MS = 60 * 1000,
    HOLD_MS = 2 * 60 * 1000,
    IDLE_LOOK_MS = 5 * 1000, /* a change of readiness does not wake an idle Canary */
    /* autoscalers tolerate up to 10 % more load */
    TOLERATED_SHARE = 9 * WEIGHT_PERCENT,
};

static const char scaled[] =
    "Scaled"; /* reason of the condition when True; capacity.h has the others */

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

/* A wait to begin belongs to one revision: its gate has approved this one and no other. */
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

/* The replicas requested before; 0 if none or unknown. */
static int asked_for(struct release *r)
{
    return condition_is_set(r, CONDITION_CAPACITY) ? r->canary->status.capacity_replicas : 0;
}

static int more(int a, int b)
{
    return a > b ? a : b;
}

int capacity_asked(struct release *r)
{
    return more(asked_for(r), bake_floor(r));
}

/*
 * True if a release is under way, or ended with traffic on the canary: the primary is the way
 * back.
 */
static bool needs_primary(struct release *r)
{
    return release_is_initialising(r) || release_is_analysing(r) || release_is_promoting(r) ||
           r->canary->status.canary_weight > 0 || capacity_waits(r, NULL);
}

/* The number of replicas that a wait is for. */
static int waited_for(struct release *r)
{
    int asked = asked_for(r);

    return asked == 0 && needs_primary(r) ? 1 : asked;
}

int capacity_floor(struct release *r)
{
    return more(waited_for(r), bake_floor(r));
}

/* Ready pods of a side; 1 if any for kinds that do not count them. */
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
        event_warning(r, "%s was scaled to zero while it is needed, scaling it up to %d",
                      primary_text(r), replicas);
    }
}

/* --- when to wait */

static bool is_analysed(const struct release *r)
{
    return strcmp(r->info.hash, r->canary->status.last_applied_spec) == 0;
}

/*
 * A revision other than the analysed one rolls out pod by pod, and new pods arrive one by one; the
 * existing pods answer meanwhile.
 */
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

/* A rollback waits for the autoscaler that the Canary names, and for no other. */
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

enum rule_result capacity_target_scaler(struct release *r, struct own_scaler *out)
{
    struct json_object *named = NULL;
    enum rule_result verdict = r->scaler ? r->scaler->source(r->tick, &named) : RULE_CONTINUE;

    *out = r->own_scaler[SIDE_CANARY];
    if (named) /* otherwise it is missing, and another autoscaler scales the workload */
        *out = (struct own_scaler){.kind = r->scaler, .object = named};
    return verdict;
}

/* The canary was scaled for its share: share.h requests its pods, up to its scaler's maximum. */
static bool is_proportional(struct release *r)
{
    struct own_scaler scaler;

    if (r->canary->analysis.any_capacity || capacity_target_scaler(r, &scaler) != RULE_CONTINUE)
        return false;
    return !scaler.object || pods(r, SIDE_CANARY) < scaler.kind->most(scaler.object);
}

static int64_t whole(int64_t part, int share)
{
    return (part * WEIGHT_ALL + share - 1) / share;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * In proportion to the pods that serve the primary's share now; at most the pods of both sides
 * together, or a number in proportion to the canary's pods if it was scaled for its share. With a
 * share of zero or without serving pods, the pods of the other side; with an unknown share (an A/B
 * test), the pods of both. A primary without an autoscaler has carried all traffic before.
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
    /* the first number still fits: shares of whole pods are rounded up */
    return noted > 0 && (primary - 1) * WEIGHT_ALL < noted * r->weights.primary ? least(all, noted)
                                                                                : all;
}

/* Without an autoscaler, a person chose the number: one ready pod is enough. */
static int needed(struct release *r)
{
    int64_t all = capacity_is_scaled(r) ? capacity_total(r) : 1;

    return all > 0 ? (int)all : 1;
}

/* --- waiting */

static enum rule_result start_waiting(struct release *r, const char *reason)
{
    int all = needed(r);
    int has = pods(r, SIDE_PRIMARY);
    int most = all;
    const struct own_scaler *own = &r->own_scaler[SIDE_PRIMARY];
    enum rule_result verdict = r->scaler ? r->scaler->primary_max(r->tick, &most) : RULE_CONTINUE;

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (own->object)
        most = own->kind->most(own->object);
    all = all < most ? all : most;
    /* The primary still has the replicas of the last release, more than its share needs. */
    if (waits_for(r, scaled) && asked_for(r) > 0 && asked_for(r) < all)
        all = asked_for(r);
    all = all > 0 ? all : 1;
    if (all <= has)
        return RULE_CONTINUE;
    tell_waiting(r, reason, all);
    event_normal(r, "Waiting until %s has %d replicas for all traffic, it has %d", primary_text(r),
                 all, has);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/* The wait is over, one way or another: this plan moves the traffic. */
static enum rule_result end_waiting(struct release *r)
{
    condition_set_true(r, CONDITION_CAPACITY, scaled, condition_message(r, CONDITION_CAPACITY));
    release_requeue_within(r, HOLD_MS);
    return RULE_CONTINUE;
}

static int64_t longest_ms(const struct release *r)
{
    int64_t deadline = tick_deadline_ms(r->tick);

    return deadline < WAIT_MS ? deadline : WAIT_MS;
}

/* Milliseconds until `ms` have passed since the condition changed; 0 if they have passed, or if the
 * time is unknown.
 */
static int64_t left_of(struct release *r, int64_t ms)
{
    int64_t since;

    if (!condition_time(r, CONDITION_CAPACITY, &since))
        return 0;
    int64_t left = since + ms - r->tick->now_ms;
    return left < 0 ? 0 : left < ms ? left : ms;
}

enum rule_result capacity_wait(struct release *r, const char *reason)
{
    bool waits = capacity_waits(r, NULL);
    int asked = waited_for(r);
    int has = pods(r, SIDE_PRIMARY);

    if (!may_wait(r, reason))
        return waits ? end_waiting(r) : RULE_CONTINUE;
    if (!waits)
        return start_waiting(r, reason);
    int64_t left = left_of(r, longest_ms(r));
    if (has >= asked)
        return end_waiting(r);
    if (left == 0) {
        event_warning(r,
                      has > 0 ? "%s has %d of %d replicas, routing all traffic to it"
                              : "%s has %d of %d replicas, it gets no traffic yet",
                      primary_text(r), has, asked);
        return end_waiting(r);
    }
    /* a step routed before a crash is reported now, not after the wait */
    status_share(r, r->weights.canary);
    /* the purpose of the wait may have changed */
    if (!waits_for(r, reason) || strcmp(reason, CAPACITY_BEGIN) == 0)
        tell_waiting(r, reason, asked);
    release_requeue_within(r, release_is_idle(r) && left > IDLE_LOOK_MS ? IDLE_LOOK_MS : left);
    return RULE_DONE;
}

bool capacity_answers(struct release *r)
{
    const char *why;

    return pods(r, SIDE_PRIMARY) > 0 && release_ready(r, SIDE_PRIMARY, &why) != NOT_READY_EVER;
}

enum rule_result capacity_start(struct release *r, bool ready)
{
    if (ready)
        return waits_for(r, CAPACITY_START) ? end_waiting(r) : RULE_CONTINUE;
    if (!r->scaler || !r->info.primary_at_zero || capacity_waits(r, NULL))
        return RULE_CONTINUE;
    tell_waiting(r, CAPACITY_START, 1);
    event_normal(r, "Scaling up %s before the new revision begins", primary_text(r));
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

void capacity_settle(struct release *r)
{
    int64_t left = left_of(r, capacity_waits(r, NULL) ? WAIT_MS + HOLD_MS : HOLD_MS);

    if (!condition_is_set(r, CONDITION_CAPACITY))
        return;
    if (left > 0) {
        release_requeue_within(r, left);
        return;
    }
    condition_clear(r, CONDITION_CAPACITY);
    status_text(r, "capacity", NULL);
    release_requeue(r, REQUEUE_NOW);
}

static bool text_is(struct json_object *object, const char *key, const char *text)
{
    const char *found = json_str_at(object, key, NULL);

    return found && strcmp(found, text) == 0;
}

static const char *side_name(struct release *r, enum side side)
{
    return side == SIDE_PRIMARY ? primary_name(r->tick) : r->canary->target.name;
}

static bool scales(struct json_object *scaler, const char *kind, const char *name)
{
    struct json_object *ref = json_at(scaler, "spec", "scaleTargetRef", NULL);

    return text_is(ref, "name", name) &&
           (text_is(ref, "kind", kind) || !json_at(ref, "kind", NULL));
}

/* True for the autoscaler that the Canary names and its copy for the primary. */
static bool is_named(struct release *r, enum side side, const char *kind, const char *name)
{
    const char *named = r->canary->autoscaler.name;

    if (!r->scaler || !name || strcmp(kind, r->scaler->kind) != 0)
        return false;
    if (side == SIDE_PRIMARY)
        named = arena_printf(r->tick->arena, "%s-primary", named);
    return strcmp(name, named) == 0;
}

/*
 * True if another autoscaler has created it (KEDA creates an HPA for each ScaledObject): the named
 * autoscaler of the Canary, or one found separately.
 */
static bool is_part(struct release *r, enum side side, struct json_object *scaler, bool *of_named)
{
    struct json_object *owners = json_at(scaler, "metadata", "ownerReferences", NULL);

    *of_named = false;
    for (size_t i = 0; i < json_len(owners); i++) {
        struct json_object *owner = json_elem(owners, i);
        const char *kind = json_str_at(owner, "kind", NULL);
        if (!kind || !scaler_find(kind))
            continue;
        *of_named = is_named(r, side, kind, json_str_at(owner, "name", NULL));
        return true;
    }
    return false;
}

/* If both are found, the autoscaler that is not part of another counts. */
static void take(struct release *r, enum side side, const struct scaler *kind,
                 struct json_object *object)
{
    struct own_scaler *own = &r->own_scaler[side];
    bool of_named, part = is_part(r, side, object, &of_named);

    if (!object || json_at(object, "metadata", "deletionTimestamp", NULL) || of_named ||
        (own->object && part))
        return;
    *own = (struct own_scaler){.kind = kind, .object = object};
}

static enum rule_result read_scaler(struct release *r, enum side side, const struct scaler *kind)
{
    const char *name = side_name(r, side), *namespace_ = r->canary->namespace_;
    enum rule_result verdict = RULE_CONTINUE;
    struct json_object *list, *object;

    if (!need_scalers(r->tick, kind->resource, namespace_, r->target->kind, name, &list))
        return RULE_NEEDS_FACTS;
    for (size_t i = 0; i < json_len(list); i++) {
        const char *found = json_str_at(json_elem(list, i), "metadata", "name", NULL);
        if (!found || !scales(json_elem(list, i), r->target->kind, name) ||
            is_named(r, side, kind->kind, found))
            continue;
        if (!need_object_if_watched(r->tick, kind->resource, namespace_, found, &object))
            verdict = RULE_NEEDS_FACTS;
        else if (scales(object, r->target->kind, name))
            take(r, side, kind, object);
    }
    return verdict;
}

enum rule_result scaled_read(struct release *r)
{
    enum rule_result verdict = RULE_CONTINUE;

    memset(r->own_scaler, 0, sizeof(r->own_scaler));
    for (size_t i = 0; r->target->has_replicas && scaler_table[i]; i++) {
        for (int side = SIDE_PRIMARY; side <= SIDE_CANARY; side++)
            verdict = read_scaler(r, (enum side)side, scaler_table[i]) == RULE_CONTINUE
                          ? verdict
                          : RULE_NEEDS_FACTS;
    }
    return verdict;
}

const char *scaled_text(struct release *r, enum side side)
{
    const struct own_scaler *own = &r->own_scaler[side];

    return arena_printf(r->tick->arena, "%s %s.%s", own->kind->kind,
                        json_str_at(own->object, "metadata", "name", NULL), r->canary->namespace_);
}

enum rule_result scale_up_target(struct release *r)
{
    enum rule_result verdict = RULE_CONTINUE;
    int replicas = 0;

    if (r->scaler)
        verdict = r->scaler->resume_target(r->tick);
    if (r->scaler && verdict == RULE_CONTINUE)
        verdict = r->scaler->min_replicas(r->tick, &replicas);
    /* an autoscaler that the Canary does not name continues from these replicas */
    const struct own_scaler *own = &r->own_scaler[SIDE_CANARY];
    if (!r->scaler && own->object)
        replicas = own->kind->start(own->object);
    if (verdict != RULE_CONTINUE)
        return verdict;
    int size = share_start(r);
    r->target->scale_from_zero(r->tick, &r->info, size > 0 ? size : replicas);
    return RULE_CONTINUE;
}

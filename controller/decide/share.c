/*
 * A side gets no more traffic than it has pods for. capacity.c ensures that for a primary to which
 * all traffic returns, this file for the canary at each step forward: of the pods that all traffic
 * needs, the canary has a part in proportion to its share. The minimum of its scaler is raised for
 * that, and restored when the canary has lost its traffic; without a scaler the target's replicas
 * are set. (Flagger routes at once: all traffic of twelve pods to the two that an autoscaler starts
 * with.)
 *
 * The condition CanaryScaled=False records the beginning of a step's wait, and
 * status.canaryCapacity the requested pods, until the release ends. Flagger's CRD drops that field;
 * then nothing is requested and no step waits.
 */
#include "decide/share.h"

#include <string.h>

#include "decide/capacity.h"
#include "decide/condition.h"
#include "decide/foreign.h"
#include "decide/rollback.h"
#include "decide/rules.h"
#include "decide/serving.h"
#include "decide/status.h"
#include "router/shared/services.h"
#include "target/shared/workload.h"
#include "tick/edit.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int pods(struct release *r, enum side side)
{
    return release_serves(r, side) ? release_available(r, side) : 0;
}

/* Rounded up. */
static int64_t pods_for(int64_t all, int share)
{
    return (all * share + WEIGHT_ALL - 1) / WEIGHT_ALL;
}

static enum rule_result needed(struct release *r, int share, int *out)
{
    if (r->router->by_pods) {
        *out = pods_of_share(r, share);
        return RULE_CONTINUE;
    }
    struct own_scaler scaler;
    enum rule_result verdict = capacity_target_scaler(r, &scaler);
    int64_t need = pods_for(capacity_total(r), share);

    need = workload_least(need, r->canary->analysis.canary_ready_threshold);
    if (verdict == RULE_CONTINUE && scaler.object)
        need = least(need, scaler.kind->most(scaler.object));
    *out = (int)need;
    return verdict;
}

/* --- waiting */

static void ask(struct release *r, int share, int need)
{
    const char *percent = weight_text(r->tick->arena, share);
    const struct canary_status *status = &r->canary->status;
    struct json_object *capacity = edit_object(r->tick->arena);
    int has = (int)json_int_at(r->info.object, 1, "spec", "replicas", NULL);
    bool asked = status->share_replicas > 0 && has == status->share_replicas;

    json_set_int(capacity, "replicas", need);
    json_set_int(capacity, "own", asked ? status->share_own : has);
    json_set_int(capacity, "total",
                 status->share_total > 0 ? status->share_total : capacity_total(r));
    status_object(r, "canaryCapacity", capacity);
    condition_set(r, CONDITION_SHARE, CONDITION_WAITING,
                  arena_printf(r->tick->arena,
                               "%s needs %d ready replicas for %s percent of the "
                               "traffic",
                               release_target(r), need, percent));
    event_normal(r, "Waiting until %s has %d replicas for %s percent of the traffic, it has %d",
                 release_target(r), need, percent, pods(r, SIDE_CANARY));
    release_requeue(r, REQUEUE_NOW);
}

static enum rule_result give_up(struct release *r, int share, int need)
{
    const char *text = arena_printf(
        r->tick->arena,
        "%s has %d of the %d replicas that %s percent of the traffic need, for longer than %d "
        "seconds",
        release_target(r), pods(r, SIDE_CANARY), need, weight_text(r->tick->arena, share),
        r->canary->progress_deadline_s);

    event_warning(r,
                  "Rolling back %s: %s; with spec.analysis.capacity.canary None it is not waited "
                  "for",
                  release_canary(r), text);
    plan_alert(r->tick, "error", false, "Progress deadline exceeded %s", text);
    return rollback_run(r, false);
}

/* All traffic at once needs all pods: a small initial size was chosen for a part of the traffic. */
static bool may_lack_pods(const struct release *r, int share)
{
    return r->canary->analysis.any_capacity && !r->router->by_pods &&
           !(r->canary->analysis.scale.given && share >= WEIGHT_ALL);
}

/* A share of pods must not begin with more pods than it needs; with a share, no pod is removed. */
static bool is_to_shrink(struct release *r, int need)
{
    return r->router->by_pods && r->weights.canary == 0 && r->target->size_target &&
           json_int_at(r->info.object, 1, "spec", "replicas", NULL) > need;
}

enum rule_result share_wait(struct release *r, int share)
{
    int need;
    int64_t since;

    if (may_lack_pods(r, share) || !r->target->available || !r->router->weighted)
        return RULE_CONTINUE;
    enum rule_result verdict = needed(r, share, &need);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (is_to_shrink(r, need)) {
        r->target->size_target(r->tick, &r->info, need);
        ask(r, share, need);
        return RULE_DONE;
    }
    if (pods(r, SIDE_CANARY) >= need) {
        condition_clear(r, CONDITION_SHARE);
        return RULE_CONTINUE;
    }
    if (!condition_time(r, CONDITION_SHARE, &since)) {
        ask(r, share, need);
        return RULE_DONE;
    }
    if (r->canary->status.share_replicas == 0)
        return RULE_CONTINUE; /* the CRD drops the field */
    if (release_deadline_passed(r, since))
        return give_up(r, share, need);
    if (need > r->canary->status.share_replicas)
        ask(r, share, need);
    return RULE_DONE;
}

/* --- the size at the beginning */

/* The share of the traffic that the canary gets first: by match, as a copy, or by weight. */
static int first_share(const struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    if (r->strategy == STRATEGY_AB_TESTING)
        return analysis->matched_share * WEIGHT_PERCENT;
    if (analysis->mirror)
        return analysis->mirror_weight > 0 ? analysis->mirror_weight * WEIGHT_PERCENT : WEIGHT_ALL;
    if (analysis->match_step)
        return analysis->matched_share * WEIGHT_PERCENT;
    return r->strategy == STRATEGY_CANARY ? release_next_weight(r, 0) : 0;
}

static int64_t start_size(struct release *r, int64_t own)
{
    const struct canary_scale *scale = &r->canary->analysis.scale;

    if (r->router->by_pods)
        return pods_of_share(r, release_next_weight(r, 0));
    int share = scale->percent > 0 ? scale->percent * WEIGHT_PERCENT : first_share(r);
    int64_t size = scale->replicas > 0 ? scale->replicas : pods_for(own, share);

    return size > 0 ? size : 1;
}

/* A share of pods has no autoscaler beside it (below). */
static bool has_start_size(const struct release *r)
{
    bool scaled = capacity_is_scaled(r) || r->own_scaler[SIDE_CANARY].object;

    return release_is_sized(r) && r->target->raise_target && r->info.primary &&
           !r->canary->skip_analysis && !(scaled && r->router->by_pods);
}

int share_start(struct release *r)
{
    int64_t own = json_int_at(r->info.primary, 1, "spec", "replicas", NULL);
    int64_t has = json_int_at(r->info.object, 1, "spec", "replicas", NULL);
    struct own_scaler scaler;
    struct json_object *capacity;

    if (!has_start_size(r) || own == 0 || capacity_target_scaler(r, &scaler) != RULE_CONTINUE)
        return 0;
    /* the number written by applying its manifest is that of the next primary */
    bool written = !r->info.at_zero && !condition_is_set(r, CONDITION_DRAINED) &&
                   r->weights.canary == 0 && r->info.own_replicas == 0 && !scaler.object;
    int64_t size = start_size(r, own);
    if (scaler.object)
        size = least(size, scaler.kind->most(scaler.object));
    if (written && has > size) {
        own = has;
        size = start_size(r, own);
        r->target->size_target(r->tick, &r->info, (int)size);
    } else if (!r->info.at_zero && has != size) { /* also after a crash between start and status */
        return 0;
    }
    if (scaler.object) /* before the pods: it would start its minimum of pods at once */
        scaler.kind->hold(r->tick, scaler.object, (int)size, true);
    capacity = edit_object(r->tick->arena);
    json_set_int(capacity, "replicas", size);
    json_set_int(capacity, "own", own);
    json_set_int(capacity, "total", own);
    status_object(r, "canaryCapacity", capacity);
    return (int)size;
}

/* --- holding */

void share_begin(struct release *r)
{
    struct json_object *capacity;

    if (!r->target->raise_target || !capacity_is_scaled(r) || r->canary->skip_analysis ||
        (r->canary->analysis.any_capacity && r->canary->analysis.bake.for_ms == 0) ||
        r->weights.canary > 0 || pods(r, SIDE_PRIMARY) == 0 ||
        json_at(r->status, "canaryCapacity", NULL))
        return;
    capacity = edit_object(r->tick->arena);
    json_set_int(capacity, "total", capacity_total(r));
    status_object(r, "canaryCapacity", capacity);
}

static bool is_over(const struct release *r)
{
    return !release_is_analysing(r) && !release_is_promoting(r) &&
           r->canary->status.canary_weight == 0;
}

/* For lack of a primary, with the pods that the primary had. */
static bool has_taken_all(const struct release *r)
{
    return release_is_sized(r) && (r->canary->status.serves_everything ||
                                   condition_has_reason(r, CONDITION_SHARES, SERVING_GONE));
}

bool share_grows(struct release *r)
{
    const char *why;

    return release_is_sized(r) && r->weights.canary > 0 && pods(r, SIDE_CANARY) > 0 &&
           release_ready(r, SIDE_CANARY, &why) == NOT_READY_YET;
}

void share_take_all(struct release *r)
{
    int total = r->canary->status.share_total;

    if (release_is_sized(r) && r->target->raise_target && r->info.object && total > 0)
        r->target->raise_target(r->tick, &r->info, total);
}

/* The minimum number of pods of the canary. */
static int floor_of(const struct release *r)
{
    const struct canary_status *status = &r->canary->status;
    bool holds = release_is_analysing(r) || status->canary_weight > 0 ||
                 condition_is_set(r, CONDITION_SHARE);

    if (holds && has_taken_all(r) && status->share_total > status->share_replicas)
        return status->share_total;
    return holds ? status->share_replicas : 0;
}

/* The minimum of an autoscaler until the last pod is gone: at its own minimum it would start
 * others. */
static int size_left(const struct release *r)
{
    bool runs = r->canary->analysis.scale.given && r->info.object && !r->info.at_zero;

    return runs ? r->canary->status.share_replicas : 0;
}

void share_note_own(struct release *r)
{
    const struct canary_status *status = &r->canary->status;
    int64_t has = json_int_at(r->info.object, 1, "spec", "replicas", NULL);

    /* a number that a person sets for a canary with a size of its own applies to the canary */
    bool is_own = release_is_sized(r) || has == status->share_replicas;

    r->info.own_replicas = is_own && has > 0 && status->share_replicas > 0 ? status->share_own : 0;
}

enum rule_result share_hold(struct release *r, int primary_floor)
{
    struct own_scaler scaler, *of_primary = &r->own_scaler[SIDE_PRIMARY];
    int floor = floor_of(r);
    int64_t since;

    /* after the deadline, a request that was undone is not repeated: the step gives up */
    if (!r->target->raise_target || (condition_time(r, CONDITION_SHARE, &since) &&
                                     tick_deadline_passed(r->tick, since) && floor > 0))
        return RULE_CONTINUE;
    enum rule_result verdict = capacity_target_scaler(r, &scaler);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (scaler.object)
        scaler.kind->hold(r->tick, scaler.object, floor > 0 ? floor : size_left(r),
                          r->canary->analysis.scale.given);
    if (of_primary->object)
        of_primary->kind->hold(r->tick, of_primary->object, primary_floor, false);
    if (floor > 0 && r->info.object)
        r->target->raise_target(r->tick, &r->info, floor);
    if (is_over(r)) {
        status_forget_capacity(r);
        condition_clear(r, CONDITION_SHARE);
    }
    return RULE_CONTINUE;
}

enum rule_result share_put_back(struct release *r)
{
    struct own_scaler scaler;
    enum rule_result verdict = scaled_read(r);

    if (verdict == RULE_CONTINUE)
        verdict = capacity_target_scaler(r, &scaler);
    if (verdict != RULE_CONTINUE)
        return verdict;
    r->info.most_replicas = scaler.object ? scaler.kind->most(scaler.object) : 0;
    if (scaler.object)
        scaler.kind->hold(r->tick, scaler.object, 0, false);
    if (r->own_scaler[SIDE_PRIMARY].object)
        r->own_scaler[SIDE_PRIMARY].kind->hold(r->tick, r->own_scaler[SIDE_PRIMARY].object, 0,
                                               false);
    return RULE_CONTINUE;
}

/*
 * --- Shares by number of pods. Without a mesh the apex Service selects the pods of both sides, by
 * the labels that they have in common, and each connection goes to any of them: the share is the
 * ratio of their numbers. The primary keeps its own, so that all traffic can return to it at once;
 * the canary gets the number whose share is nearest.
 *
 * Workers without a Service fetch their work themselves, each its part, so only the numbers of pods
 * count.
 *
 * No other pod may have those labels. The condition SharePossible=False names the obstacle; an
 * existing share returns to the primary, and the analysis begins again when there is no obstacle.
 */

static int64_t primary_number(const struct release *r)
{
    return json_int_at(r->info.primary, 1, "spec", "replicas", NULL);
}

int pods_of_share(struct release *r, int share)
{
    int64_t primary = primary_number(r);

    if (share >= WEIGHT_ALL)
        return (int)(primary > 0 ? primary : 1);
    int64_t less = primary * share / (WEIGHT_ALL - share), more = less + 1;
    /* distances of both shares from the wanted one, times their numbers of pods */
    int64_t below = share * (primary + less) - WEIGHT_ALL * less;
    int64_t above = WEIGHT_ALL * more - share * (primary + more);
    if (less < 1)
        return 1;
    return (int)(below * (primary + more) <= above * (primary + less) ? less : more);
}

/* Ready pods of a side that the apex Service selects. */
static int selected(struct release *r, enum side side)
{
    bool is_left =
        side == SIDE_PRIMARY && r->weights.canary == WEIGHT_ALL && !canary_is_worker(r->canary);

    return release_serves(r, side) && !is_left ? release_available(r, side) : 0;
}

/* "9.1" */
static const char *percent_text(struct release *r)
{
    enum { THOUSAND = 1000 };
    int canary = selected(r, SIDE_CANARY), all = canary + selected(r, SIDE_PRIMARY);
    int64_t tenths = all > 0 ? ((int64_t)canary * THOUSAND * 2 + all) / (2 * (int64_t)all) : 0;

    return arena_printf(r->tick->arena, "%d.%d", (int)(tenths / 10), (int)(tenths % 10));
}

const char *pods_text(struct release *r)
{
    int canary = selected(r, SIDE_CANARY), all = canary + selected(r, SIDE_PRIMARY);

    return arena_printf(r->tick->arena, "%d of %d pods, %s %%", canary, all, percent_text(r));
}

void pods_note(struct release *r, int weight)
{
    struct json_object *noted = json_at(r->canary->status.json, "canaryPods", NULL);
    struct json_object *pods = edit_object(r->tick->arena);

    if (!r->router->by_pods || weight == 0)
        return;
    weight_put(r->tick->arena, pods, "weight", weight);
    json_set_int(pods, "canary", selected(r, SIDE_CANARY));
    json_set_int(pods, "primary", selected(r, SIDE_PRIMARY));
    json_set_str(pods, "percent", percent_text(r));
    if (!json_same(noted, pods))
        status_object(r, "canaryPods", pods);
}

/* --- obstacles */

static const char *scaled(struct release *r, enum side side)
{
    return arena_printf(r->tick->arena,
                        "%s scales the pods of %s, and their number is the share; expected no "
                        "autoscaler with spec.analysis.steps and provider kubernetes",
                        scaled_text(r, side),
                        side == SIDE_CANARY
                            ? release_target(r)
                            : arena_printf(r->tick->arena, "%s-primary.%s", r->canary->target.name,
                                           r->canary->namespace_));
}

/* *text: a sentence about the obstacle, NULL if there is none. */
static enum rule_result find_obstacle(struct release *r, const char **text)
{
    struct json_object *common = serving_common(r);
    const char *others = "";

    *text = NULL;
    for (int side = SIDE_PRIMARY; side <= SIDE_CANARY && !*text; side++)
        if (r->own_scaler[side].object)
            *text = scaled(r, (enum side)side);
    if (canary_is_worker(r->canary))
        return RULE_CONTINUE;
    if (!common && !*text)
        *text = arena_printf(
            r->tick->arena,
            "The pods of %s and of its primary have no label in common, by which Service %s could "
            "select both; add one to the pod template that no other pod has, such as "
            "app.kubernetes.io/name",
            release_target(r), r->canary->service.name);
    if (*text)
        return RULE_CONTINUE;
    enum rule_result verdict = owners_find_pods(r, common, &others);
    if (verdict == RULE_CONTINUE && *others)
        *text = arena_printf(r->tick->arena,
                             "%s in namespace %s: its pods have all labels that those of %s and of "
                             "its primary have in common, %s, by which Service %s would select "
                             "them as well; give them other labels",
                             others, r->canary->namespace_, release_target(r),
                             services_print(r->tick, common), r->canary->service.name);
    return verdict;
}

static enum rule_result expire(struct release *r, const char *text)
{
    event_warning(r, "Rolling back %s, its share has not been possible for %d seconds: %s",
                  release_canary(r), r->canary->progress_deadline_s, text);
    plan_alert(r->tick, "error", false, "Progress deadline exceeded: %s", text);
    return rollback_run(r, false);
}

static enum rule_result hold(struct release *r, const char *text)
{
    enum rule_result verdict = release_route(r, 0);
    int64_t since;

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (condition_time(r, CONDITION_POSSIBLE, &since) && release_deadline_passed(r, since))
        return expire(r, text);
    if (r->canary->status.canary_weight > 0) {
        status_phase(r, PHASE_Progressing);
        status_weight(r, 0);
        status_int(r, "failedChecks", r->canary->status.failed_checks + 1);
    }
    return condition_hold(r, CONDITION_POSSIBLE, "PodsOfOthers", text);
}

/* With all traffic, the Service selects the canary's pods alone, by their own labels. */
static bool is_shared(const struct release *r)
{
    int weight = r->weights.canary;

    return weight < WEIGHT_ALL && (weight > 0 || release_next_weight(r, weight) < WEIGHT_ALL);
}

enum rule_result pods_allow(struct release *r)
{
    const char *text = NULL;

    if (!r->router->by_pods || r->canary->skip_analysis)
        return RULE_CONTINUE;
    enum rule_result verdict = is_shared(r) ? find_obstacle(r, &text) : RULE_CONTINUE;
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (text)
        return hold(r, text);
    condition_clear(r, CONDITION_POSSIBLE);
    pods_note(r, r->canary->status.canary_weight);
    return RULE_CONTINUE;
}

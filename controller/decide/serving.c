/* Services of a release and the pods behind them; below, a target that has lost its traffic. */
#include "decide/serving.h"

#include <string.h>

#include "decide/capacity.h"
#include "decide/condition.h"
#include "decide/foreign.h"
#include "decide/release.h"
#include "decide/rules.h"
#include "router/shared/services.h"
#include "target/shared/primary.h"
#include "tick/edit.h"

/* Without a mesh the apex Service is the only switch; it leads to the target instead (guard.c). */
static bool leads_away(struct release *r)
{
    return condition_has_reason(r, CONDITION_SHARES, SERVING_GONE) && r->router &&
           !r->router->weighted && r->info.primary && !release_serves(r, SIDE_PRIMARY);
}

/*
 * True if a Service may select these pods. At first the primary must be completely ready: it
 * replaces workloads that serve. Later it is the only choice. A target without a share gets no
 * clients.
 */
static bool answers(void *arg, bool primary)
{
    struct release *r = arg;
    const char *why;

    if (!primary)
        return (r->canary->status.canary_weight == 0 && !leads_away(r)) ||
               release_serves(r, SIDE_CANARY);
    if (!r->info.primary)
        return false;
    return release_is_initialising(r) ? release_ready(r, SIDE_PRIMARY, &why) == READY
                                      : release_serves(r, SIDE_PRIMARY);
}

/*
 * All pods of a workload have the labels of its selector; only pods created from its template have
 * the other labels of the template.
 */
static bool all_have(struct json_object *workload, struct json_object *selector)
{
    json_object_object_foreach(selector, key, value)
    {
        if (!json_same(json_at(workload, "spec", "selector", "matchLabels", key, NULL), value))
            return false;
    }
    return true;
}

static int64_t ready(void *arg, bool primary, struct json_object *selector)
{
    struct release *r = arg;
    enum side side = primary ? SIDE_PRIMARY : SIDE_CANARY;
    struct json_object *workload = primary ? r->info.primary : r->info.object;

    if (!services_select(selector, json_at(workload, "spec", "template", NULL)) ||
        !release_serves(r, side))
        return 0;
    int64_t pods = r->target->available ? release_available(r, side) : 1;
    int64_t updated = json_int_at(workload, pods, "status", "updatedReplicas", NULL);
    return all_have(workload, selector) || updated > pods ? pods : updated;
}

static struct json_object *selector(void *arg, bool primary, struct json_object *live)
{
    struct release *r = arg;

    return primary_pods(r->tick, &r->info, primary, live);
}

struct service_pods serving_pods(struct release *r)
{
    return (struct service_pods){
        .apex_to_target = leads_away(r),
        .apex_shared = r->router && r->router->by_apex && !release_is_initialising(r),
        .apex_share = r->canary->status.canary_weight,
        .label = r->info.label,
        .selector = selector,
        .target = json_at(r->info.object, "spec", "template", NULL),
        .primary = json_at(r->info.primary, "spec", "template", NULL),
        .ports = r->info.ports,
        .answers = answers,
        .ready = ready,
        .arg = r,
    };
}

/* --- by number of pods */

struct json_object *serving_common(struct release *r)
{
    struct json_object *target = json_at(r->info.object, "spec", "template", NULL);
    struct json_object *labels =
        json_at(r->info.primary, "spec", "template", "metadata", "labels", NULL);
    struct json_object *common = edit_object(r->tick->arena);

    if (!json_object_is_type(labels, json_type_object))
        return NULL;
    json_object_object_foreach(labels, key, value)
    {
        if (json_same(json_at(target, "metadata", "labels", key, NULL), value))
            json_set(common, key, json_copy(r->tick->arena, value));
    }
    return json_count(common) > 0 ? common : NULL;
}

enum rule_result serving_selector(struct release *r, int canary, struct json_object **out)
{
    struct service_pods pods = serving_pods(r);
    struct json_object *apex;

    *out = NULL;
    if (!need_object(r->tick, &kube_services, r->canary->namespace_, r->canary->service.name,
                     &apex))
        return RULE_NEEDS_FACTS;
    if (!r->info.label) /* the target is gone, and only the primary's pods are selected */
        return RULE_CONTINUE;
    if (canary > 0 && canary < WEIGHT_ALL)
        *out = serving_common(r);
    else
        *out = services_selector(&pods, canary == 0, json_at(apex, "spec", "selector", NULL));
    return RULE_CONTINUE;
}

enum rule_result serving_apex(struct release *r)
{
    struct service_pods pods = serving_pods(r);

    return r->target->own_services ? RULE_CONTINUE : services_reconcile_apex(r->tick, &pods);
}

enum rule_result serving_leads(struct release *r, bool *leads)
{
    struct json_object *apex;

    if (!need_object(r->tick, &kube_services, r->canary->namespace_, r->canary->service.name,
                     &apex))
        return RULE_NEEDS_FACTS;
    struct json_object *selects = json_at(apex, "spec", "selector", NULL);
    const char *value = json_str_at(selects, r->info.label, NULL);
    const char *wanted = arena_printf(r->tick->arena, "%s-primary", r->info.label_value);
    *leads = r->info.primary
                 ? services_select(selects, json_at(r->info.primary, "spec", "template", NULL))
                 : value && strcmp(value, wanted) == 0;
    return RULE_CONTINUE;
}

enum rule_result serving_needs_target(struct release *r, bool *needs)
{
    struct json_object *apex;

    *needs = false;
    if (r->target->own_services || !r->info.primary || release_serves(r, SIDE_PRIMARY))
        return RULE_CONTINUE;
    if (!need_object(r->tick, &kube_services, r->canary->namespace_, r->canary->service.name,
                     &apex))
        return RULE_NEEDS_FACTS;
    *needs = services_select(json_at(apex, "spec", "selector", NULL),
                             json_at(r->info.object, "spec", "template", NULL));
    return RULE_CONTINUE;
}

/*
 * --- A target without traffic keeps its pods for a pause (pause_begin()): the status shows the new
 * phase at once, and the target goes to zero when the pause is over. (Flagger scales down
 * immediately.) The condition Drained=False records it. A new revision that arrives meanwhile
 * begins at once, on the existing pods.
 */

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
 * Continues a pause that another rule ends: the condition says what the pause waits for. CONTINUE
 * or NEEDS_FACTS.
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

    /* a worker fetches its work itself until it is gone */
    if (!has_pods(r) || (r->router->by_pods && canary_is_worker(r->canary)))
        return RULE_CONTINUE;
    if (!r->left)
        return pause_pass(r, &pause);
    enum rule_result verdict = drain_begin(r);
    release_requeue_within(r, tick_interval_ms(r->tick));
    return verdict == RULE_CONTINUE ? RULE_DONE : verdict;
}

/* DONE: no other pods can answer requests to the apex Service. */
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
 * A pause, a foreign Service or a failed promotion has a message of its own about the pods that the
 * target keeps.
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

/* The pause, continued from tick to tick. */

static const char back[] =
    "TrafficBack"; /* reason when traffic was sent to the target during the pause */

/*
 * Traffic was routed to a target that was about to be removed. Unintended routes are restored
 * (detect.c, promote.c); before that the old pause is forgotten: otherwise an interruption in
 * between would leave a target that seems to have had no traffic for an interval.
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

    /* A target kept for a foreign Service may have been scaled to zero by hand, or have pods
     * again. */
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

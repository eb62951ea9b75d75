/* Services of a release and the pods behind them. */
#include "decide/serving.h"

#include <string.h>

#include "decide/condition.h"
#include "decide/release.h"
#include "router/shared/services.h"
#include "target/shared/primary.h"
#include "tick/edit.h"

/* The apex Service, the only switch without a mesh, leads to the target instead (guard.c). */
static bool leads_away(struct release *r)
{
    return condition_has_reason(r, CONDITION_SHARES, SERVING_GONE) && r->router &&
           !r->router->weighted && r->info.primary && !release_serves(r, SIDE_PRIMARY);
}

/*
 * True if a Service may select these pods. At first the primary must be completely ready: it takes
 * over from workloads that serve. Later it is the only choice. A target without a share gets no
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
 * All pods of a workload have the labels of its selector; other labels of its template only pods
 * created from that.
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

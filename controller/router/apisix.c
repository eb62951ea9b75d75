/*
 * APISIX: a copy of a rule of the user's ApisixRoute, the one that leads to the apex Service. Its
 * priority makes it win over the original (router/OBJECTS.md).
 */
#include <string.h>

#include "router/router.h"
#include "router/shared/source.h"
#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

enum { PRIORITY = 10000 };

static const struct kube_resource apisix_routes = {.group = "apisix.apache.org",
                                                   .version = "v2",
                                                   .plural = "apisixroutes",
                                                   .kind = "ApisixRoute",
                                                   .meshed = true};

static const struct split_format *apisix_format(const struct canary *canary)
{
    static const struct split_format format = {
        .rules = {"spec", "http"}, .backends = {"backends"}, .name = {"serviceName"}};

    (void)canary;
    return &format;
}

static const char *copy_name(struct arena *arena, const struct canary *canary)
{
    if (!canary->route.name)
        return NULL;
    return arena_printf(arena, "%s-%s-canary", canary->route.name, canary->service.name);
}

static const char *const *apisix_names(struct arena *arena, const struct canary *canary,
                                       const struct kube_resource *resource)
{
    return source_names(arena, canary, resource, &apisix_routes, copy_name(arena, canary));
}

static const char *apisix_check(struct arena *arena, const struct canary *canary)
{
    if (!canary->route.name || !*canary->route.name)
        return "spec.routeRef: must name the ApisixRoute of the application";
    return route_check(arena, canary);
}

/* The rule of the source to copy; NULL and *why if there is none. */
static struct json_object *source_rule(struct tick *tick, struct json_object *source,
                                       const char **why)
{
    const struct canary *canary = tick->canary;
    struct json_object *rules = json_at(source, "spec", "http", NULL);

    *why = NULL;
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *rule = json_elem(rules, i);
        if (!split_backend(apisix_format(canary), rule, canary->service.name))
            continue;
        if (json_len(json_at(rule, "backends", NULL)) == 1)
            return rule;
        *why = arena_printf(tick->arena,
                            "ApisixRoute %s.%s: the rule with the backend %s must "
                            "have no other",
                            canary->route.name, canary->namespace_, canary->service.name);
        return NULL;
    }
    *why = arena_printf(tick->arena,
                        source ? "backend %s not found in ApisixRoute %s.%s"
                               : "no ApisixRoute with the backend %s: %s.%s not found",
                        canary->service.name, canary->route.name, canary->namespace_);
    return NULL;
}

static bool need_source(struct tick *tick, struct json_object **out)
{
    return need_object(tick, &apisix_routes, tick->canary->namespace_, tick->canary->route.name,
                       out);
}

static void add_backend(struct tick *tick, struct json_object *backends, struct json_object *of,
                        const char *name, int weight, struct json_object *live)
{
    struct json_object *out = of ? json_copy(tick->arena, of) : edit_object(tick->arena);

    json_set_str(out, "serviceName", name);
    json_set_int(out, "weight", weight);
    edit_pair(out, live);
    edit_add(backends, out);
}

/* The rule of the source with both sides; without a source, only the weights of the live rule. */
static struct json_object *wanted_rule(struct tick *tick, struct json_object *rule,
                                       const struct weights *weights, const struct split *split)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *of = json_elem(json_at(rule, "backends", NULL), 0);
    struct json_object *backends = edit_array(tick->arena);
    struct json_object *out = rule ? source_tree(tick->arena, rule) : edit_object(tick->arena);

    add_backend(tick, backends, of, service->primary_name, weight_relative(weights->primary),
                split->primary);
    add_backend(tick, backends, of, service->canary_name, weight_relative(weights->canary),
                split->canary);
    json_set(out, "backends", backends);
    if (rule) {
        json_set_int(out, "priority", PRIORITY);
        json_set_bool(out, "websocket", json_bool_at(rule, false, "websocket", NULL));
        out = route_whole(tick->arena, out, split->split);
    }
    edit_pair(out, split->split);
    return out;
}

static enum rule_result wanted(struct tick *tick, const struct weights *weights,
                               const struct split *split, struct json_object *live,
                               struct json_object **out)
{
    struct json_object *rules = edit_array(tick->arena), *source;
    const char *why;

    if (!need_source(tick, &source))
        return RULE_NEEDS_FACTS;
    struct json_object *rule = source_rule(tick, source, &why);
    if (!rule && (!live || !split->split))
        return plan_block(tick, "%s", why);
    *out = rule ? source_metadata(tick, source, NULL) : edit_object(tick->arena);
    if (rule)
        json_set(*out, "spec", source_tree(tick->arena, json_at(source, "spec", NULL)));
    edit_add(rules, wanted_rule(tick, rule, weights, split));
    json_set(json_sub(*out, "spec"), "http", rules);
    return RULE_CONTINUE;
}

/* For a copy that the Canary did not create. */
static enum rule_result plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    struct json_object *rule = edit_object(tick->arena), *rules = edit_array(tick->arena);
    struct json_object *backends = edit_array(tick->arena);
    struct json_object *old = json_elem(json_at(live, "spec", "http", NULL), 0);

    *out = edit_object(tick->arena);
    add_backend(tick, backends, NULL, tick->canary->service.name, 100,
                json_elem(json_at(old, "backends", NULL), 0));
    json_set(rule, "backends", backends);
    edit_pair(rule, old);
    edit_add(rules, rule);
    json_set(json_sub(*out, "spec"), "http", rules);
    return RULE_CONTINUE;
}

static const struct route route = {.resource = &apisix_routes,
                                   .format = apisix_format,
                                   .wanted = wanted,
                                   .plain = plain,
                                   .bare = true};

static enum rule_result apisix_settled(struct tick *tick, const char **why)
{
    struct json_object *source;

    if (!need_source(tick, &source))
        return RULE_NEEDS_FACTS;
    return source_rule(tick, source, why) ? RULE_CONTINUE : RULE_DONE;
}

/* The source leads to the apex Service: our copy is deleted, any other copy is reverted. */
static enum rule_result apisix_revert(struct tick *tick, bool recreate)
{
    struct json_object *found;

    (void)recreate;
    enum rule_result verdict =
        source_remove(tick, &apisix_routes, copy_name(tick->arena, tick->canary), &found);
    return verdict == RULE_CONTINUE && found ? route_revert(tick, false) : verdict;
}

static enum rule_result apisix_disown(struct tick *tick)
{
    return source_disown(tick, &apisix_routes, copy_name(tick->arena, tick->canary));
}

static const char *const providers[] = {"apisix", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &apisix_routes, NULL};

const struct router router_apisix = {
    .providers = providers,
    .about = "APISIX, ApisixRoute",
    .resources = resources,
    .names = apisix_names,
    .metric_family = "apisix",
    .route = &route,
    .weighted = true,
    .finest = 1,
    .check = apisix_check,
    .ignored = ignored_but_weights,
    .reconcile = route_reconcile,
    .get = route_get,
    .settled = apisix_settled,
    .set = route_set,
    .revert = apisix_revert,
    .disown = apisix_disown,
};

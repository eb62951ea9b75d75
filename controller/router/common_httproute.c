#include "router/common_httproute.h"

#include <string.h>

#include "tick/edit.h"

const char *httproute_check(struct arena *arena, const struct canary *canary)
{
    const char *why;

    if (json_len(canary->service.gateway_refs) == 0)
        return "spec.service.gatewayRefs: must be specified when using Gateway API as a provider";
    if (canary->service.port <= 0)
        return "spec.service.port: expected a port number";
    httproute_matches(arena, &canary->service, &why);
    return why;
}

static bool need_route(struct tick *tick, const struct httproute_version *version,
                       struct json_object **out)
{
    return need_object(tick, version->resource, tick->canary->namespace_,
                       tick->canary->service.name, out);
}

static struct json_object *backend_named(struct json_object *rule, const char *name)
{
    struct json_object *backends = json_at(rule, "backendRefs", NULL);

    for (size_t i = 0; i < json_len(backends); i++) {
        const char *found = json_str_at(json_elem(backends, i), "name", NULL);
        if (found && strcmp(found, name) == 0)
            return json_elem(backends, i);
    }
    return NULL;
}

/* The rule that splits traffic: it has both Services as backends. NULL: there is none. */
static struct json_object *weighted_rule(const struct canary *canary, struct json_object *route)
{
    struct json_object *rules = json_at(route, "spec", "rules", NULL);

    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *rule = json_elem(rules, i);
        if (backend_named(rule, canary->service.primary_name) &&
            backend_named(rule, canary->service.canary_name))
            return rule;
    }
    return NULL;
}

/* What the route splits; all to the primary when it says nothing usable. */
static struct weights read_weights(const struct canary *canary, struct json_object *route)
{
    struct json_object *rule = weighted_rule(canary, route);
    int64_t primary =
        json_int_at(backend_named(rule, canary->service.primary_name), 1, "weight", NULL);
    int64_t other =
        json_int_at(backend_named(rule, canary->service.canary_name), 1, "weight", NULL);

    if (!rule || primary < 0 || other < 0 || primary > 1000000 || other > 1000000 ||
        primary + other == 0)
        return (struct weights){.primary = 100};
    /* Somebody else's numbers need not add up to 100. */
    int share = (int)((other * 100 + (primary + other) / 2) / (primary + other));
    return (struct weights){.primary = 100 - share, .canary = share};
}

struct json_object *httproute_backend(struct tick *tick, const char *name, int weight)
{
    struct json_object *ref = edit_object(tick->arena);

    json_set_str(ref, "group", "");
    json_set_str(ref, "kind", "Service");
    json_set_str(ref, "name", name);
    json_set_int(ref, "port", tick->canary->service.port);
    json_set_int(ref, "weight", weight);
    return ref;
}

static struct json_object *wanted_rule(struct tick *tick, const struct httproute_version *version,
                                       const struct weights *weights)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *rule = edit_object(tick->arena);
    struct json_object *backends = edit_array(tick->arena);
    const char *why;

    json_set(rule, "matches", httproute_matches(tick->arena, service, &why));
    json_set(rule, "filters", httproute_filters(tick->arena, service, version->rich));
    if (version->rich)
        json_set(rule, "timeouts", httproute_timeouts(tick->arena, service));
    json_object_array_add(backends, json_object_get(httproute_backend(tick, service->primary_name,
                                                                      weights->primary)));
    json_object_array_add(
        backends, json_object_get(httproute_backend(tick, service->canary_name, weights->canary)));
    json_set(rule, "backendRefs", backends);
    return rule;
}

static struct json_object *wanted_parents(struct tick *tick)
{
    static const char *const optional[] = {"namespace", "sectionName", "port"};
    struct json_object *out = edit_array(tick->arena);
    struct json_object *given = tick->canary->service.gateway_refs;

    for (size_t i = 0; i < json_len(given); i++) {
        struct json_object *parent = json_copy(tick->arena, json_elem(given, i));
        for (size_t j = 0; j < sizeof(optional) / sizeof(optional[0]); j++) {
            if (!json_at(parent, optional[j], NULL))
                json_set(parent, optional[j], NULL);
        }
        json_object_array_add(out, json_object_get(parent));
    }
    return out;
}

struct json_object *httproute_frame(struct tick *tick)
{
    struct json_object *route = edit_object(tick->arena);
    struct json_object *metadata = json_sub(route, "metadata");
    struct json_object *apex = tick->canary->service.apex;
    struct json_object *hosts = tick->canary->service.hosts;
    struct json_object *annotations =
        edit_without_toolkit(tick->arena, json_at(apex, "annotations", NULL));

    edit_disown_toolkit(annotations);
    json_set(metadata, "annotations", annotations);
    if (json_at(apex, "labels", NULL))
        json_set(metadata, "labels",
                 edit_without_toolkit(tick->arena, json_at(apex, "labels", NULL)));
    struct json_object *spec = json_sub(route, "spec");
    json_set(spec, "parentRefs", wanted_parents(tick));
    json_set(spec, "hostnames", json_len(hosts) > 0 ? hosts : NULL);
    return route;
}

/* The route as the spec wants it, weights kept: to be laid over the live one. */
static struct json_object *wanted_route(struct tick *tick, const struct httproute_version *version,
                                        const struct weights *weights)
{
    struct json_object *route = httproute_frame(tick);
    struct json_object *rules = edit_array(tick->arena);

    json_object_array_add(rules, json_object_get(wanted_rule(tick, version, weights)));
    json_set(json_sub(route, "spec"), "rules", rules);
    return route;
}

enum verdict httproute_reconcile(struct tick *tick, const struct httproute_version *version)
{
    struct json_object *live;

    if (!need_route(tick, version, &live))
        return VERDICT_NEED_FACTS;
    struct weights weights = read_weights(tick->canary, live);
    /* A route that lost its split while the canary serves everything gets it back at once: the
     * primary may be broken. */
    if (!weighted_rule(tick->canary, live) && tick->canary->status.canary_weight == 100)
        weights = (struct weights){.canary = 100};
    struct json_object *wanted = wanted_route(tick, version, &weights);
    if (live) {
        if (plan_update(tick, version->resource, live, edit_overlay(tick->arena, live, wanted)))
            plan_why(tick, "as the spec says, weights %d/%d", weights.primary, weights.canary);
        return VERDICT_GO;
    }
    struct json_object *body = edit_overlay(
        tick->arena, edit_new(tick, version->resource, tick->canary->service.name), wanted);
    plan_create(tick, version->resource, tick->canary->namespace_, body);
    plan_why(tick, "weights %d/%d", weights.primary, weights.canary);
    return VERDICT_GO;
}

enum verdict httproute_get(struct tick *tick, const struct httproute_version *version,
                           struct weights *out)
{
    struct json_object *live;

    if (!need_route(tick, version, &live))
        return VERDICT_NEED_FACTS;
    *out = read_weights(tick->canary, live);
    return VERDICT_GO;
}

static struct json_object *accepted_condition(struct json_object *parent_status)
{
    struct json_object *conditions = json_at(parent_status, "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        if (type && strcmp(type, "Accepted") == 0)
            return json_elem(conditions, i);
    }
    return NULL;
}

/* Everything the spec asks of a parent is what the gateway says it answered for. */
static bool is_same_parent(struct json_object *parent, struct json_object *status)
{
    struct json_object *ref = json_at(status, "parentRef", NULL);

    return ref && json_same(parent, ref);
}

enum verdict httproute_settled(struct tick *tick, const struct httproute_version *version)
{
    struct json_object *live;

    if (!need_route(tick, version, &live))
        return VERDICT_NEED_FACTS;
    int64_t generation = json_int_at(live, 0, "metadata", "generation", NULL);
    struct json_object *parents = json_at(live, "spec", "parentRefs", NULL);
    struct json_object *statuses = json_at(live, "status", "parents", NULL);
    for (size_t i = 0; i < json_len(parents); i++) {
        for (size_t j = 0; j < json_len(statuses); j++) {
            struct json_object *parent = json_elem(parents, i);
            struct json_object *accepted = accepted_condition(json_elem(statuses, j));
            const char *status = json_str_at(accepted, "status", NULL);
            int64_t observed = json_int_at(accepted, 0, "observedGeneration", NULL);
            if (!accepted || !is_same_parent(parent, json_elem(statuses, j)))
                continue;
            if (status && strcmp(status, "True") == 0 && observed >= generation)
                continue;
            return plan_stop(
                tick,
                "HTTPRoute %s.%s parent %s is not ready (status: %s, observed generation: %lld, "
                "current generation: %lld)",
                tick->canary->service.name, tick->canary->namespace_,
                json_str_at(parent, "name", NULL), status ? status : "", (long long)observed,
                (long long)generation);
        }
    }
    return VERDICT_GO;
}

enum verdict httproute_set(struct tick *tick, const struct httproute_version *version,
                           const struct weights *weights)
{
    const struct canary *canary = tick->canary;
    struct json_object *live;

    if (!need_route(tick, version, &live))
        return VERDICT_NEED_FACTS;
    struct json_object *to = json_copy(tick->arena, live);
    struct json_object *rule = weighted_rule(canary, to);
    if (!rule)
        return plan_stop(tick, "HTTPRoute %s.%s has no rule with the backends %s and %s",
                         canary->service.name, canary->namespace_, canary->service.primary_name,
                         canary->service.canary_name);
    json_set_int(backend_named(rule, canary->service.primary_name), "weight", weights->primary);
    json_set_int(backend_named(rule, canary->service.canary_name), "weight", weights->canary);
    if (plan_update(tick, version->resource, live, to))
        plan_why(tick, "weights %d/%d", weights->primary, weights->canary);
    return VERDICT_GO;
}

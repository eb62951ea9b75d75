#include "router/common_httproute.h"

#include <string.h>

#include "tick/edit.h"

const struct httproute_version *httproute_version_of(const struct tick *tick)
{
    return router_find(tick->provider)->route->more;
}

const char *httproute_check(struct arena *arena, const struct canary *canary,
                            const struct httproute_version *version)
{
    const char *why;

    if (json_len(canary->service.gateway_refs) == 0)
        return "spec.service.gatewayRefs: must be specified when using Gateway API as a provider";
    if (canary->service.port <= 0)
        return "spec.service.port: expected a port number";
    httproute_matches(arena, &canary->service, version, &why);
    if (!why && canary->analysis.match)
        httproute_test_matches(arena, canary, version, &why);
    return why;
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
    struct json_object *route = route_metadata(tick);
    struct json_object *hosts = tick->canary->service.hosts;
    struct json_object *spec = json_sub(route, "spec");

    json_set(spec, "parentRefs", wanted_parents(tick));
    json_set(spec, "hostnames", json_len(hosts) > 0 ? hosts : NULL);
    return route;
}

enum verdict httproute_wanted(struct tick *tick, const struct weights *weights,
                              const struct split *split, struct json_object *live,
                              struct json_object **out)
{
    (void)live;
    *out = httproute_frame(tick);
    json_set(json_sub(*out, "spec"), "rules",
             httproute_wanted_rules(tick, httproute_version_of(tick), weights, split));
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

enum verdict httproute_settled(struct tick *tick, const char **why)
{
    const struct kube_resource *resource = httproute_version_of(tick)->resource;
    struct json_object *live;

    if (!route_need(tick, &live))
        return VERDICT_NEED_FACTS;
    int64_t generation =
        json_int_at(live, 0, "metadata", "generation", NULL) +
        plan_writes(tick, resource, tick->canary->namespace_, tick->canary->service.name);
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
            *why = arena_printf(
                tick->arena,
                "%s %s.%s parent %s is not ready (status: %s, observed generation: %lld, "
                "current generation: %lld)",
                resource->kind, tick->canary->service.name, tick->canary->namespace_,
                json_str_at(parent, "name", NULL), status ? status : "", (long long)observed,
                (long long)generation);
            return VERDICT_STOP;
        }
    }
    return VERDICT_GO;
}

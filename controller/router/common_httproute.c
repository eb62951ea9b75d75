#include "router/common_httproute.h"

#include <string.h>

#include "tick/applied.h"
#include "tick/edit.h"

const char *httproute_check(struct arena *arena, const struct canary *canary)
{
    const char *why;

    if (json_len(canary->service.gateway_refs) == 0)
        return "spec.service.gatewayRefs: must be specified when using Gateway API as a provider";
    if (canary->service.port <= 0)
        return "spec.service.port: expected a port number";
    httproute_matches(arena, &canary->service, &why);
    if (!why && canary->analysis.match)
        httproute_test_matches(arena, canary, &why);
    return why;
}

static bool need_route(struct tick *tick, const struct httproute_version *version,
                       struct json_object **out)
{
    return need_object(tick, version->resource, tick->canary->namespace_,
                       tick->canary->service.name, out);
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
    static const char *const maps[] = {"labels", "annotations"};
    struct json_object *route = edit_object(tick->arena);
    struct json_object *apex = tick->canary->service.apex;
    struct json_object *hosts = tick->canary->service.hosts;
    struct json_object *spec = json_sub(route, "spec");

    for (int i = 0; i < 2; i++)
        json_set(json_sub(route, "metadata"), maps[i],
                 edit_without_toolkit(tick->arena, json_at(apex, maps[i], NULL)));
    json_set(spec, "parentRefs", wanted_parents(tick));
    json_set(spec, "hostnames", json_len(hosts) > 0 ? hosts : NULL);
    return route;
}

/* `live`, or a new route, as the spec wants it. */
static struct json_object *wanted_route(struct tick *tick, const struct httproute_version *version,
                                        const struct weights *weights, struct json_object *live)
{
    struct json_object *base = live ? json_copy(tick->arena, live)
                                    : edit_new(tick, version->resource, tick->canary->service.name);
    struct json_object *wanted = httproute_frame(tick);

    json_set(json_sub(wanted, "spec"), "rules",
             httproute_wanted_rules(tick, version, weights, live));
    edit_disown_toolkit(json_sub(json_sub(base, "metadata"), "annotations"));
    return applied_lay(tick->arena, live, base, wanted);
}

/* "weights 90/10", and what else is routed */
static const char *describe(struct tick *tick, const struct weights *weights)
{
    return arena_printf(tick->arena, "weights %d/%d%s%s", weights->primary, weights->canary,
                        weights->mirrored ? " mirrored" : "",
                        weights->matched ? " of the matched" : "");
}

/*
 * What is routed now and is to stay. A route that lost its split while the canary serves everything
 * gets it back at once: the primary may be broken. Cookies that are missing are those of the
 * status.
 */
static struct weights kept_weights(struct tick *tick, struct json_object *live)
{
    const struct canary *canary = tick->canary;
    const struct canary_status *status = &canary->status;
    struct weights weights = httproute_weights(tick->arena, canary, live);
    struct cookies *cookies = &weights.cookies;
    bool was_all = weights.canary == 100 && !weights.matched;

    if (!httproute_rules(canary, live).split && status->canary_weight == 100) {
        weights = (struct weights){.canary = 100};
        was_all = status->serves_everything || status->phase == PHASE_Failed;
    }
    /* The share of few must not become one of all when `match` is taken out of the spec. */
    if (weights.matched && !canary->analysis.match)
        weights = (struct weights){.primary = 100, .mirrored = weights.mirrored};
    weights.matched = canary->analysis.match && !was_all;
    if (weights.canary > 0 && !cookies->canary)
        cookies->canary = status->affinity_cookie;
    if (weights.canary == 0 && !cookies->previous)
        cookies->previous =
            status->affinity_cookie ? status->affinity_cookie : status->previous_affinity_cookie;
    if (weights.canary > 0 && weights.canary < 100 && !cookies->primary)
        cookies->primary = status->primary_affinity_cookie;
    if (!canary->analysis.affinity.primary_cookie_name || weights.canary == 100)
        cookies->primary = NULL;
    return weights;
}

enum verdict httproute_reconcile(struct tick *tick, const struct httproute_version *version)
{
    struct json_object *live;

    if (!need_route(tick, version, &live))
        return VERDICT_NEED_FACTS;
    struct weights weights = kept_weights(tick, live);
    struct json_object *wanted = wanted_route(tick, version, &weights, live);
    if (!live) {
        plan_create(tick, version->resource, tick->canary->namespace_, wanted);
        plan_why(tick, "%s", describe(tick, &weights));
    } else if (plan_update(tick, version->resource, live, wanted)) {
        plan_why(tick, "as the spec says, %s", describe(tick, &weights));
    }
    return VERDICT_GO;
}

enum verdict httproute_get(struct tick *tick, const struct httproute_version *version,
                           struct weights *out)
{
    struct json_object *live;

    if (!need_route(tick, version, &live))
        return VERDICT_NEED_FACTS;
    *out = httproute_weights(tick->arena, tick->canary, live);
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

enum verdict httproute_settled(struct tick *tick, const struct httproute_version *version,
                               const char **why)
{
    struct json_object *live;

    if (!need_route(tick, version, &live))
        return VERDICT_NEED_FACTS;
    int64_t generation =
        json_int_at(live, 0, "metadata", "generation", NULL) +
        plan_writes(tick, version->resource, tick->canary->namespace_, tick->canary->service.name);
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
                "HTTPRoute %s.%s parent %s is not ready (status: %s, observed generation: %lld, "
                "current generation: %lld)",
                tick->canary->service.name, tick->canary->namespace_,
                json_str_at(parent, "name", NULL), status ? status : "", (long long)observed,
                (long long)generation);
            return VERDICT_STOP;
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
    if (!httproute_rules(canary, live).split)
        return plan_stop(tick, "HTTPRoute %s.%s has no rule with the backends %s and %s",
                         canary->service.name, canary->namespace_, canary->service.primary_name,
                         canary->service.canary_name);
    if (plan_update(tick, version->resource, live, wanted_route(tick, version, weights, live)))
        plan_why(tick, "%s", describe(tick, weights));
    return VERDICT_GO;
}

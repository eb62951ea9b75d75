/* The rules of a route, as the spec and what is to be routed want them (common_route.h has which),
 * each paired with the live one that it is laid over. */
#include "router/common_httproute.h"
#include "tick/edit.h"

struct json_object *httproute_backend(struct tick *tick, const char *name, int weight)
{
    struct json_object *ref = edit_object(tick->arena);

    json_set_str(ref, "group", "");
    json_set_str(ref, "kind", "Service");
    json_set_str(ref, "name", name);
    json_set_int(ref, "port", tick->canary->service.port);
    json_set_int(ref, "weight", weight);
    json_set(ref, "filters", NULL);
    return ref;
}

/* cookie NULL: its answers carry none. */
static struct json_object *backend(struct tick *tick, const char *name, int weight,
                                   const char *cookie)
{
    struct json_object *ref = httproute_backend(tick, name, weight);
    struct json_object *filters = edit_array(tick->arena);

    if (!cookie)
        return ref;
    struct json_object *filter = edit_object(tick->arena);
    struct json_object *header = edit_object(tick->arena);
    struct json_object *added = edit_array(tick->arena);
    json_set_str(filter, "type", "ResponseHeaderModifier");
    json_set(json_sub(filter, "responseHeaderModifier"), "add", added);
    json_set_str(header, "name", "Set-Cookie");
    json_set_str(header, "value", cookie);
    edit_add(added, header);
    edit_add(filters, filter);
    json_set(ref, "filters", filters);
    return ref;
}

/*
 * A copy of the requests for the canary. An API server that does not know `percent` drops it;
 * asking again and again would change nothing, so that a filter without it is left as it is.
 */
static struct json_object *mirrored_filters(struct tick *tick,
                                            const struct httproute_version *version,
                                            const struct route_rule *rule)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *filters = httproute_filters(tick->arena, service, version);
    struct json_object *old = httproute_mirror(tick->canary, rule->live);
    int percent = HTTPROUTE_MIRROR_PERCENT(tick->canary);

    if (!rule->mirrored)
        return filters;
    if (!filters)
        filters = edit_array(tick->arena);
    struct json_object *filter = edit_object(tick->arena);
    struct json_object *mirror = json_sub(filter, "requestMirror");
    struct json_object *ref = json_sub(mirror, "backendRef");
    json_set_str(filter, "type", "RequestMirror");
    json_set_str(ref, "group", "");
    json_set_str(ref, "kind", "Service");
    json_set_str(ref, "name", service->canary_name);
    json_set_int(ref, "port", service->port);
    json_set(mirror, "percent", NULL);
    if (percent > 0 && (!old || json_at(old, "percent", NULL)))
        json_set_int(mirror, "percent", percent);
    edit_add(filters, filter);
    return filters;
}

static struct json_object *rule_matches(struct tick *tick, const struct httproute_version *version,
                                        const struct route_rule *rule)
{
    const struct canary *canary = tick->canary;
    const char *why;

    if (rule->cookie)
        return httproute_cookie_matches(tick->arena, &canary->service, version, rule->cookie);
    return rule->matched ? httproute_test_matches(tick->arena, canary, version, &why)
                         : httproute_matches(tick->arena, &canary->service, version, &why);
}

static struct json_object *wanted_rule(struct tick *tick, const struct httproute_version *version,
                                       const struct route_rule *rule)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *out = edit_object(tick->arena);
    struct json_object *backends = edit_array(tick->arena);

    json_set(out, "matches", rule_matches(tick, version, rule));
    json_set(out, "filters", mirrored_filters(tick, version, rule));
    if (version->rich)
        json_set(out, "timeouts", httproute_timeouts(tick->arena, service));
    edit_add(backends, backend(tick, service->primary_name, rule->primary, rule->primary_cookie));
    if (rule->canary >= 0)
        edit_add(backends, backend(tick, service->canary_name, rule->canary, rule->canary_cookie));
    json_set(out, "backendRefs", backends);
    edit_pair(out, rule->live);
    return out;
}

struct json_object *httproute_wanted_rules(struct tick *tick,
                                           const struct httproute_version *version,
                                           const struct weights *weights, const struct split *live)
{
    struct route_rule rules[ROUTE_MAX_RULES];
    int count = route_rules(tick, weights, live, rules);
    struct json_object *out = edit_array(tick->arena);

    for (int i = 0; i < count; i++)
        edit_add(out, wanted_rule(tick, version, &rules[i]));
    return out;
}

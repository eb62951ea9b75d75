/*
 * The rules of a route, as the spec and what is to be routed want them, each paired with the live
 * one that it is laid over. In this order, of which the Gateway API takes the first that holds
 * where several are as special:
 *
 *   who has the canary's cookie              to the canary
 *   who has the primary's cookie             to the primary
 *   who has the last release's cookie        to the primary, and the cookie is taken back
 *   every request, in an A/B test the matched ones     split by weight; cookies are given
 *   in an A/B test all others                to the primary
 */
#include "router/common_httproute.h"
#include "tick/edit.h"

/* Attributes in the order of their names, as Flagger has them. */
static const char *set_cookie(struct tick *tick, const char *cookie, const char *max_age)
{
    const struct canary_affinity *affinity = &tick->canary->analysis.affinity;
    const struct {
        const char *name, *value;
        bool is_set;
    } attributes[] = {
        {"; Domain=", affinity->domain, affinity->domain},
        {"; HttpOnly", "", affinity->http_only},
        {"; Partitioned", "", affinity->partitioned},
        {"; Path=", affinity->path, affinity->path},
        {"; SameSite=", affinity->same_site, affinity->same_site},
        {"; Secure", "", affinity->secure},
    };
    const char *text = arena_printf(tick->arena, "%s; %s", cookie, max_age);

    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        if (attributes[i].is_set)
            text =
                arena_printf(tick->arena, "%s%s%s", text, attributes[i].name, attributes[i].value);
    }
    return text;
}

static const char *max_age(struct tick *tick, int64_t seconds)
{
    return arena_printf(tick->arena, "Max-Age=%lld", (long long)seconds);
}

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

/* cookie NULL: the backend gives none. */
static struct json_object *backend(struct tick *tick, const char *name, int weight,
                                   const char *cookie, const char *age)
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
    json_set_str(header, "value", set_cookie(tick, cookie, age));
    edit_add(added, header);
    edit_add(filters, filter);
    json_set(ref, "filters", filters);
    return ref;
}

/* One rule with what all have in common, laid over `live` (may be NULL). */
static void add_rule(struct tick *tick, const struct httproute_version *version,
                     struct json_object *rules, struct json_object *live,
                     struct json_object *matches, struct json_object *filters,
                     struct json_object *primary, struct json_object *canary)
{
    struct json_object *rule = edit_object(tick->arena);
    struct json_object *backends = edit_array(tick->arena);

    json_set(rule, "matches", matches);
    json_set(rule, "filters", filters);
    if (version->rich)
        json_set(rule, "timeouts", httproute_timeouts(tick->arena, &tick->canary->service));
    edit_add(backends, primary);
    if (canary)
        edit_add(backends, canary);
    json_set(rule, "backendRefs", backends);
    edit_pair(rule, live);
    edit_add(rules, rule);
}

static void add_sticky(struct tick *tick, const struct httproute_version *version,
                       const struct weights *weights, const struct httproute_rules *live,
                       struct json_object *rules)
{
    const struct canary_service *service = &tick->canary->service;
    const struct cookies *cookies = &weights->cookies;
    const struct {
        const char *cookie;
        int canary;
        bool taken_back;
    } wanted[] = {
        {weights->canary > 0 ? cookies->canary : NULL, 100, false},
        {weights->canary > 0 ? cookies->primary : NULL, 0, false},
        {weights->canary == 0 ? cookies->previous : NULL, 0, true},
    };
    size_t n = 0;

    if (!tick->canary->analysis.affinity.cookie_name)
        return;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const char *back = wanted[i].taken_back ? wanted[i].cookie : NULL;
        if (!wanted[i].cookie)
            continue;
        add_rule(
            tick, version, rules, n < 2 ? live->sticky[n] : NULL,
            httproute_cookie_matches(tick->arena, service, wanted[i].cookie),
            httproute_filters(tick->arena, service, version->rich),
            backend(tick, service->primary_name, 100 - wanted[i].canary, back, HTTPROUTE_TAKE_BACK),
            backend(tick, service->canary_name, wanted[i].canary, NULL, NULL));
        n++;
    }
}

/*
 * A copy of the requests for the canary. An API server that does not know `percent` drops it;
 * asking again and again would change nothing, so that a filter without it is left as it is.
 */
static struct json_object *mirrored_filters(struct tick *tick,
                                            const struct httproute_version *version,
                                            const struct weights *weights, struct json_object *live)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *filters = httproute_filters(tick->arena, service, version->rich);
    struct json_object *old = httproute_mirror(tick->canary, live);
    int percent = HTTPROUTE_MIRROR_PERCENT(tick->canary);

    if (!weights->mirrored)
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

struct json_object *httproute_wanted_rules(struct tick *tick,
                                           const struct httproute_version *version,
                                           const struct weights *weights, struct json_object *route)
{
    const struct canary *canary = tick->canary;
    const struct canary_service *service = &canary->service;
    const struct cookies *cookies = &weights->cookies;
    struct httproute_rules live = httproute_rules(canary, route);
    struct json_object *rules = edit_array(tick->arena);
    const char *why;
    bool binds = canary->analysis.affinity.cookie_name && weights->canary > 0;

    add_sticky(tick, version, weights, &live, rules);
    add_rule(tick, version, rules, live.split,
             weights->matched ? httproute_test_matches(tick->arena, canary, &why)
                              : httproute_matches(tick->arena, service, &why),
             mirrored_filters(tick, version, weights, live.split),
             backend(tick, service->primary_name, weights->primary, binds ? cookies->primary : NULL,
                     max_age(tick, tick_interval_ms(tick) / 1000)),
             backend(tick, service->canary_name, weights->canary, binds ? cookies->canary : NULL,
                     max_age(tick, canary->analysis.affinity.max_age_s)));
    if (weights->matched)
        add_rule(tick, version, rules, live.rest, httproute_matches(tick->arena, service, &why),
                 httproute_filters(tick->arena, service, version->rich),
                 backend(tick, service->primary_name, 100, NULL, NULL), NULL);
    return rules;
}

/*
 * Contour: an HTTPProxy, which the user's root proxy includes (router/OBJECTS.md).
 */
#include <string.h>

#include "router/router.h"
#include "router/shared/route.h"
#include "router/shared/route_refs.h"
#include "tick/edit.h"
#include "tick/plan.h"

static const struct kube_resource http_proxies = {.group = "projectcontour.io",
                                                  .version = "v1",
                                                  .plural = "httpproxies",
                                                  .kind = "HTTPProxy",
                                                  .meshed = true};

/* In an A/B test the route for all other requests also has both sides; it comes after the routes
 * that split. */
static const struct split_format *contour_format(const struct canary *canary)
{
    static const struct split_format format = {
        .rules = {"spec", "routes"}, .backends = {"services"}, .name = {"name"}, .first = true};

    (void)canary;
    return &format;
}

/* --- conditions */

static struct json_object *condition(struct arena *arena, const char *kind)
{
    struct json_object *out = edit_object(arena);

    edit_pair(out, NULL);
    return kind ? json_sub(out, kind) : out;
}

/* The conditions of a StringMatch and their names in Contour. Headers have no prefix and suffix
 * conditions, so these become "contains", as in Flagger. */
struct word {
    const char *ours, *theirs;
};
static const struct word header_words[] = {
    {"exact", "exact"}, {"regex", "regex"}, {"prefix", "contains"}, {"suffix", "contains"}};
static const struct word query_words[] = {
    {"exact", "exact"}, {"regex", "regex"}, {"prefix", "prefix"}, {"suffix", "suffix"}};
enum { WORDS = sizeof(header_words) / sizeof(header_words[0]) };

static void add_field(struct arena *arena, struct json_object *conditions, const char *kind,
                      const char *name, struct json_object *match, const struct word words[WORDS])
{
    struct json_object *out = edit_object(arena);
    struct json_object *field = json_sub(out, kind);

    json_set_str(field, "name", name);
    for (int i = 0; i < WORDS; i++) {
        const char *text = json_str_at(match, words[i].ours, NULL);
        if (text && *text)
            json_set_str(field, words[i].theirs, text);
    }
    if (json_object_object_length(field) == 1)
        json_set_bool(field, "present", true);
    edit_pair(out, NULL);
    edit_add(conditions, out);
}

static void add_fields(struct arena *arena, struct json_object *conditions, const char *kind,
                       struct json_object *map, const struct word words[WORDS])
{
    size_t count;
    const char **keys = edit_keys(arena, map, &count);

    for (size_t i = 0; i < count; i++)
        add_field(arena, conditions, kind, keys[i], json_at(map, keys[i], NULL), words);
}

/* The path goes into the first condition, since a route may have only one. */
static void set_path(struct arena *arena, struct json_object *conditions,
                     struct json_object *service_match)
{
    static const char *const kinds[] = {"prefix", "exact", "regex"};
    struct json_object *uri = json_at(service_match, "uri", NULL);
    struct json_object *first = json_elem(conditions, 0);

    if (!first) {
        first = condition(arena, NULL);
        edit_add(conditions, first);
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *text = json_str_at(uri, kinds[i], NULL);
        if (text && *text) {
            json_set_str(first, kinds[i], text);
            return;
        }
    }
    json_set_str(first, "prefix", "/");
}

/* All of them must match. special: an element of spec.analysis.match, or NULL. */
static struct json_object *conditions(struct arena *arena, const struct canary *canary,
                                      struct json_object *special)
{
    struct json_object *match = json_elem(json_at(canary->service.json, "match", NULL), 0);
    struct json_object *out = edit_array(arena);

    add_fields(arena, out, "header", json_at(special, "headers", NULL), header_words);
    add_fields(arena, out, "queryParameter", json_at(special, "queryParams", NULL), query_words);
    add_fields(arena, out, "header", json_at(match, "headers", NULL), header_words);
    add_fields(arena, out, "queryParameter", json_at(match, "queryParams", NULL), query_words);
    set_path(arena, out, match);
    return out;
}

/* --- checks of a spec */

static const char *check_map(struct arena *arena, struct json_object *map, const char *at)
{
    size_t count;
    const char **keys = edit_keys(arena, map, &count);

    for (size_t i = 0; i < count; i++) {
        const char *regex = json_str_at(map, keys[i], "regex", NULL);
        const char *mistake = regex ? regex_mistake(arena, regex) : NULL;
        if (mistake)
            return arena_printf(arena, "%s.%s.regex: %s, in \"%s\"", at, keys[i], mistake, regex);
    }
    return NULL;
}

static const char *check_match(struct arena *arena, struct json_object *match, const char *at)
{
    static const char *const maps[] = {"headers", "queryParams"};
    static const char *const unknown[] = {"method",       "authority",       "withoutHeaders",
                                          "sourceLabels", "sourceNamespace", "scheme"};
    const char *regex = json_str_at(match, "uri", "regex", NULL);
    const char *mistake = regex ? regex_mistake(arena, regex) : NULL;

    if (mistake)
        return arena_printf(arena, "%s.uri.regex: %s, in \"%s\"", at, mistake, regex);
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        if (json_at(match, unknown[i], NULL))
            return arena_printf(arena,
                                "%s.%s: Contour matches uri, headers and queryParams only; istio "
                                "can match it",
                                at, unknown[i]);
    }
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]) && !mistake; i++)
        mistake = check_map(arena, json_at(match, maps[i], NULL),
                            arena_printf(arena, "%s.%s", at, maps[i]));
    return mistake;
}

static const char *contour_check(struct arena *arena, const struct canary *canary)
{
    struct json_object *service = json_at(canary->service.json, "match", NULL);
    struct json_object *tests = canary->analysis.match;
    const char *why = route_check(arena, canary);

    if (!why && json_len(service) > 1)
        why = "spec.service.match: a route of Contour takes one element; istio and gatewayapi:v1 "
              "take several";
    if (!why)
        why = check_match(arena, json_elem(service, 0), "spec.service.match[0]");
    for (size_t i = 0; i < json_len(tests) && !why; i++) {
        struct json_object *test = json_elem(tests, i);
        const char *at = arena_printf(arena, "%s[%zu]", canary->analysis.match_at, i);
        why = check_match(arena, test, at);
        if (!why && !json_at(test, "headers", NULL) && !json_at(test, "queryParams", NULL))
            why = arena_printf(arena, "%s: expected headers or queryParams", at);
    }
    return why;
}

static const char *contour_ignored(struct arena *arena, const struct canary *canary)
{
    static const char *const keys[] = {"rewrite",        "headers",       "corsPolicy", "mirror",
                                       "backendTimeout", "trafficPolicy", NULL};
    static const char *const match_keys[] = {"ignoreUriCase", "port", "gateways", NULL};

    return ignored_of_service(arena, canary, keys, match_keys);
}

/* A weight of 0 is Contour's default, so it is left out. The header is for Linkerd behind
 * Contour. */
static struct json_object *service_of(struct tick *tick, const char *name, int weight)
{
    int port = tick_route_port(tick);
    struct json_object *out = edit_object(tick->arena);
    struct json_object *headers = edit_array(tick->arena);
    struct json_object *header = edit_object(tick->arena);

    json_set_str(header, "name", "l5d-dst-override");
    json_set_str(header, "value",
                 arena_printf(tick->arena, "%s.%s.svc.cluster.local:%d", name,
                              tick->canary->namespace_, port));
    edit_add(headers, header);
    json_set_str(out, "name", name);
    json_set_int(out, "port", port);
    json_set(out, "weight", weight > 0 ? json_own(tick->arena, json_object_new_int(weight)) : NULL);
    json_set(json_sub(out, "requestHeadersPolicy"), "set", headers);
    return out;
}

static struct json_object *timeouts(struct arena *arena, struct json_object *service)
{
    const char *timeout = json_str_at(service, "timeout", NULL);

    if (!timeout || !*timeout)
        return NULL;
    struct json_object *out = edit_object(arena);
    json_set_str(out, "response", timeout);
    json_set_str(out, "idle", "5m");
    return out;
}

/* (If there is no value, Flagger writes an empty one, which Contour's schema rejects.) */
static struct json_object *retries(struct arena *arena, struct json_object *service)
{
    struct json_object *given = json_at(service, "retries", NULL);
    const char *per_try = json_str_at(given, "perTryTimeout", NULL);
    const char *on = json_str_at(given, "retryOn", NULL);
    struct json_object *out = edit_object(arena);
    struct json_object *words = edit_array(arena);

    if (!given)
        return NULL;
    json_set_int(out, "count", json_int_at(given, 0, "attempts", NULL));
    json_set(out, "perTryTimeout", NULL);
    if (per_try && *per_try)
        json_set_str(out, "perTryTimeout", per_try);
    while (on && *on) {
        size_t blank = strspn(on, ", "), len = strcspn(on + blank, ", ");
        if (len > 0)
            edit_add(words, json_own(arena, json_object_new_string_len(on + blank, (int)len)));
        on += blank + len;
    }
    json_set(out, "retryOn", json_len(words) > 0 ? words : NULL);
    return out;
}

/* canary -1: everything goes to the apex Service. */
static void add_route(struct tick *tick, struct json_object *routes, struct json_object *live,
                      struct json_object *special, int primary, int canary)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *out = edit_object(tick->arena);
    struct json_object *services = edit_array(tick->arena);

    json_set(out, "conditions", conditions(tick->arena, tick->canary, special));
    json_set(out, "timeoutPolicy", timeouts(tick->arena, service->json));
    json_set(out, "retryPolicy", retries(tick->arena, service->json));
    edit_add(services,
             service_of(tick, canary < 0 ? service->name : service->primary_name, primary));
    if (canary >= 0)
        edit_add(services, service_of(tick, service->canary_name, canary));
    json_set(out, "services", services);
    edit_pair(out, live);
    edit_add(routes, out);
}

static struct json_object *with_routes(struct tick *tick, struct json_object *routes)
{
    struct json_object *out = route_metadata(tick);
    const char *class = tick->settings->ingress_class;

    json_set(json_sub(out, "spec"), "routes", routes);
    if (class && *class)
        json_set_str(json_sub(out, "spec"), "ingressClassName", class);
    return out;
}

/* All conditions of a route must match, so each element of an A/B test gets its own route. */
static enum rule_result wanted(struct tick *tick, const struct weights *weights,
                               const struct split *split, struct json_object *live,
                               struct json_object **out)
{
    struct json_object *tests = weights->matched ? tick->canary->analysis.match : NULL;
    struct json_object *routes = edit_array(tick->arena);
    struct json_object *old = json_at(live, "spec", "routes", NULL);

    if (!tests)
        add_route(tick, routes, split->split, NULL, weight_relative(weights->primary),
                  weight_relative(weights->canary));
    for (size_t i = 0; i < json_len(tests); i++)
        add_route(tick, routes, i == 0 ? split->split : json_elem(old, i), json_elem(tests, i),
                  weight_relative(weights->primary), weight_relative(weights->canary));
    if (tests)
        add_route(tick, routes, split->rest, NULL, 100, 0);
    *out = with_routes(tick, routes);
    return RULE_CONTINUE;
}

static enum rule_result plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    struct json_object *routes = edit_array(tick->arena);

    add_route(tick, routes, json_elem(json_at(live, "spec", "routes", NULL), 0), NULL, 100, -1);
    *out = with_routes(tick, routes);
    return RULE_CONTINUE;
}

static const struct route route = {.resource = &http_proxies,
                                   .format = contour_format,
                                   .wanted = wanted,
                                   .plain = plain,
                                   .introduces = true};

/* Contour reports whether the proxy is valid. A proxy that no root proxy includes yet is not
 * judged. */
static enum rule_result proxy_settled(struct tick *tick, const struct kube_resource *resource,
                                      struct json_object *live, const char **why)
{
    const char *status = json_str_at(live, "status", "currentStatus", NULL);
    const char *said = json_str_at(live, "status", "description", NULL);
    const char *name = json_str_at(live, "metadata", "name", NULL);

    if (!status || strcmp(status, "invalid") != 0 ||
        plan_writes(tick, resource, tick->canary->namespace_, name))
        return RULE_CONTINUE;
    *why = arena_printf(tick->arena, "HTTPProxy %s.%s is invalid: %s", name,
                        tick->canary->namespace_, said ? said : "Contour does not say why");
    return RULE_DONE;
}

static enum rule_result contour_settled(struct tick *tick, const char **why)
{
    struct json_object *live;

    if (!route_need(tick, &live))
        return RULE_NEEDS_FACTS;
    return proxy_settled(tick, &http_proxies, live, why);
}

static const char *const providers[] = {"contour", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &http_proxies, NULL};

/* --- routes of the user */

/* A service of a route. A service that gets copies of requests has no share. */
static const char *ref_service(struct arena *arena, const struct canary *canary,
                               struct json_object *backend)
{
    (void)arena;
    (void)canary;
    return json_object_get_boolean(json_at(backend, "mirror", NULL))
               ? NULL
               : json_str_at(backend, "name", NULL);
}

static const struct route_refs_kind ref_proxies = {.resource = &http_proxies,
                                                   .rules = "routes",
                                                   .backends = "services",
                                                   .missing = 0,
                                                   .unnamed = true,
                                                   .service = ref_service,
                                                   .settled = proxy_settled};
static const struct route_refs_kind *const ref_kinds[] = {&ref_proxies, NULL};
static const struct router refs;

static const char *refs_check(struct arena *arena, const struct canary *canary)
{
    return route_refs_check(arena, canary, &refs);
}

static const struct router refs = {
    .providers = providers,
    .about = "Contour, routes of the user",
    .resources = resources,
    .ref_kinds = ref_kinds,
    .metric_family = "contour",
    .check = refs_check,
    ROUTE_REFS_ROUTER,
};

/* Through root proxies, in any namespace. */
static bool led_to(struct json_object *object)
{
    (void)object;
    return true;
}

const struct router router_contour = {
    .refs = &refs,
    .led_to = led_to,
    .providers = providers,
    .about = "Contour, HTTPProxy",
    .resources = resources,
    .metric_family = "contour",
    .route = &route,
    .weighted = true,
    .finest = 1,
    .matches = true,
    .check = contour_check,
    .ignored = contour_ignored,
    .reconcile = route_reconcile,
    .get = route_get,
    .settled = contour_settled,
    .set = route_set,
    .revert = route_revert,
    .disown = route_disown,
};

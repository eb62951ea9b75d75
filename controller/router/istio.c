/*
 * Istio: a VirtualService with the name of the apex Service, and a DestinationRule for each side
 * (router/OBJECTS.md).
 */
#include <string.h>
#include <strings.h>

#include "router/router.h"
#include "router/shared/route.h"
#include "router/shared/route_refs.h"
#include "tick/edit.h"
#include "tick/need.h"

/* All versions have the same schema; the newest is tried first. Each kind has its own table, since
 * a cluster may serve them in different versions. */
#define ALSO                                                                                       \
    {                                                                                              \
        {"networking.istio.io", "v1beta1"}, {"networking.istio.io", "v1alpha3"},                   \
        {                                                                                          \
            NULL, NULL                                                                             \
        }                                                                                          \
    }
static const struct kube_version also_virtual[] = ALSO, also_rules[] = ALSO;
static const struct kube_resource virtual_services = {.group = "networking.istio.io",
                                                      .version = "v1",
                                                      .plural = "virtualservices",
                                                      .kind = "VirtualService",
                                                      .also = also_virtual,
                                                      .meshed = true};
static const struct kube_resource destination_rules = {.group = "networking.istio.io",
                                                       .version = "v1",
                                                       .plural = "destinationrules",
                                                       .kind = "DestinationRule",
                                                       .also = also_rules,
                                                       .meshed = true};

static const char *const *istio_names(struct arena *arena, const struct canary *canary,
                                      const struct kube_resource *resource)
{
    const char **names = arena_array(arena, 3, sizeof *names);
    bool sides = kube_resource_same(resource, &destination_rules);

    names[0] = sides ? canary->service.canary_name : canary->service.name;
    names[1] = sides ? canary->service.primary_name : NULL;
    names[2] = NULL;
    return names;
}

static bool istio_is_tcp(const struct canary *canary)
{
    return canary->service.app_protocol && strcasecmp(canary->service.app_protocol, "tcp") == 0;
}

/* --- matches */

/* --- mistakes in matches */

/* A StringMatch. */
static const char *text_mistake(struct arena *arena, struct json_object *match, const char *at)
{
    const char *regex = json_str_at(match, "regex", NULL);
    const char *mistake = regex ? regex_mistake(arena, regex) : NULL;

    if (mistake)
        return arena_printf(arena, "%s.regex: %s, in \"%s\"", at, mistake, regex);
    if (json_at(match, "suffix", NULL))
        return arena_printf(arena,
                            "%s.suffix: Istio matches exact, prefix or regex; appmesh:v1beta2 and "
                            "contour match suffixes",
                            at);
    return NULL;
}

static const char *map_mistake(struct arena *arena, struct json_object *map, const char *at)
{
    size_t count;
    const char **keys = edit_keys(arena, map, &count);
    const char *why = NULL;

    for (size_t i = 0; i < count && !why; i++)
        why = text_mistake(arena, json_at(map, keys[i], NULL),
                           arena_printf(arena, "%s.%s", at, keys[i]));
    return why;
}

static const char *list_mistake(struct arena *arena, struct json_object *list, const char *name)
{
    static const char *const texts[] = {"uri", "method", "authority", "scheme"};
    static const char *const maps[] = {"headers", "withoutHeaders", "queryParams"};
    const char *why = NULL;

    for (size_t i = 0; i < json_len(list) && !why; i++) {
        const char *at = arena_printf(arena, "%s[%zu]", name, i);
        struct json_object *match = json_elem(list, i);
        for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]) && !why; k++)
            why = text_mistake(arena, json_at(match, texts[k], NULL),
                               arena_printf(arena, "%s.%s", at, texts[k]));
        for (size_t k = 0; k < sizeof(maps) / sizeof(maps[0]) && !why; k++)
            why = map_mistake(arena, json_at(match, maps[k], NULL),
                              arena_printf(arena, "%s.%s", at, maps[k]));
    }
    return why;
}

/* An empty match would match every request. */
static const char *empty_mistake(struct arena *arena, struct json_object *list, const char *at)
{
    for (size_t i = 0; i < json_len(list); i++) {
        if (json_object_object_length(json_elem(list, i)) == 0)
            return arena_printf(arena, "%s[%zu]: expected headers, queryParams or sourceLabels", at,
                                i);
    }
    return NULL;
}

static const char *istio_match_mistake(struct arena *arena, const struct canary *canary)
{
    struct json_object *service = json_at(canary->service.json, "match", NULL);
    const char *why = list_mistake(arena, service, "spec.service.match");

    if (!why)
        why = list_mistake(arena, canary->analysis.match, canary->analysis.match_at);
    return why ? why : empty_mistake(arena, canary->analysis.match, canary->analysis.match_at);
}

/* --- lists */

static void add_match(struct json_object *list, struct json_object *match)
{
    edit_pair(match, NULL);
    edit_add(list, match);
}

static struct json_object *istio_matches(struct arena *arena, const struct canary *canary)
{
    struct json_object *given = json_at(canary->service.json, "match", NULL);
    struct json_object *out = edit_array(arena);

    for (size_t i = 0; i < json_len(given); i++)
        add_match(out, json_copy(arena, json_elem(given, i)));
    return json_len(out) > 0 ? out : NULL;
}

static bool has_key(struct json_object *map, const char *key)
{
    if (!json_object_is_type(map, json_type_object))
        return false;
    json_object_object_foreach(map, name, ignored)
    {
        (void)ignored;
        if (strcasecmp(name, key) == 0)
            return true;
    }
    return false;
}

/* The entries of both maps; the special map takes precedence, since a request has only one value of
 * a header. */
static void join_map(struct arena *arena, struct json_object *match, struct json_object *special,
                     const char *key)
{
    struct json_object *first = json_at(special, key, NULL), *second = json_at(match, key, NULL);

    if (!first)
        return;
    struct json_object *out = json_copy(arena, first);
    if (json_object_is_type(second, json_type_object)) {
        json_object_object_foreach(second, name, value)
        {
            if (!has_key(first, name))
                json_set(out, name, value);
        }
    }
    json_set(match, key, out);
}

/* Requests that match both: the special match, and one of the service's if there are any. */
static void add_joined(struct arena *arena, const struct canary *canary, struct json_object *list,
                       struct json_object *special)
{
    static const char *const maps[] = {"headers", "queryParams", "sourceLabels"};
    struct json_object *given = json_at(canary->service.json, "match", NULL);

    if (json_len(given) == 0)
        add_match(list, json_copy(arena, special));
    for (size_t i = 0; i < json_len(given); i++) {
        struct json_object *match = json_copy(arena, json_elem(given, i));
        for (size_t k = 0; k < sizeof(maps) / sizeof(maps[0]); k++)
            join_map(arena, match, special, maps[k]);
        add_match(list, match);
    }
}

static struct json_object *istio_test_matches(struct arena *arena, const struct canary *canary)
{
    struct json_object *given = canary->analysis.match;
    struct json_object *out = edit_array(arena);

    for (size_t i = 0; i < json_len(given); i++)
        add_joined(arena, canary, out, json_elem(given, i));
    return out;
}

static struct json_object *istio_cookie_matches(struct arena *arena, const struct canary *canary,
                                                const char *cookie)
{
    struct json_object *special = edit_object(arena);
    struct json_object *out = edit_array(arena);

    json_set_str(json_sub(json_sub(special, "headers"), "Cookie"), "regex",
                 cookie_pattern(arena, cookie));
    add_joined(arena, canary, out, special);
    return out;
}

/* --- rules */

static const struct split_format http_format = {
    .rules = {"spec", "http"}, .backends = {"route"}, .name = {"destination", "host"}};
static const struct split_format tcp_format = {
    .rules = {"spec", "tcp"}, .backends = {"route"}, .name = {"destination", "host"}};

static const struct split_format *istio_format(const struct canary *canary)
{
    return istio_is_tcp(canary) ? &tcp_format : &http_format;
}

/* --- reading a live rule */

static const char *read_cookie(struct arena *arena, struct json_object *from, bool taken_back)
{
    const char *value = json_str_at(from, "headers", "response", "add", "Set-Cookie", NULL);

    return cookie_read(arena, value, taken_back);
}

static void istio_read(struct arena *arena, const struct canary *canary, const struct split *split,
                       struct weights *out)
{
    const char *mirror = json_str_at(split->split, "mirror", "host", NULL);

    out->mirrored = mirror && strcmp(mirror, canary->service.canary_name) == 0;
    out->cookies = (struct cookies){.canary = read_cookie(arena, split->canary, false),
                                    .primary = read_cookie(arena, split->primary, false),
                                    .previous = read_cookie(arena, split->sticky[0], true)};
}

/* --- destinations */

/* Within the mesh several ports of a Service share its name; at a gateway they do not. */
static bool needs_port(const struct canary *canary)
{
    struct json_object *gateways = json_at(canary->service.json, "gateways", NULL);
    struct json_object *first = json_elem(gateways, 0);

    if (!canary->service.port_discovery)
        return false;
    return json_bool_at(canary->service.json, false, "delegation", NULL) ||
           (json_object_is_type(first, json_type_string) &&
            strcmp(json_object_get_string(first), "mesh") != 0);
}

/* If cookie is NULL, its responses set none. `live`: the rule that contains it, may be NULL. */
static struct json_object *destination(struct tick *tick, const char *host, int weight,
                                       const char *cookie, struct json_object *live)
{
    struct json_object *out = edit_object(tick->arena);
    struct json_object *to = json_sub(out, "destination");

    json_set_str(to, "host", host);
    json_set(to, "subset", NULL);
    json_set(to, "port", NULL);
    if (needs_port(tick->canary))
        json_set_int(json_sub(to, "port"), "number", tick_route_port(tick));
    json_set_int(out, "weight", weight);
    json_set(out, "headers", NULL);
    if (cookie)
        json_set_str(json_sub(json_sub(json_sub(out, "headers"), "response"), "add"), "Set-Cookie",
                     cookie);
    edit_pair(out, split_backend(&http_format, live, host));
    return out;
}

static struct json_object *destinations(struct tick *tick, const struct route_rule *rule)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *out = edit_array(tick->arena);

    edit_add(out, destination(tick, service->primary_name, rule->primary,
                              rule->takes_back ? NULL : rule->primary_cookie, rule->live));
    if (rule->canary >= 0)
        edit_add(out, destination(tick, service->canary_name, rule->canary, rule->canary_cookie,
                                  rule->live));
    return out;
}

/* --- actions of a rule */

/* `given` with a null for each of the keys that it lacks: they are ours even if the spec does not
 * set them. Additions by others stay. NULL removes them all. */
static struct json_object *all_keys(struct arena *arena, struct json_object *given,
                                    const char *const keys[])
{
    if (json_count(given) == 0)
        return NULL;
    struct json_object *out = edit_object(arena);
    for (; *keys; keys++)
        json_set(out, *keys, json_copy(arena, json_at(given, *keys, NULL)));
    return out;
}

/* Empty strings count as missing. */
static struct json_object *rewrite(struct arena *arena, struct json_object *service)
{
    static const char *const keys[] = {"uri", "authority", NULL};
    struct json_object *given = json_at(service, "rewrite", NULL);
    struct json_object *out = edit_object(arena);

    for (const char *const *key = keys; *key; key++) {
        const char *text = json_str_at(given, *key, NULL);
        if (text && *text)
            json_set_str(out, *key, text);
    }
    return all_keys(arena, out, keys);
}

static struct json_object *cors_policy(struct arena *arena, struct json_object *service)
{
    static const char *const keys[] = {
        "allowOrigin",   "allowOrigins", "allowMethods",     "allowHeaders",
        "exposeHeaders", "maxAge",       "allowCredentials", NULL};
    struct json_object *out = all_keys(arena, json_at(service, "corsPolicy", NULL), keys);
    struct json_object *origins = json_at(out, "allowOrigins", NULL);

    for (size_t i = 0; i < json_len(origins); i++)
        edit_pair(json_elem(origins, i), NULL);
    return out;
}

static struct json_object *headers(struct tick *tick, const struct route_rule *rule)
{
    struct json_object *given = json_at(tick->canary->service.json, "headers", NULL);
    bool any = json_object_is_type(given, json_type_object);
    struct json_object *out = any ? json_copy(tick->arena, given) : edit_object(tick->arena);

    if (rule->takes_back)
        json_set_str(json_sub(json_sub(out, "response"), "add"), "Set-Cookie",
                     rule->primary_cookie);
    if (json_count(out) == 0)
        return NULL;
    return route_whole(tick->arena, out, json_at(rule->live, "headers", NULL));
}

static void add_mirror(struct tick *tick, struct json_object *http)
{
    struct json_object *mirror = json_sub(http, "mirror");
    int percent = tick->canary->analysis.mirror_weight;

    json_set_str(mirror, "host", tick->canary->service.canary_name);
    json_set(mirror, "subset", NULL);
    json_set(mirror, "port", NULL);
    if (percent > 0)
        json_set_int(json_sub(http, "mirrorPercentage"), "value", percent);
}

/* A live mirror may copy to other services, and is not ours. */
static void set_mirror(struct tick *tick, const struct route_rule *rule, struct json_object *http)
{
    const char *live = json_str_at(rule->live, "mirror", "host", NULL);

    if (live && strcmp(live, tick->canary->service.canary_name) != 0 && !rule->mirrored)
        return;
    json_set(http, "mirror", NULL);
    json_set(http, "mirrorPercentage", NULL);
    if (rule->mirrored)
        add_mirror(tick, http);
}

/* The fields that every HTTP rule has, whatever its destination. */
static struct json_object *http_rule(struct tick *tick, const struct route_rule *rule,
                                     struct json_object *matches, struct json_object *to)
{
    static const char *const retry_keys[] = {"attempts", "perTryTimeout", "retryOn", NULL};
    /* not allowed together with a route */
    static const char *const others[] = {"redirect", "delegate", "directResponse"};
    struct json_object *service = tick->canary->service.json;
    struct json_object *out = edit_object(tick->arena);
    const char *timeout = json_str_at(service, "timeout", NULL);

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        json_set(out, others[i], NULL);
    json_set(out, "match", matches);
    json_set(out, "rewrite", rewrite(tick->arena, service));
    json_set(out, "timeout", NULL);
    if (timeout && *timeout)
        json_set_str(out, "timeout", timeout);
    json_set(out, "retries", all_keys(tick->arena, json_at(service, "retries", NULL), retry_keys));
    json_set(out, "corsPolicy", cors_policy(tick->arena, service));
    json_set(out, "headers", headers(tick, rule));
    set_mirror(tick, rule, out);
    json_set(out, "route", to);
    return out;
}

static struct json_object *rule_matches(struct tick *tick, const struct route_rule *rule)
{
    if (rule->cookie)
        return istio_cookie_matches(tick->arena, tick->canary, rule->cookie);
    return rule->matched ? istio_test_matches(tick->arena, tick->canary)
                         : istio_matches(tick->arena, tick->canary);
}

static struct json_object *http_rules(struct tick *tick, const struct weights *weights,
                                      const struct split *split)
{
    struct route_rule rules[ROUTE_MAX_RULES];
    int count = route_rules(tick, weights, split, rules);
    struct json_object *out = edit_array(tick->arena);

    for (int i = 0; i < count; i++) {
        struct json_object *http = http_rule(tick, &rules[i], rule_matches(tick, &rules[i]),
                                             destinations(tick, &rules[i]));
        edit_pair(http, rules[i].live);
        edit_add(out, http);
    }
    return out;
}

/* --- TCP */

static struct json_object *tcp_rules(struct tick *tick, struct json_object *to)
{
    struct json_object *given = json_at(tick->canary->service.json, "match", NULL);
    struct json_object *matches = edit_array(tick->arena);
    struct json_object *rule = edit_object(tick->arena);
    struct json_object *out = edit_array(tick->arena);

    for (size_t i = 0; i < json_len(given); i++) {
        struct json_object *match = edit_object(tick->arena);
        int64_t port = json_int_at(json_elem(given, i), 0, "port", NULL);
        if (port > 0)
            json_set_int(match, "port", port);
        edit_pair(match, NULL);
        edit_add(matches, match);
    }
    json_set(rule, "match", json_len(matches) > 0 ? matches : NULL);
    json_set(rule, "route", to);
    edit_add(out, rule);
    return out;
}

/* Rules of the protocol that the spec used before: ours are removed, others stay. */
static void remove_rules(struct tick *tick, const struct split_format *format, const char *key,
                         struct json_object *live, struct json_object *spec)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *rules = json_at(live, "spec", key, NULL);
    struct json_object *left = edit_array(tick->arena);

    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *rule = json_elem(rules, i);
        if (split_backend(format, rule, service->primary_name) ||
            split_backend(format, rule, service->canary_name))
            continue;
        struct json_object *same = edit_object(tick->arena);
        edit_pair(same, rule);
        edit_add(left, same);
    }
    if (json_len(left) < json_len(rules))
        json_set(spec, key, json_len(left) > 0 ? left : NULL);
}

static void istio_wanted_rules(struct tick *tick, const struct weights *weights,
                               const struct split *split, struct json_object *live,
                               struct json_object *spec)
{
    const struct route_rule whole = {.primary =
                                         weight_relative(weights ? weights->primary : WEIGHT_ALL),
                                     .canary = weights ? weight_relative(weights->canary) : -1,
                                     .live = split->split};
    struct json_object *apex = edit_array(tick->arena);
    struct json_object *http = edit_array(tick->arena);

    if (!weights)
        edit_add(apex, destination(tick, tick->canary->service.name, 100, NULL, NULL));
    if (istio_is_tcp(tick->canary)) {
        remove_rules(tick, &http_format, "http", live, spec);
        json_set(spec, "tcp", tcp_rules(tick, weights ? destinations(tick, &whole) : apex));
        return;
    }
    remove_rules(tick, &tcp_format, "tcp", live, spec);
    if (!weights)
        edit_add(http, http_rule(tick, &whole, istio_matches(tick->arena, tick->canary), apex));
    json_set(spec, "http", weights ? http_rules(tick, weights, split) : http);
}

/* --- checks of a spec */

static bool delegates(const struct canary *canary)
{
    return json_bool_at(canary->service.json, false, "delegation", NULL);
}

static const char *check_tcp(struct arena *arena, const struct canary *canary)
{
    static const char why[] = "is not possible for a TCP service, which has no requests";

    if (canary->analysis.match)
        return arena_printf(arena, "%s: A/B testing %s", canary->analysis.match_at, why);
    if (canary->analysis.mirror)
        return arena_printf(arena, "%s: mirroring %s", canary->analysis.mirror_at, why);
    if (canary->analysis.affinity.cookie_name)
        return arena_printf(arena, "spec.analysis.sessionAffinity: %s", why);
    return NULL;
}

static const char *istio_check(struct arena *arena, const struct canary *canary)
{
    const char *why = route_check(arena, canary);

    if (why)
        return why;
    if (delegates(canary) && (json_len(canary->service.hosts) > 0 ||
                              json_len(json_at(canary->service.json, "gateways", NULL)) > 0))
        return "spec.service.delegation: a VirtualService that others delegate to has no hosts and "
               "no gateways of its own; leave those out";
    return istio_is_tcp(canary) ? check_tcp(arena, canary) : istio_match_mistake(arena, canary);
}

static const char *istio_ignored(struct arena *arena, const struct canary *canary)
{
    static const char *const http[] = {"backendTimeout", "mirror", NULL};
    static const char *const tcp[] = {"backendTimeout", "mirror",  "rewrite",    "timeout",
                                      "retries",        "headers", "corsPolicy", NULL};

    static const char *const of_match[] = {
        "uri",      "method",       "authority",       "scheme",
        "headers",  "queryParams",  "withoutHeaders",  "ignoreUriCase",
        "gateways", "sourceLabels", "sourceNamespace", NULL};
    static const char *const rewrite[] = {"type", NULL};
    bool is_tcp = istio_is_tcp(canary);
    struct ignored list = {
        .arena = arena,
        .text = ignored_of_service(arena, canary, is_tcp ? tcp : http, is_tcp ? of_match : NULL)};

    if (!is_tcp)
        ignored_add(&list, json_at(canary->service.json, "rewrite", NULL), "spec.service.rewrite",
                    rewrite);
    return list.text;
}

/* --- VirtualService */

static struct json_object *hosts(struct tick *tick)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *out = edit_array(tick->arena);
    bool has_own = false;

    for (size_t i = 0; i < json_len(service->hosts); i++) {
        const char *host = json_object_get_string(json_elem(service->hosts, i));
        has_own = has_own || strcmp(host, service->name) == 0 || strcmp(host, "*") == 0;
        edit_add(out, json_elem(service->hosts, i));
    }
    if (!has_own)
        edit_add(out, json_own(tick->arena, json_object_new_string(service->name)));
    return out;
}

static struct json_object *gateways(struct tick *tick)
{
    struct json_object *given = json_at(tick->canary->service.json, "gateways", NULL);
    struct json_object *out = edit_array(tick->arena);

    if (json_len(given) > 0)
        return given;
    edit_add(out, json_own(tick->arena, json_object_new_string("mesh")));
    return out;
}

static struct json_object *frame(struct tick *tick)
{
    struct json_object *out = route_metadata(tick);
    struct json_object *spec = json_sub(out, "spec");
    bool part = delegates(tick->canary);

    json_set(spec, "hosts", part ? edit_array(tick->arena) : hosts(tick));
    json_set(spec, "gateways", part ? NULL : gateways(tick));
    return out;
}

static enum rule_result wanted(struct tick *tick, const struct weights *weights,
                               const struct split *split, struct json_object *live,
                               struct json_object **out)
{
    *out = frame(tick);
    istio_wanted_rules(tick, weights, split, live, json_sub(*out, "spec"));
    return RULE_CONTINUE;
}

static enum rule_result plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    const struct split none = {.split = NULL};

    *out = frame(tick);
    istio_wanted_rules(tick, NULL, &none, live, json_sub(*out, "spec"));
    return RULE_CONTINUE;
}

static const struct route route = {.resource = &virtual_services,
                                   .format = istio_format,
                                   .read = istio_read,
                                   .wanted = wanted,
                                   .plain = plain};

/* --- DestinationRules */

/* The whole policy is ours, even if the spec has none; subsets are not ours. */
static void reconcile_rule(struct tick *tick, const char *name, struct json_object *live)
{
    struct json_object *policy = json_at(tick->canary->service.json, "trafficPolicy", NULL);
    struct json_object *wanted = edit_object(tick->arena);
    struct json_object *spec = json_sub(wanted, "spec");

    json_set_str(spec, "host", name);
    json_set(spec, "trafficPolicy",
             route_whole(tick->arena, policy, json_at(live, "spec", "trafficPolicy", NULL)));
    route_beside(tick, &destination_rules, name, live, wanted, false);
}

/* The DestinationRules come before the VirtualService, which leads to them. */
static enum rule_result istio_reconcile(struct tick *tick)
{
    const char *const *names = istio_names(tick->arena, tick->canary, &destination_rules);
    const char *namespace_ = tick->canary->namespace_;
    struct json_object *live[2];
    bool known = true;

    for (int i = 0; i < 2; i++)
        known = need_object(tick, &destination_rules, namespace_, names[i], &live[i]) && known;
    if (!known)
        return RULE_NEEDS_FACTS;
    for (int i = 0; i < 2; i++)
        reconcile_rule(tick, names[i], live[i]);
    return route_reconcile(tick);
}

/* Claims of a VirtualService: every request, or these matches. */
static void add_claims(struct arena *arena, struct json_object *claims, const char *where,
                       struct json_object *rules)
{
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *match = json_at(json_elem(rules, i), "match", NULL);
        json_object_array_add(
            claims, json_object_new_string(arena_printf(
                        arena, "%s, %s", where,
                        json_len(match) > 0 ? json_text_sorted(arena, match) : "every path")));
    }
}

static struct json_object *istio_claims(struct arena *arena, struct json_object *service)
{
    struct json_object *claims = edit_array(arena);
    struct json_object *hosts = json_at(service, "spec", "hosts", NULL);
    struct json_object *gateways = json_at(service, "spec", "gateways", NULL);
    size_t n = json_len(gateways);

    for (size_t i = 0; i < json_len(hosts); i++) {
        for (size_t k = 0; k < (n > 0 ? n : 1); k++) {
            const char *gateway = n > 0 ? json_object_get_string(json_elem(gateways, k)) : "mesh";
            add_claims(arena, claims,
                       arena_printf(arena, "gateway %s, host %s", gateway,
                                    json_object_get_string(json_elem(hosts, i))),
                       json_at(service, "spec", "http", NULL));
        }
    }
    return claims;
}

static const char *const providers[] = {"istio", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &destination_rules,
                                                        &virtual_services, NULL};

/* --- routes of the user */

/* "podinfo-primary", optionally followed by the Canary's namespace and any part of the cluster's
 * domain. */
static const char *ref_service(struct arena *arena, const struct canary *canary,
                               struct json_object *backend)
{
    const char *host = json_str_at(backend, "destination", "host", NULL);
    const char *dot = host ? strchr(host, '.') : NULL;
    const char *rest = dot ? arena_printf(arena, ".%s.svc.", canary->namespace_)
                           : ""; /* a prefix of it, or more than that */

    if (!dot)
        return host;
    size_t len = strlen(dot), most = strlen(rest);
    bool here = len < most ? strncmp(rest, dot, len) == 0 && rest[len] == '.'
                           : strncmp(rest, dot, most) == 0;
    return here ? arena_printf(arena, "%.*s", (int)(dot - host), host) : NULL;
}

static const struct route_refs_kind ref_http = {.resource = &virtual_services,
                                                .rules = "http",
                                                .backends = "route",
                                                .missing = 0,
                                                .service = ref_service};
static const struct route_refs_kind *const ref_kinds[] = {&ref_http, NULL};
static const struct kube_resource *const ref_resources[] = {&kube_services, &virtual_services,
                                                            NULL};
static const struct router refs;

static const char *refs_check(struct arena *arena, const struct canary *canary)
{
    return route_refs_check(arena, canary, &refs);
}

static const struct router refs = {
    .providers = providers,
    .about = "Istio, routes of the user",
    .resources = ref_resources,
    .ref_kinds = ref_kinds,
    .metric_family = "istio",
    .finest_since = "Istio takes since 1.15; an older one refuses the route",
    .check = refs_check,
    ROUTE_REFS_ROUTER,
};

/* Through VirtualServices that delegate to it, if it has no hosts (spec.service.delegation). */
static bool led_to(struct json_object *object)
{
    return json_len(json_at(object, "spec", "hosts", NULL)) == 0;
}

const struct router router_istio = {
    .refs = &refs,
    .led_to = led_to,
    .providers = providers,
    .about = "Istio, VirtualService and DestinationRule",
    .resources = resources,
    .names = istio_names,
    .metric_family = "istio",
    .route = &route,
    .weighted = true,
    .finest = 1,
    .finest_since = "Istio takes since 1.15; an older one refuses the route",
    .matches = true,
    .mirrors = true,
    .session_affinity = true,
    .check = istio_check,
    .ignored = istio_ignored,
    .claims = istio_claims,
    .reconcile = istio_reconcile,
    .get = route_get,
    .settled = route_settled,
    .set = route_set,
    .revert = route_revert,
    .disown = route_disown,
};

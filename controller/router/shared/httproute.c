/* Rules of a route for the given weights (shared/route.h lists them), each paired with the live
 * rule that it is applied to. */
#include "router/shared/httproute.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "router/router.h"
#include "tick/edit.h"
#include "tick/plan.h"

/*
 * --- calls of a GRPCRoute. gRPC sends a call to the path /SERVICE/METHOD, so spec.service.match
 * names it by `uri`, as for every other router. Other conditions on path, verb or query are
 * refused: a route without them would accept more requests.
 */

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* From "/SERVICE", "/SERVICE/" or, if `whole`, also "/SERVICE/METHOD"; NULL for anything else. */
static struct json_object *method_of(struct arena *arena, const char *path, bool whole)
{
    const char *service = path + 1;
    size_t len = *path == '/' ? strspn(service, LETTERS ".") : 0;
    const char *method = service + len + (len > 0 && service[len] == '/');

    if (len == 0 || method[strspn(method, LETTERS)] || (whole && !*method))
        return NULL;
    struct json_object *out = edit_object(arena);
    json_set_str(out, "type", "Exact");
    json_set_str(out, "service", arena_printf(arena, "%.*s", (int)len, service));
    json_set(out, "method", *method ? json_own(arena, json_object_new_string(method)) : NULL);
    return out;
}

static struct json_object *httproute_call(struct arena *arena, struct json_object *given,
                                          const char *at, const char **why)
{
    static const char *const unknown[] = {"method", "queryParams"};
    struct json_object *uri = json_at(given, "uri", NULL), *out = NULL;
    const char *exact = json_str_at(uri, "exact", NULL), *prefix = json_str_at(uri, "prefix", NULL);

    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        if (json_at(given, unknown[i], NULL))
            *why = arena_printf(arena, "%s.%s: a GRPCRoute matches uri and headers only", at,
                                unknown[i]);
    }
    if (exact && *exact)
        out = method_of(arena, exact, true);
    else if (prefix && strcmp(prefix, "/") == 0)
        return NULL;
    else if (prefix)
        out = method_of(arena, prefix, false);
    if (uri && !out)
        *why = arena_printf(arena,
                            "%s.uri: expected exact: /SERVICE/METHOD or prefix: /SERVICE/, as a "
                            "GRPCRoute has no other paths",
                            at);
    return out;
}

/*
 * --- matches of a rule, from spec.service.match; combined with spec.analysis.match for A/B tests,
 * and with a cookie for session affinity. Explicit nulls remove fields of a live rule that the spec
 * no longer has; edit_overlay() drops them if there is nothing to remove.
 */

/* A gateway rejects the whole route if it cannot compile this expression. */
static void check_regex(struct arena *arena, const char *regex, const char *at, const char **why)
{
    const char *mistake = regex_mistake(arena, regex);

    if (mistake)
        *why = arena_printf(arena, "%s.regex: %s, in \"%s\"", at, mistake, regex);
}

/* Converts StringMatches {exact} or {regex}, keyed by name, to the list that the Gateway API uses;
 * NULL and *why for other kinds. */
static struct json_object *named_matches(struct arena *arena, struct json_object *map,
                                         const char *what, const char **why)
{
    struct json_object *out = edit_array(arena);
    size_t count;
    const char **keys = edit_keys(arena, map, &count);

    for (size_t i = 0; i < count; i++) {
        struct json_object *match = json_at(map, keys[i], NULL);
        const char *exact = json_str_at(match, "exact", NULL);
        const char *regex = json_str_at(match, "regex", NULL);
        struct json_object *one = edit_object(arena);
        if (!(exact && *exact) && !(regex && *regex)) {
            *why = arena_printf(arena, "%s.%s: the Gateway API matches exact or regex only", what,
                                keys[i]);
            return NULL;
        }
        if (!(exact && *exact))
            check_regex(arena, regex, arena_printf(arena, "%s.%s", what, keys[i]), why);
        json_set_str(one, "name", keys[i]);
        json_set_str(one, "type", exact && *exact ? "Exact" : "RegularExpression");
        json_set_str(one, "value", exact && *exact ? exact : regex);
        edit_add(out, one);
    }
    return count > 0 ? out : NULL;
}

static struct json_object *path_match(struct arena *arena, struct json_object *uri)
{
    static const struct {
        const char *key, *type;
    } kinds[] = {{"regex", "RegularExpression"}, {"exact", "Exact"}, {"prefix", "PathPrefix"}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *value = json_str_at(uri, kinds[i].key, NULL);
        if (!value || !*value)
            continue;
        struct json_object *path = edit_object(arena);
        json_set_str(path, "type", kinds[i].type);
        json_set_str(path, "value", value);
        return path;
    }
    return NULL;
}

/* The API's default, made explicit: otherwise the server would add it, and the route would differ
 * from ours forever. */
static struct json_object *any_path(struct arena *arena)
{
    struct json_object *path = edit_object(arena);

    json_set_str(path, "type", "PathPrefix");
    json_set_str(path, "value", "/");
    return path;
}

static void put_path(struct arena *arena, struct json_object *match, struct json_object *given,
                     const char *at, const char **why)
{
    struct json_object *uri = json_at(given, "uri", NULL);
    const char *method = json_str_at(given, "method", "exact", NULL);

    struct json_object *path = path_match(arena, uri);
    if (uri && !path)
        *why = arena_printf(arena, "%s.uri: expected one of exact, prefix, regex", at);
    if (uri && path && json_str_at(uri, "regex", NULL))
        check_regex(arena, json_str_at(uri, "regex", NULL), arena_printf(arena, "%s.uri", at), why);
    json_set(match, "path", path ? path : any_path(arena));
    json_set(match, "method", method ? json_own(arena, json_object_new_string(method)) : NULL);
    if (json_at(given, "method", NULL) && !method)
        *why = arena_printf(arena, "%s.method: the Gateway API matches exact only", at);
    json_set(match, "queryParams",
             named_matches(arena, json_at(given, "queryParams", NULL),
                           arena_printf(arena, "%s.queryParams", at), why));
}

static struct json_object *one_match(struct arena *arena, struct json_object *given, size_t index,
                                     const struct httproute_version *version, const char **why)
{
    const char *at = arena_printf(arena, "spec.service.match[%zu]", index);
    struct json_object *match = edit_object(arena);

    if (version->calls)
        json_set(match, "method", httproute_call(arena, given, at, why));
    else
        put_path(arena, match, given, at, why);
    json_set(match, "headers",
             named_matches(arena, json_at(given, "headers", NULL),
                           arena_printf(arena, "%s.headers", at), why));
    return match;
}

/* True if a route can express a part of it. A match that has only other conditions matches nothing,
 * as in Flagger. */
static bool can_match(struct json_object *given)
{
    static const char *const keys[] = {"uri", "method", "headers", "queryParams"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct json_object *value = json_at(given, keys[i], NULL);
        if (json_object_is_type(value, json_type_object) && json_object_object_length(value) > 0)
            return true;
    }
    return false;
}

struct json_object *httproute_matches(struct arena *arena, const struct canary_service *service,
                                      const struct httproute_version *version, const char **why)
{
    struct json_object *given = json_at(service->json, "match", NULL);
    struct json_object *out = edit_array(arena);

    *why = NULL;
    for (size_t i = 0; i < json_len(given); i++) {
        if (can_match(json_elem(given, i)))
            edit_add(out, one_match(arena, json_elem(given, i), i, version, why));
    }
    if (json_len(out) == 0)
        edit_add(out, one_match(arena, NULL, 0, version, why));
    return out;
}

/* Matches of an A/B test have headers and query parameters only. */
static struct json_object *one_test(struct arena *arena, const struct canary *canary, size_t index,
                                    const struct httproute_version *version, const char **why)
{
    struct json_object *given = json_elem(canary->analysis.match, index);
    const char *at = arena_printf(arena, "%s[%zu]", canary->analysis.match_at, index);
    struct json_object *match = edit_object(arena);

    json_set(match, "headers",
             named_matches(arena, json_at(given, "headers", NULL),
                           arena_printf(arena, "%s.headers", at), why));
    json_set(match, "queryParams",
             named_matches(arena, json_at(given, "queryParams", NULL),
                           arena_printf(arena, "%s.queryParams", at), why));
    if (json_at(given, "sourceLabels", NULL))
        *why = arena_printf(
            arena, "%s.sourceLabels: the Gateway API cannot match labels of the client", at);
    else if (version->calls && json_at(given, "queryParams", NULL))
        *why = arena_printf(arena, "%s.queryParams: a GRPCRoute matches headers only", at);
    else if (!*why && !json_at(match, "headers", NULL) && !json_at(match, "queryParams", NULL))
        *why = arena_printf(arena, "%s: expected headers or queryParams", at);
    return match;
}

static struct json_object *one_cookie(struct arena *arena, const char *cookie)
{
    struct json_object *match = edit_object(arena);
    struct json_object *headers = edit_array(arena);
    struct json_object *header = edit_object(arena);

    json_set_str(header, "name", "Cookie");
    json_set_str(header, "type", "RegularExpression");
    json_set_str(header, "value", cookie_pattern(arena, cookie));
    edit_add(headers, header);
    json_set(match, "headers", headers);
    return match;
}

/* The entries of both lists. A header or parameter may be listed only once, so the first one
 * counts. */
static struct json_object *join_fields(struct arena *arena, struct json_object *first,
                                       struct json_object *second)
{
    struct json_object *out = edit_array(arena);

    for (size_t i = 0; i < json_len(first); i++)
        edit_add(out, json_elem(first, i));
    for (size_t i = 0; i < json_len(second); i++) {
        const char *name = json_str_at(json_elem(second, i), "name", NULL);
        bool is_there = false;
        for (size_t j = 0; j < json_len(first) && !is_there; j++)
            is_there = strcasecmp(json_str_at(json_elem(first, j), "name", NULL), name) == 0;
        if (!is_there)
            edit_add(out, json_elem(second, i));
    }
    return json_len(out) > 0 ? out : NULL;
}

/* Requests that match both: the special match and one of the service's. */
static void add_joined(struct arena *arena, struct json_object *out, struct json_object *special,
                       struct json_object *service_matches)
{
    static const char *const keys[] = {"headers", "queryParams"};

    for (size_t i = 0; i < json_len(service_matches); i++) {
        struct json_object *match = json_copy(arena, json_elem(service_matches, i));
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
            json_set(
                match, keys[k],
                join_fields(arena, json_at(special, keys[k], NULL), json_at(match, keys[k], NULL)));
        edit_add(out, match);
    }
}

struct json_object *httproute_test_matches(struct arena *arena, const struct canary *canary,
                                           const struct httproute_version *version,
                                           const char **why)
{
    struct json_object *service = httproute_matches(arena, &canary->service, version, why);
    struct json_object *given = canary->analysis.match;
    struct json_object *out = edit_array(arena);

    for (size_t i = 0; i < json_len(given) && !*why; i++)
        add_joined(arena, out, one_test(arena, canary, i, version, why), service);
    if (!*why && json_len(out) > HTTPROUTE_MAX_MATCHES)
        *why =
            arena_printf(arena,
                         "%s: with spec.service.match it makes %zu matches, the Gateway API takes "
                         "%d of a rule",
                         canary->analysis.match_at, json_len(out), HTTPROUTE_MAX_MATCHES);
    return out;
}

static struct json_object *httproute_cookie_matches(struct arena *arena,
                                                    const struct canary_service *service,
                                                    const struct httproute_version *version,
                                                    const char *cookie)
{
    const char *why;
    struct json_object *out = edit_array(arena);

    add_joined(arena, out, one_cookie(arena, cookie),
               httproute_matches(arena, service, version, &why));
    return out;
}

/* --- claims: requests that a route takes */

/* "Gateway infra/gateway", with the listener if the reference names one. */
static const char *parent_of(struct arena *arena, struct json_object *parent,
                             struct json_object *route)
{
    const char *kind = json_str_at(parent, "kind", NULL);
    const char *namespace_ = json_str_at(parent, "namespace", NULL);
    const char *name = json_str_at(parent, "name", NULL);
    const char *section = json_str_at(parent, "sectionName", NULL);

    if (!namespace_)
        namespace_ = json_str_at(route, "metadata", "namespace", NULL);
    return arena_printf(arena, "%s %s/%s%s%s", kind ? kind : "Gateway",
                        namespace_ ? namespace_ : "", name ? name : "", section ? " " : "",
                        section ? section : "");
}

/* "path /", or a match with more conditions. */
static const char *claim_of(struct arena *arena, struct json_object *match)
{
    const char *type = json_str_at(match, "path", "type", NULL);
    const char *path = json_str_at(match, "path", "value", NULL);
    int fields = match ? json_object_object_length(match) : 0;
    bool plain = !type || strcmp(type, "PathPrefix") == 0;

    if (fields == 0 || (fields == 1 && path && plain))
        return arena_printf(arena, "path %s", path ? path : "/");
    return json_text_sorted(arena, match);
}

static void add_claims(struct arena *arena, struct json_object *claims, const char *where,
                       struct json_object *rules)
{
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *matches = json_at(json_elem(rules, i), "matches", NULL);
        size_t n = json_len(matches);
        for (size_t k = 0; k < (n > 0 ? n : 1); k++) {
            const char *claim = claim_of(arena, n > 0 ? json_elem(matches, k) : NULL);
            json_object_array_add(
                claims, json_object_new_string(arena_printf(arena, "%s, %s", where, claim)));
        }
    }
}

struct json_object *httproute_claims(struct arena *arena, struct json_object *route)
{
    struct json_object *claims = edit_array(arena);
    struct json_object *parents = json_at(route, "spec", "parentRefs", NULL);
    struct json_object *hosts = json_at(route, "spec", "hostnames", NULL);
    size_t n = json_len(hosts);

    for (size_t i = 0; i < json_len(parents); i++) {
        const char *parent = parent_of(arena, json_elem(parents, i), route);
        for (size_t k = 0; k < (n > 0 ? n : 1); k++) {
            const char *host = n > 0 ? json_object_get_string(json_elem(hosts, k)) : "*";
            add_claims(arena, claims, arena_printf(arena, "%s, host %s", parent, host),
                       json_at(route, "spec", "rules", NULL));
        }
    }
    return claims;
}

/*
 * --- filters of a rule, from spec.service. Explicit nulls remove fields of a live rule that the
 * spec no longer has.
 */

/* The API's default, made explicit: otherwise the server would add it. */
enum { DEFAULT_MAX_AGE_S = 5 };

static struct json_object *header_list(struct arena *arena, struct json_object *map)
{
    struct json_object *out = edit_array(arena);
    size_t count;
    const char **keys = edit_keys(arena, map, &count);

    for (size_t i = 0; i < count; i++) {
        struct json_object *one = edit_object(arena);
        json_set_str(one, "name", keys[i]);
        json_set_str(one, "value", json_str_at(map, keys[i], NULL));
        edit_add(out, one);
    }
    return count > 0 ? out : NULL;
}

static struct json_object *typed_filter(struct arena *arena, struct json_object *filters,
                                        const char *type, const char *key)
{
    struct json_object *filter = edit_object(arena);

    json_set_str(filter, "type", type);
    edit_add(filters, filter);
    return json_sub(filter, key);
}

static void header_filter(struct arena *arena, struct json_object *filters, const char *type,
                          const char *key, struct json_object *given)
{
    if (!given)
        return;
    struct json_object *filter = typed_filter(arena, filters, type, key);
    json_set(filter, "add", header_list(arena, json_at(given, "add", NULL)));
    json_set(filter, "set", header_list(arena, json_at(given, "set", NULL)));
    json_set(filter, "remove", json_copy(arena, json_at(given, "remove", NULL)));
}

static void rewrite_filter(struct arena *arena, struct json_object *filters,
                           struct json_object *given)
{
    const char *uri = json_str_at(given, "uri", NULL);
    const char *host = json_str_at(given, "authority", NULL);
    const char *type = json_str_at(given, "type", NULL);
    bool prefix = type && strcmp(type, "ReplacePrefixMatch") == 0;

    if (!given)
        return;
    struct json_object *filter = typed_filter(arena, filters, "URLRewrite", "urlRewrite");
    json_set(filter, "hostname", NULL);
    json_set(filter, "path", NULL);
    if (host && *host)
        json_set_str(filter, "hostname", host);
    if (!uri || !*uri)
        return;
    struct json_object *path = edit_object(arena);
    json_set_str(path, "type", prefix ? "ReplacePrefixMatch" : "ReplaceFullPath");
    json_set(path, prefix ? "replaceFullPath" : "replacePrefixMatch", NULL);
    json_set_str(path, prefix ? "replacePrefixMatch" : "replaceFullPath", uri);
    json_set(filter, "path", path);
}

/* Origins as strings: allowOrigin, and the exact matches in allowOrigins. (Flagger ignores these
 * and logs an error.) */
static struct json_object *origins(struct arena *arena, struct json_object *given)
{
    struct json_object *out = edit_array(arena);
    struct json_object *plain = json_at(given, "allowOrigin", NULL);
    struct json_object *matched = json_at(given, "allowOrigins", NULL);

    for (size_t i = 0; i < json_len(plain); i++)
        edit_add(out, json_elem(plain, i));
    for (size_t i = 0; i < json_len(matched); i++) {
        struct json_object *exact = json_at(json_elem(matched, i), "exact", NULL);
        if (json_object_is_type(exact, json_type_string))
            edit_add(out, exact);
    }
    return json_len(out) > 0 ? out : NULL;
}

static void cors_filter(struct arena *arena, struct json_object *filters, struct json_object *given)
{
    static const char *const lists[] = {"allowMethods", "allowHeaders", "exposeHeaders"};
    const char *age = json_str_at(given, "maxAge", NULL);
    int64_t age_ms;
    struct errinfo ei;

    if (!given)
        return;
    struct json_object *cors = typed_filter(arena, filters, "CORS", "cors");
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        json_set(cors, lists[i], json_copy(arena, json_at(given, lists[i], NULL)));
    json_set(cors, "allowOrigins", origins(arena, given));
    json_set(cors, "allowCredentials", NULL);
    json_set_int(cors, "maxAge", DEFAULT_MAX_AGE_S);
    if (json_bool_at(given, false, "allowCredentials", NULL))
        json_set_bool(cors, "allowCredentials", true);
    if (age && duration_parse_ms(age, &age_ms, &ei) == ERR_OK)
        json_set_int(cors, "maxAge", age_ms / 1000);
}

static void mirror_filter(struct arena *arena, struct json_object *filters,
                          struct json_object *given)
{
    static const char *const optional[] = {"namespace", "port"};
    struct json_object *filter = typed_filter(arena, filters, "RequestMirror", "requestMirror");
    struct json_object *ref = json_copy(arena, json_at(given, "backendRef", NULL));

    for (size_t i = 0; ref && i < sizeof(optional) / sizeof(optional[0]); i++) {
        if (!json_at(ref, optional[i], NULL))
            json_set(ref, optional[i], NULL);
    }
    json_set(filter, "backendRef", ref);
    json_set(filter, "percent", NULL);
}

struct json_object *httproute_filters(struct arena *arena, const struct canary_service *service,
                                      const struct httproute_version *version)
{
    struct json_object *filters = edit_array(arena);
    struct json_object *mirrors = json_at(service->json, "mirror", NULL);

    header_filter(arena, filters, "RequestHeaderModifier", "requestHeaderModifier",
                  json_at(service->json, "headers", "request", NULL));
    header_filter(arena, filters, "ResponseHeaderModifier", "responseHeaderModifier",
                  json_at(service->json, "headers", "response", NULL));
    if (!version->calls)
        rewrite_filter(arena, filters, json_at(service->json, "rewrite", NULL));
    for (size_t i = 0; i < json_len(mirrors); i++)
        mirror_filter(arena, filters, json_elem(mirrors, i));
    if (version->rich)
        cors_filter(arena, filters, json_at(service->json, "corsPolicy", NULL));
    return json_len(filters) > 0 ? filters : NULL;
}

/* The spec's value, or NULL, which removes the field from a live route. */
static struct json_object *given_text(struct arena *arena, const struct canary_service *service,
                                      const char *key)
{
    const char *text = json_str_at(service->json, key, NULL);

    return text && *text ? json_own(arena, json_object_new_string(text)) : NULL;
}

struct json_object *httproute_timeouts(struct arena *arena, const struct canary_service *service)
{
    struct json_object *request = given_text(arena, service, "timeout");
    struct json_object *backend_request = given_text(arena, service, "backendTimeout");
    struct json_object *out = edit_object(arena);

    json_set(out, "request", request);
    json_set(out, "backendRequest", backend_request);
    return request || backend_request ? out : NULL;
}

/* --- rules */

static bool has_text(struct json_object *object, const char *key, const char *text)
{
    const char *found = json_str_at(object, key, NULL);

    return found && strcmp(found, text) == 0;
}

struct json_object *httproute_mirror(const struct canary *canary, struct json_object *rule)
{
    struct json_object *filters = json_at(rule, "filters", NULL);

    for (size_t i = 0; i < json_len(filters); i++) {
        struct json_object *mirror = json_at(json_elem(filters, i), "requestMirror", NULL);
        const char *namespace_ = json_str_at(mirror, "backendRef", "namespace", NULL);
        if (has_text(json_at(mirror, "backendRef", NULL), "name", canary->service.canary_name) &&
            (!namespace_ || strcmp(namespace_, canary->namespace_) == 0))
            return mirror;
    }
    return NULL;
}

struct json_object *httproute_backend(struct tick *tick, const char *name, int weight)
{
    struct json_object *ref = edit_object(tick->arena);

    json_set_str(ref, "group", "");
    json_set_str(ref, "kind", "Service");
    json_set_str(ref, "name", name);
    json_set_int(ref, "port", tick_route_port(tick));
    json_set_int(ref, "weight", weight);
    json_set(ref, "filters", NULL);
    return ref;
}

/* If cookie is NULL, its responses set none. */
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
 * Copies the requests to the canary. An API server that does not know `percent` drops it; repeating
 * the write would change nothing, so a filter without it is left unchanged.
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
    json_set_int(ref, "port", tick_route_port(tick));
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

/*
 * Which requests a rule takes, translated from spec.service.match, for A/B tests joined with
 * spec.analysis.match, and for session affinity with a cookie. Explicit nulls remove what a live
 * rule has and the spec no longer gives; edit_overlay() drops them where there is nothing to
 * remove.
 */
#include <string.h>
#include <strings.h>

#include "router/common_cookie.h"
#include "router/common_httproute.h"
#include "router/common_regex.h"
#include "tick/edit.h"

/* A gateway takes none of the route when it cannot read this. */
static void check_regex(struct arena *arena, const char *regex, const char *at, const char **why)
{
    const char *mistake = regex_mistake(arena, regex);

    if (mistake)
        *why = arena_printf(arena, "%s.regex: %s, in \"%s\"", at, mistake, regex);
}

/* StringMatch {exact} or {regex} by name to the Gateway API's list; NULL and *why when it is
 * something else. */
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

/* The API's own default, said explicitly: left out, it would be put back by the server and differ
 * for ever. */
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

/* Something of it can be said in a route; what asks for other things alone matches nothing, as in
 * Flagger. */
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

/* The matches of an A/B test know headers and query parameters only. */
static struct json_object *one_test(struct arena *arena, struct json_object *given, size_t index,
                                    const struct httproute_version *version, const char **why)
{
    const char *at = arena_printf(arena, "spec.analysis.match[%zu]", index);
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

/* Both lists; where both name the same header or parameter the first one counts, as a list may name
 * it once. */
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

/* Requests for which both hold: the special one and one of the service's. */
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
        add_joined(arena, out, one_test(arena, json_elem(given, i), i, version, why), service);
    if (!*why && json_len(out) > HTTPROUTE_MAX_MATCHES)
        *why =
            arena_printf(arena,
                         "spec.analysis.match: with spec.service.match it makes %zu matches, the "
                         "Gateway API takes %d of a rule",
                         json_len(out), HTTPROUTE_MAX_MATCHES);
    return out;
}

struct json_object *httproute_cookie_matches(struct arena *arena,
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

/* --- where a route takes requests */

/* "Gateway infra/gateway", with the listener where one is named. */
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

/* "path /", or a match that asks for more. */
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

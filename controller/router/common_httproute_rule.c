/* Matches, filters and timeouts of the weighted rule, translated from spec.service. Explicit nulls
 * remove what a live rule has and the spec no longer gives; edit_overlay() drops them where there
 * is nothing to remove. */
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "router/common_httproute.h"
#include "tick/edit.h"

static void add(struct json_object *array, struct json_object *value)
{
    json_object_array_add(array, json_object_get(value));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of an object, sorted, so that a map always gives the same list. */
static const char **sorted_keys(struct arena *arena, struct json_object *map, size_t *count)
{
    bool is_map = json_object_is_type(map, json_type_object);
    *count = is_map ? (size_t)json_object_object_length(map) : 0;
    const char **keys = arena_array(arena, *count + 1, sizeof *keys);
    size_t n = 0;

    if (!is_map)
        return keys;
    json_object_object_foreach(map, key, value)
    {
        (void)value;
        keys[n++] = key;
    }
    qsort(keys, n, sizeof *keys, by_text);
    return keys;
}

/* StringMatch {exact} or {regex} by name to the Gateway API's list; NULL and *why when it is
 * something else. */
static struct json_object *named_matches(struct arena *arena, struct json_object *map,
                                         const char *what, const char **why)
{
    struct json_object *out = edit_array(arena);
    size_t count;
    const char **keys = sorted_keys(arena, map, &count);

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
        json_set_str(one, "name", keys[i]);
        json_set_str(one, "type", exact && *exact ? "Exact" : "RegularExpression");
        json_set_str(one, "value", exact && *exact ? exact : regex);
        add(out, one);
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

static struct json_object *one_match(struct arena *arena, struct json_object *given, size_t index,
                                     const char **why)
{
    const char *at = arena_printf(arena, "spec.service.match[%zu]", index);
    struct json_object *match = edit_object(arena);
    struct json_object *uri = json_at(given, "uri", NULL);
    const char *method = json_str_at(given, "method", "exact", NULL);

    struct json_object *path = path_match(arena, uri);
    if (uri && !path)
        *why = arena_printf(arena, "%s.uri: expected one of exact, prefix, regex", at);
    json_set(match, "path", path ? path : any_path(arena));
    json_set(match, "method", method ? json_own(arena, json_object_new_string(method)) : NULL);
    if (json_at(given, "method", NULL) && !method)
        *why = arena_printf(arena, "%s.method: the Gateway API matches exact only", at);
    json_set(match, "headers",
             named_matches(arena, json_at(given, "headers", NULL),
                           arena_printf(arena, "%s.headers", at), why));
    json_set(match, "queryParams",
             named_matches(arena, json_at(given, "queryParams", NULL),
                           arena_printf(arena, "%s.queryParams", at), why));
    return match;
}

struct json_object *httproute_matches(struct arena *arena, const struct canary_service *service,
                                      const char **why)
{
    struct json_object *given = json_at(service->json, "match", NULL);
    struct json_object *out = edit_array(arena);

    *why = NULL;
    for (size_t i = 0; i < json_len(given); i++) {
        if (json_object_object_length(json_elem(given, i)) > 0)
            add(out, one_match(arena, json_elem(given, i), i, why));
    }
    if (json_len(out) == 0)
        add(out, one_match(arena, NULL, 0, why));
    return out;
}

static struct json_object *header_list(struct arena *arena, struct json_object *map)
{
    struct json_object *out = edit_array(arena);
    size_t count;
    const char **keys = sorted_keys(arena, map, &count);

    for (size_t i = 0; i < count; i++) {
        struct json_object *one = edit_object(arena);
        json_set_str(one, "name", keys[i]);
        json_set_str(one, "value", json_str_at(map, keys[i], NULL));
        add(out, one);
    }
    return count > 0 ? out : NULL;
}

static struct json_object *typed_filter(struct arena *arena, struct json_object *filters,
                                        const char *type, const char *key)
{
    struct json_object *filter = edit_object(arena);

    json_set_str(filter, "type", type);
    add(filters, filter);
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
    json_set_str(filter, "hostname", host && *host ? host : NULL);
    if (!uri || !*uri)
        return;
    struct json_object *path = json_sub(filter, "path");
    json_set_str(path, "type", prefix ? "ReplacePrefixMatch" : "ReplaceFullPath");
    json_set_str(path, prefix ? "replacePrefixMatch" : "replaceFullPath", uri);
}

static void cors_filter(struct arena *arena, struct json_object *filters, struct json_object *given)
{
    static const char *const lists[][2] = {{"allowOrigin", "allowOrigins"},
                                           {"allowMethods", "allowMethods"},
                                           {"allowHeaders", "allowHeaders"},
                                           {"exposeHeaders", "exposeHeaders"}};
    const char *age = json_str_at(given, "maxAge", NULL);
    int64_t age_ms;
    struct errinfo ei;

    if (!given)
        return;
    struct json_object *cors = typed_filter(arena, filters, "CORS", "cors");
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        edit_put(arena, cors, lists[i][1], json_at(given, lists[i][0], NULL));
    if (json_bool_at(given, false, "allowCredentials", NULL))
        json_set_bool(cors, "allowCredentials", true);
    if (age && duration_parse_ms(age, &age_ms, &ei) == ERR_OK)
        json_set_int(cors, "maxAge", age_ms / 1000);
}

struct json_object *httproute_filters(struct arena *arena, const struct canary_service *service,
                                      bool rich)
{
    struct json_object *filters = edit_array(arena);
    struct json_object *mirrors = json_at(service->json, "mirror", NULL);

    header_filter(arena, filters, "RequestHeaderModifier", "requestHeaderModifier",
                  json_at(service->json, "headers", "request", NULL));
    header_filter(arena, filters, "ResponseHeaderModifier", "responseHeaderModifier",
                  json_at(service->json, "headers", "response", NULL));
    rewrite_filter(arena, filters, json_at(service->json, "rewrite", NULL));
    for (size_t i = 0; i < json_len(mirrors); i++)
        edit_put(arena, typed_filter(arena, filters, "RequestMirror", "requestMirror"),
                 "backendRef", json_at(json_elem(mirrors, i), "backendRef", NULL));
    if (rich)
        cors_filter(arena, filters, json_at(service->json, "corsPolicy", NULL));
    return json_len(filters) > 0 ? filters : NULL;
}

/* NULL, which removes it from a live route, unless the spec gives one. */
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

/*
 * What a rule does to a request and its answer, translated from spec.service. Explicit nulls remove
 * what a live rule has and the spec no longer gives.
 */
#include <string.h>

#include "base/duration.h"
#include "router/common_httproute.h"
#include "tick/edit.h"

/* Of a CORS answer: the API's own, said explicitly; left out, it would be put back by the server.
 */
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

/* Origins by text: allowOrigin, and the exact ones of allowOrigins. (Flagger leaves these out, and
 * an error in its log.) */
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

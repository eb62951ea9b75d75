/*
 * Which calls a rule of a GRPCRoute takes. gRPC sends a call to the path /SERVICE/METHOD, so that
 * spec.service.match says it by `uri`, as for every other router. What else it asks of a path, a verb
 * or a query is refused: a route without it would take more than it was given.
 */
#include <string.h>

#include "router/common_httproute.h"
#include "tick/edit.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* "/SERVICE", "/SERVICE/" or, also where it is `whole`, "/SERVICE/METHOD"; NULL where it is neither.
 */
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

struct json_object *httproute_call(struct arena *arena, struct json_object *given, const char *at,
                                   const char **why)
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

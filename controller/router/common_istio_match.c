#include <string.h>
#include <strings.h>

#include "router/common_cookie.h"
#include "router/common_istio.h"
#include "router/common_regex.h"
#include "tick/edit.h"

/* --- what can be said */

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

/* One that asks for nothing would take every request. */
static const char *empty_mistake(struct arena *arena, struct json_object *list)
{
    for (size_t i = 0; i < json_len(list); i++) {
        if (json_object_object_length(json_elem(list, i)) == 0)
            return arena_printf(
                arena, "spec.analysis.match[%zu]: expected headers, queryParams or sourceLabels",
                i);
    }
    return NULL;
}

const char *istio_match_mistake(struct arena *arena, const struct canary *canary)
{
    struct json_object *service = json_at(canary->service.json, "match", NULL);
    const char *why = list_mistake(arena, service, "spec.service.match");

    if (!why)
        why = list_mistake(arena, canary->analysis.match, "spec.analysis.match");
    return why ? why : empty_mistake(arena, canary->analysis.match);
}

/* --- lists */

static void add_match(struct json_object *list, struct json_object *match)
{
    edit_pair(match, NULL);
    edit_add(list, match);
}

struct json_object *istio_matches(struct arena *arena, const struct canary *canary)
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

/* Both maps; of what both name, the special one counts: a request has one value of it. */
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

/* Requests for which both hold: the special one, and one of the service's if it has any. */
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

struct json_object *istio_test_matches(struct arena *arena, const struct canary *canary)
{
    struct json_object *given = canary->analysis.match;
    struct json_object *out = edit_array(arena);

    for (size_t i = 0; i < json_len(given); i++)
        add_joined(arena, canary, out, json_elem(given, i));
    return out;
}

struct json_object *istio_cookie_matches(struct arena *arena, const struct canary *canary,
                                         const char *cookie)
{
    struct json_object *special = edit_object(arena);
    struct json_object *out = edit_array(arena);

    json_set_str(json_sub(json_sub(special, "headers"), "Cookie"), "regex",
                 cookie_pattern(arena, cookie));
    add_joined(arena, canary, out, special);
    return out;
}

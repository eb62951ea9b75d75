/* What a live route says: which of its rules is which, and what it splits, copies and binds. */
#include <string.h>

#include "router/common_httproute.h"

static bool has_text(struct json_object *object, const char *key, const char *text)
{
    const char *found = json_str_at(object, key, NULL);

    return found && strcmp(found, text) == 0;
}

static struct json_object *backend_named(struct json_object *rule, const char *name)
{
    struct json_object *backends = json_at(rule, "backendRefs", NULL);

    for (size_t i = 0; i < json_len(backends); i++) {
        if (has_text(json_elem(backends, i), "name", name))
            return json_elem(backends, i);
    }
    return NULL;
}

/* The rule that splits is the last one with both Services: those that hold a client by its cookie
 * have both as well, and stand before it. */
struct httproute_rules httproute_rules(const struct canary *canary, struct json_object *route)
{
    struct json_object *rules = json_at(route, "spec", "rules", NULL);
    struct httproute_rules out = {.split = NULL};
    size_t split = json_len(rules);

    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *rule = json_elem(rules, i);
        bool has_primary = backend_named(rule, canary->service.primary_name);
        bool has_canary = backend_named(rule, canary->service.canary_name);
        if (has_primary && has_canary) {
            split = i;
            out.split = rule;
            out.rest = NULL;
        } else if (has_primary && out.split && !out.rest) {
            out.rest = rule;
        }
    }
    for (size_t i = 0; out.split && i < 2 && i < split; i++)
        out.sticky[i] = json_elem(rules, i);
    return out;
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

/* The cookie that a list of filters sets; `taken_back`: the one that it deletes. */
static const char *cookie_of(struct arena *arena, struct json_object *filters, bool taken_back)
{
    for (size_t i = 0; i < json_len(filters); i++) {
        struct json_object *added =
            json_at(json_elem(filters, i), "responseHeaderModifier", "add", NULL);
        for (size_t j = 0; j < json_len(added); j++) {
            const char *text = json_str_at(json_elem(added, j), "value", NULL);
            if (!has_text(json_elem(added, j), "name", "Set-Cookie") || !text ||
                (strstr(text, HTTPROUTE_TAKE_BACK) != NULL) != taken_back)
                continue;
            return arena_strndup(arena, text, strcspn(text, ";"));
        }
    }
    return NULL;
}

/* Flagger takes a cookie back with a filter of the rule, we with one of the backend. */
static const char *previous_cookie(struct arena *arena, const struct canary *canary,
                                   struct json_object *rule)
{
    struct json_object *primary = backend_named(rule, canary->service.primary_name);
    const char *cookie = cookie_of(arena, json_at(primary, "filters", NULL), true);

    return cookie ? cookie : cookie_of(arena, json_at(rule, "filters", NULL), true);
}

struct weights httproute_weights(struct arena *arena, const struct canary *canary,
                                 struct json_object *route)
{
    struct httproute_rules rules = httproute_rules(canary, route);
    struct json_object *to_primary = backend_named(rules.split, canary->service.primary_name);
    struct json_object *to_canary = backend_named(rules.split, canary->service.canary_name);
    struct json_object *mirror = httproute_mirror(canary, rules.split);
    int64_t primary = json_int_at(to_primary, 1, "weight", NULL);
    int64_t other = json_int_at(to_canary, 1, "weight", NULL);
    struct weights out = {.primary = 100, .mirrored = mirror, .matched = rules.rest};

    out.mirrors_all = mirror && HTTPROUTE_MIRROR_PERCENT(canary) > 0 &&
                      !json_at(mirror, "percent", NULL) && !json_at(mirror, "fraction", NULL);
    out.cookies =
        (struct cookies){.canary = cookie_of(arena, json_at(to_canary, "filters", NULL), false),
                         .primary = cookie_of(arena, json_at(to_primary, "filters", NULL), false),
                         .previous = previous_cookie(arena, canary, rules.sticky[0])};
    if (!rules.split || primary < 0 || other < 0 || primary > 1000000 || other > 1000000 ||
        primary + other == 0)
        return out;
    /* Somebody else's numbers need not add up to 100. */
    out.canary = (int)((other * 100 + (primary + other) / 2) / (primary + other));
    out.primary = 100 - out.canary;
    return out;
}

/* What a live route says: where its weights are, and what it copies and binds. */
#include <string.h>

#include "router/common_cookie.h"
#include "router/common_httproute.h"

static bool has_text(struct json_object *object, const char *key, const char *text)
{
    const char *found = json_str_at(object, key, NULL);

    return found && strcmp(found, text) == 0;
}

const struct split_format *httproute_format(const struct canary *canary)
{
    static const struct split_format format = {
        .rules = {"spec", "rules"}, .backends = {"backendRefs"}, .name = {"name"}, .missing = 1};

    (void)canary;
    return &format;
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
            const char *cookie = NULL;
            if (has_text(json_elem(added, j), "name", "Set-Cookie"))
                cookie =
                    cookie_read(arena, json_str_at(json_elem(added, j), "value", NULL), taken_back);
            if (cookie)
                return cookie;
        }
    }
    return NULL;
}

static const char *backend_cookie(struct arena *arena, struct json_object *backend, bool taken_back)
{
    return cookie_of(arena, json_at(backend, "filters", NULL), taken_back);
}

/* Flagger takes a cookie back with a filter of the rule, we with one of the backend. */
static const char *previous_cookie(struct arena *arena, const struct canary *canary,
                                   struct json_object *rule)
{
    struct json_object *primary =
        split_backend(httproute_format(canary), rule, canary->service.primary_name);
    const char *cookie = backend_cookie(arena, primary, true);

    return cookie ? cookie : cookie_of(arena, json_at(rule, "filters", NULL), true);
}

void httproute_read(struct arena *arena, const struct canary *canary, const struct split *split,
                    struct weights *out)
{
    struct json_object *mirror = httproute_mirror(canary, split->split);

    out->mirrored = mirror;
    out->mirrors_all = mirror && HTTPROUTE_MIRROR_PERCENT(canary) > 0 &&
                       !json_at(mirror, "percent", NULL) && !json_at(mirror, "fraction", NULL);
    out->cookies = (struct cookies){.canary = backend_cookie(arena, split->canary, false),
                                    .primary = backend_cookie(arena, split->primary, false),
                                    .previous = previous_cookie(arena, canary, split->sticky[0])};
}

#include "router/router.h"

#include <string.h>

#include "tick/edit.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

/* Length of the matching prefix of the provider name; 0 if none. */
static size_t served(const char *name, const char *provider)
{
    size_t len = strlen(name);

    if (len > 0 && name[len - 1] == '*')
        return strncmp(name, provider, len - 1) == 0 ? len - 1 : 0;
    return strcmp(name, provider) == 0 ? len + 1 : 0;
}

const struct router *router_find(const char *provider)
{
    const struct router *found = NULL;
    size_t best = 0;

    for (size_t i = 0; provider && router_table[i]; i++) {
        for (const char *const *name = router_table[i]->providers; *name; name++) {
            if (served(*name, provider) > best) {
                best = served(*name, provider);
                found = router_table[i];
            }
        }
    }
    return found;
}

const struct router *router_of(const char *provider, const struct canary *canary)
{
    const struct router *router = router_find(provider);

    if (router && router->refs && canary->service.n_route_refs > 0)
        return router->refs;
    if (router && router->stepped && canary->analysis.n_steps > 0)
        return router->stepped;
    return router && router->baked && canary->analysis.bake.for_ms > 0 ? router->baked : router;
}

bool router_splits(const struct router *router)
{
    return router->weighted && !router->whole;
}

const struct router *router_of_target(const struct kube_resource *target)
{
    for (size_t i = 0; router_table[i]; i++) {
        const struct kube_resource *only = router_table[i]->only_target;
        if (only && kube_resource_same(only, target))
            return router_table[i];
    }
    return NULL;
}

const char *const *router_object_names(struct arena *arena, const struct router *router,
                                       const struct canary *canary,
                                       const struct kube_resource *resource)
{
    if (router->names)
        return router->names(arena, canary, resource);
    const char **names = arena_array(arena, 2, sizeof *names);
    names[0] = canary->service.name;
    names[1] = NULL;
    return names;
}

int router_finest(const struct router *router)
{
    return router->finest > 0 ? router->finest : WEIGHT_PERCENT;
}

const char *router_names(struct arena *arena)
{
    const char *all = "";

    for (size_t i = 0; router_table[i]; i++) {
        for (const char *const *name = router_table[i]->providers; *name; name++)
            all = arena_printf(arena, "%s%s%s", all, *all ? ", " : "", *name);
    }
    return all;
}

const char *router_names_that(struct arena *arena, bool (*can)(const struct router *router))
{
    const char *all = "";

    for (size_t i = 0; router_table[i]; i++) {
        const char *name = router_table[i]->providers[0];
        if (can(router_table[i]))
            all = arena_printf(arena, "%s%s%.*s", all, *all ? ", " : "", (int)strcspn(name, "*"),
                               name);
    }
    return all;
}

/* --- checks of a spec */

enum { MAX_TEXT = 256 }; /* limit of a PCRE2 message; PCRE2 truncates longer ones */

const char *regex_mistake(struct arena *arena, const char *pattern)
{
    int number;
    PCRE2_SIZE at;
    PCRE2_UCHAR text[MAX_TEXT] = "";
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &number, &at, NULL);

    if (code) {
        pcre2_code_free(code);
        return NULL;
    }
    (void)pcre2_get_error_message(number, text, sizeof(text));
    return arena_printf(arena, "%s at character %zu", (const char *)text, (size_t)at + 1);
}

void ignored_add(struct ignored *list, struct json_object *from, const char *at,
                 const char *const keys[])
{
    for (; keys && *keys; keys++) {
        if (json_at(from, *keys, NULL))
            list->text = arena_printf(list->arena, "%s%s%s.%s", list->text ? list->text : "",
                                      list->text ? ", " : "", at, *keys);
    }
}

void ignored_add_each(struct ignored *list, struct json_object *array, const char *at,
                      const char *const keys[])
{
    for (size_t i = 0; i < json_len(array); i++)
        ignored_add(list, json_elem(array, i), arena_printf(list->arena, "%s[%zu]", at, i), keys);
}

const char *ignored_of_service(struct arena *arena, const struct canary *canary,
                               const char *const keys[], const char *const match_keys[])
{
    struct json_object *service = canary->service.json;
    struct ignored list = {.arena = arena};

    ignored_add_each(&list, json_at(service, "match", NULL), "spec.service.match", match_keys);
    ignored_add(&list, service, "spec.service", keys);
    return list.text;
}

const char *ignored_but_weights(struct arena *arena, const struct canary *canary)
{
    static const char *const keys[] = {"match",         "rewrite", "timeout",    "backendTimeout",
                                       "retries",       "headers", "corsPolicy", "mirror",
                                       "trafficPolicy", NULL};

    return ignored_of_service(arena, canary, keys, NULL);
}

/* --- headers of A/B tests, cookies of session affinity */

static const char *const all_ways[] = {"exact", "prefix", "suffix", "regex", NULL};

/* The kind of a StringMatch, NULL if it is none of those listed here. */
static const char *way_of(struct json_object *match, const char *const ways[])
{
    for (; *ways; ways++) {
        const char *value = json_str_at(match, *ways, NULL);
        if (value && *value)
            return *ways;
    }
    return NULL;
}

static size_t count_of(const struct canary *canary)
{
    size_t count = 0;

    for (size_t i = 0; i < json_len(canary->analysis.match); i++) {
        struct json_object *map = json_at(json_elem(canary->analysis.match, i), "headers", NULL);
        if (json_object_is_type(map, json_type_object))
            count += (size_t)json_object_object_length(map);
    }
    return count;
}

size_t headers_of_test(struct arena *arena, const struct canary *canary, struct header_match **out)
{
    size_t n = 0;

    *out = arena_array(arena, count_of(canary) + 1, sizeof **out);
    for (size_t i = 0; i < json_len(canary->analysis.match); i++) {
        struct json_object *map = json_at(json_elem(canary->analysis.match, i), "headers", NULL);
        size_t count;
        const char **keys = edit_keys(arena, map, &count);
        for (size_t k = 0; k < count; k++) {
            struct json_object *match = json_at(map, keys[k], NULL);
            const char *how = way_of(match, all_ways);
            if (how)
                (*out)[n++] = (struct header_match){keys[k], how, json_str_at(match, how, NULL)};
        }
    }
    return n;
}

static const char *header_mistake(struct arena *arena, struct json_object *match, const char *at,
                                  const char *mesh, const char *const ways[])
{
    const char *how = way_of(match, ways);
    const char *value = how ? json_str_at(match, how, NULL) : NULL;
    const char *known = ways[0];

    if (how && strcmp(how, "regex") == 0) {
        const char *mistake = regex_mistake(arena, value);
        return mistake ? arena_printf(arena, "%s.regex: %s, in \"%s\"", at, mistake, value) : NULL;
    }
    if (how)
        return NULL;
    for (size_t i = 1; ways[i]; i++)
        known = arena_printf(arena, "%s%s%s", known, ways[i + 1] ? ", " : " or ", ways[i]);
    return arena_printf(arena,
                        "%s: %s matches %s; appmesh:v1beta2 knows exact, prefix, suffix and regex",
                        at, mesh, known);
}

static const char *element_mistake(struct arena *arena, struct json_object *element, const char *at,
                                   const char *mesh, const char *const ways[])
{
    static const char *const others[] = {"queryParams", "sourceLabels"};
    static const char *const knows[] = {"istio and gatewayapi:v1 match", "istio matches"};
    struct json_object *headers = json_at(element, "headers", NULL);
    const char *why = NULL;
    size_t count;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (json_at(element, others[i], NULL))
            return arena_printf(arena, "%s.%s: %s matches headers alone; %s these", at, others[i],
                                mesh, knows[i]);
    }
    const char **keys = edit_keys(arena, headers, &count);
    if (count == 0)
        return arena_printf(arena, "%s: expected headers", at);
    for (size_t i = 0; i < count && !why; i++)
        why = header_mistake(arena, json_at(headers, keys[i], NULL),
                             arena_printf(arena, "%s.headers.%s", at, keys[i]), mesh, ways);
    return why;
}

const char *headers_mistake(struct arena *arena, const struct canary *canary, const char *mesh,
                            const char *const ways[], size_t max)
{
    const char *why = NULL;

    for (size_t i = 0; i < json_len(canary->analysis.match) && !why; i++)
        why = element_mistake(arena, json_elem(canary->analysis.match, i),
                              arena_printf(arena, "%s[%zu]", canary->analysis.match_at, i), mesh,
                              ways);
    if (!why && count_of(canary) > max)
        why = arena_printf(arena, "%s: %s matches at most %zu headers", canary->analysis.match_at,
                           mesh, max);
    return why;
}

#define TAKE_BACK "Max-Age=-1"

/* The attributes are sorted by name, as in Flagger. */
static const char *set_cookie(struct tick *tick, const char *cookie, const char *max_age)
{
    const struct canary_affinity *affinity = &tick->canary->analysis.affinity;
    const struct {
        const char *name, *value;
        bool is_set;
    } attributes[] = {
        {"; Domain=", affinity->domain, affinity->domain},
        {"; HttpOnly", "", affinity->http_only},
        {"; Partitioned", "", affinity->partitioned},
        {"; Path=", affinity->path, affinity->path},
        {"; SameSite=", affinity->same_site, affinity->same_site},
        {"; Secure", "", affinity->secure},
    };
    const char *text = arena_printf(tick->arena, "%s; %s", cookie, max_age);

    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        if (attributes[i].is_set)
            text =
                arena_printf(tick->arena, "%s%s%s", text, attributes[i].name, attributes[i].value);
    }
    return text;
}

const char *cookie_given(struct tick *tick, const char *cookie, int64_t max_age_s)
{
    if (!cookie)
        return NULL;
    return set_cookie(tick, cookie,
                      arena_printf(tick->arena, "Max-Age=%lld", (long long)max_age_s));
}

const char *cookie_taken_back(struct tick *tick, const char *cookie)
{
    return cookie ? set_cookie(tick, cookie, TAKE_BACK) : NULL;
}

const char *cookie_read(struct arena *arena, const char *value, bool taken_back)
{
    if (!value || (strstr(value, TAKE_BACK) != NULL) != taken_back)
        return NULL;
    return arena_strndup(arena, value, strcspn(value, ";"));
}

/* A regular expression that matches exactly this text. */
static const char *quoted(struct arena *arena, const char *text, size_t len)
{
    char *out = arena_alloc(arena, 2 * len + 1);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (strchr("\\.+*?()|[]{}^$", text[i]))
            out[n++] = '\\';
        out[n++] = text[i];
    }
    out[n] = '\0';
    return out;
}

const char *cookie_pattern(struct arena *arena, const char *cookie)
{
    const char *value = strchr(cookie, '=');
    size_t len = value ? (size_t)(value - cookie) : strlen(cookie);

    return arena_printf(arena, ".*%s.*%s.*", quoted(arena, cookie, len),
                        value ? quoted(arena, value + 1, strlen(value + 1)) : "");
}

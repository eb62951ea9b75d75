/*
 * What spec.service asks for and a route has no word for. It has no effect, as with Flagger, which
 * says so of `allowOrigins` alone and in its log; here the author of the Canary is told
 * (decide/ignored.c).
 */
#include "router/common_httproute.h"

/* Nothing is lost by what is not named here: the name of a match, and what belongs to other meshes
 * alone (Istio's gateways and delegation, App Mesh's backends). */
static const char *const of_match[] = {"withoutHeaders", "authority",      "scheme",
                                       "ignoreUriCase",  "port",           "gateways",
                                       "sourceLabels",   "sourceNamespace"};
static const char *const of_service[] = {"retries", "trafficPolicy"};
/* Words that an old version does not have. */
static const char *const of_rich[] = {"timeout", "backendTimeout", "corsPolicy"};
static const char *const patterns[] = {"prefix", "regex"};

enum {
    OF_MATCH = sizeof(of_match) / sizeof(of_match[0]),
    OF_SERVICE = sizeof(of_service) / sizeof(of_service[0]),
    OF_RICH = sizeof(of_rich) / sizeof(of_rich[0]),
    PATTERNS = sizeof(patterns) / sizeof(patterns[0]),
};

struct list {
    struct arena *arena;
    const char *text; /* NULL: empty */
};

static void add_given(struct list *list, struct json_object *from, const char *at,
                      const char *const keys[], int count)
{
    for (int i = 0; i < count; i++) {
        if (json_at(from, keys[i], NULL))
            list->text = arena_printf(list->arena, "%s%s%s.%s", list->text ? list->text : "",
                                      list->text ? ", " : "", at, keys[i]);
    }
}

static void add_of_elements(struct list *list, struct json_object *array, const char *at,
                            const char *const keys[], int count)
{
    for (size_t i = 0; i < json_len(array); i++)
        add_given(list, json_elem(array, i), arena_printf(list->arena, "%s[%zu]", at, i), keys,
                  count);
}

const char *httproute_ignored(struct arena *arena, const struct canary *canary,
                              const struct httproute_version *version)
{
    struct json_object *service = canary->service.json;
    struct list list = {.arena = arena};

    add_of_elements(&list, json_at(service, "match", NULL), "spec.service.match", of_match,
                    OF_MATCH);
    add_given(&list, service, "spec.service", of_service, OF_SERVICE);
    if (version->rich)
        add_of_elements(&list, json_at(service, "corsPolicy", "allowOrigins", NULL),
                        "spec.service.corsPolicy.allowOrigins", patterns, PATTERNS);
    else
        add_given(&list, service, "spec.service", of_rich, OF_RICH);
    return list.text;
}

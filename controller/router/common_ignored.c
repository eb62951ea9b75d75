#include "router/common_ignored.h"

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

#include "router/shared/spec_checks.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { MAX_TEXT = 256 }; /* limit of a message of PCRE2, which truncates longer ones */

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

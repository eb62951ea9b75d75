/* What the tests of this folder share: an arena per case, trees from text, and comparing trees as
 * text. */
#ifndef OBJECT_TRY_H
#define OBJECT_TRY_H

#include <string.h>

#include "base/json.h"
#include "test/unit.h"

static inline void try_arena_free(struct arena **arena)
{
    arena_free(*arena);
}

/* struct arena *arena TRY_FREED = arena_new(): until the end of the block */
#define TRY_FREED        __attribute__((cleanup(try_arena_free)))
#define TRY_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* JSON of a case: with single quotes, or as it is where it has double ones. */
static inline const char *try_quoted(struct arena *arena, const char *text)
{
    if (!text || strchr(text, '"'))
        return text;
    char *out = arena_strdup(arena, text);
    for (char *p = out; (p = strchr(p, '\'')); p++)
        *p = '"';
    return out;
}

static inline struct json_object *try_json(struct arena *arena, const char *text)
{
    struct json_object *obj = NULL;
    struct errinfo ei = {0};
    if (!text)
        return NULL;
    text = try_quoted(arena, text);
    if (json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &obj, &ei))
        fail_msg("%s: %s", text, ei.text);
    return obj;
}

#endif

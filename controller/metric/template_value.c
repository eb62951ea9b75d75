/* Values of a template, and how they are shown. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "metric/template_parts.h"

const char *template_type_name(enum template_type type)
{
    static const char *const names[] = {
        [TYPE_NIL] = "nil",     [TYPE_BOOL] = "bool",   [TYPE_INT] = "int",
        [TYPE_FLOAT] = "float", [TYPE_TEXT] = "string", [TYPE_MAP] = "map",
    };

    return names[type];
}

struct template_value template_text(const char *text, size_t len)
{
    return (struct template_value){.type = TYPE_TEXT, .text = text, .len = len};
}

bool template_truth(const struct template_value *value)
{
    switch (value->type) {
    case TYPE_NIL:
        return false;
    case TYPE_BOOL:
        return value->yes;
    case TYPE_INT:
        return value->whole != 0;
    case TYPE_FLOAT:
        return value->real < 0 || value->real > 0;
    case TYPE_TEXT:
        return value->len > 0;
    case TYPE_MAP:
        return value->map && json_object_object_length(value->map) > 0;
    }
    return false;
}

/* --- maps */

const char *template_entry(struct json_object *map, const char *key, size_t len)
{
    struct json_object *entry = strlen(key) == len ? json_at(map, key, NULL) : NULL;

    return entry ? json_object_get_string(entry) : NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **template_keys(struct arena *arena, struct json_object *map, size_t *n)
{
    const char **keys = NULL;

    *n = 0;
    if (!map)
        return keys;
    keys = arena_array(arena, (size_t)json_object_object_length(map), sizeof(*keys));
    json_object_object_foreach(map, key, entry)
    {
        (void)entry;
        keys[(*n)++] = key;
    }
    qsort(keys, *n, sizeof(*keys), by_text);
    return keys;
}

/* --- how they are shown */

/* The fewest digits that read back as the same number; with an exponent below -4 and from 6 on. */
static const char *show_real(struct arena *arena, double value)
{
    enum { MOST_DIGITS = 17, LEAST_EXPONENT = -4, MOST_EXPONENT = 6 };
    int digits = 0;
    const char *text;

    do
        text = arena_printf(arena, "%.*e", digits, value);
    while (strtod(text, NULL) != value && ++digits < MOST_DIGITS);
    int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent < LEAST_EXPONENT || exponent >= MOST_EXPONENT) /* as Go's %v */
        return text;
    return arena_printf(arena, "%.*f", digits > exponent ? digits - exponent : 0, value);
}

/* map[a:1 b:2] */
static const char *show_map(struct arena *arena, struct json_object *map)
{
    size_t n;
    const char **keys = template_keys(arena, map, &n);
    struct buf buf;

    buf_init(&buf, TEMPLATE_TEXT_MAX + 1); /* one more is too many, which the caller tells */
    buf_puts(&buf, "map[");
    for (size_t i = 0; i < n; i++)
        buf_printf(&buf, "%s%s:%s", i ? " " : "", keys[i],
                   template_entry(map, keys[i], strlen(keys[i])));
    buf_puts(&buf, "]");
    const char *all = arena_strndup(arena, buf.data, buf.len);
    buf_fini(&buf);
    return all;
}

const char *template_show(struct arena *arena, const struct template_value *value, size_t *len)
{
    const char *text = "<nil>";

    switch (value->type) {
    case TYPE_NIL:
        break;
    case TYPE_BOOL:
        text = value->yes ? "true" : "false";
        break;
    case TYPE_INT:
        text = arena_printf(arena, "%lld", (long long)value->whole);
        break;
    case TYPE_FLOAT:
        text = show_real(arena, value->real);
        break;
    case TYPE_TEXT:
        *len = value->len;
        return value->text;
    case TYPE_MAP:
        text = show_map(arena, value->map);
        break;
    }
    *len = strlen(text);
    return text;
}

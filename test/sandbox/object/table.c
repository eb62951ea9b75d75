#include "object/table.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "object/jsonpath.h"

const struct table_column table_age_alone[] = {
    {.name = "Age", .type = "date", .path = ".metadata.creationTimestamp"},
    {0},
};

static char *two_units(char *text, int64_t major, char unit, int64_t minor, char minor_unit)
{
    if (minor == 0)
        snprintf(text, TABLE_AGE, "%lld%c", (long long)major, unit);
    else
        snprintf(text, TABLE_AGE, "%lld%c%lld%c", (long long)major, unit, (long long)minor,
                 minor_unit);
    return text;
}

char *table_age(int64_t ms, char text[TABLE_AGE])
{
    int64_t s = ms / 1000, m = s / 60, h = m / 60, d = h / 24;
    if (ms <= -2000) {
        snprintf(text, TABLE_AGE, "<invalid>");
        return text;
    }
    if (s < 120)
        return two_units(text, s < 0 ? 0 : s, 's', 0, 0);
    if (m < 10)
        return two_units(text, m, 'm', s % 60, 's');
    if (m < 180)
        return two_units(text, m, 'm', 0, 0);
    if (h < 8)
        return two_units(text, h, 'h', m % 60, 'm');
    if (h < 48)
        return two_units(text, h, 'h', 0, 0);
    if (d < 8)
        return two_units(text, d, 'd', h % 24, 'h');
    if (d < 365 * 2)
        return two_units(text, d, 'd', 0, 0);
    if (d < 365 * 8)
        return two_units(text, d / 365, 'y', d % 365, 'd');
    return two_units(text, d / 365, 'y', 0, 0);
}

/* ---- cells ---- */

static struct json_object *text_cell(struct arena *arena, const char *text)
{
    return json_own(arena, json_object_new_string(text));
}

static struct json_object *date_cell(struct arena *arena, const char *time, int64_t now_ms)
{
    char age[TABLE_AGE];
    int64_t ms;
    if (!time || !*time)
        return text_cell(arena, "<unknown>");
    if (clock_parse(time, &ms, NULL) != ERR_OK)
        return text_cell(arena, "<invalid>");
    return text_cell(arena, table_age(now_ms - ms, age));
}

static bool is_number(struct json_object *value)
{
    return json_object_is_type(value, json_type_int) ||
           json_object_is_type(value, json_type_double);
}

static struct json_object *cell_of(struct arena *arena, const struct table_column *column,
                                   struct json_object *obj, int64_t now_ms)
{
    struct json_object *value = jsonpath_first(arena, obj, column->path);
    if (!value)
        return NULL;
    if (strcmp(column->type, "integer") == 0)
        return is_number(value)
                   ? json_own(arena, json_object_new_int64(json_object_get_int64(value)))
                   : NULL;
    if (strcmp(column->type, "number") == 0)
        return is_number(value) ? value : NULL;
    if (strcmp(column->type, "boolean") == 0)
        return json_object_is_type(value, json_type_boolean) ? value : NULL;
    if (strcmp(column->type, "date") == 0)
        return json_object_is_type(value, json_type_string)
                   ? date_cell(arena, json_object_get_string(value), now_ms)
                   : NULL;
    return json_object_is_type(value, json_type_string) ? value
                                                        : text_cell(arena, json_text(arena, value));
}

static struct json_object *cells_of(struct arena *arena, const struct table_column *columns,
                                    struct json_object *obj, int64_t now_ms)
{
    struct json_object *cells = json_object_new_array();
    json_object_array_add(cells, json_object_get(json_at(obj, "metadata", "name", NULL)));
    for (; columns->name; columns++)
        json_object_array_add(cells, json_object_get(cell_of(arena, columns, obj, now_ms)));
    return cells;
}

/* ---- columns ---- */

const struct table_column *table_columns(struct arena *arena, struct json_object *columns)
{
    size_t count = json_len(columns);
    struct table_column *out = arena_array(arena, count + 1, sizeof(*out));
    for (size_t i = 0; i < count; i++) {
        struct json_object *row = json_elem(columns, i);
        out[i] = (struct table_column){
            .name = arena_strdup(arena, json_str_at(row, "name", NULL)),
            .type = arena_strdup(arena, json_str_at(row, "type", NULL)),
            .path = arena_strdup(arena, json_str_at(row, "jsonPath", NULL)),
            .priority = (int)json_int_at(row, 0, "priority", NULL),
        };
    }
    return count > 0 ? out : table_age_alone;
}

static void add_definition(struct json_object *list, const char *name, const char *type,
                           const char *format, int priority)
{
    struct json_object *row = json_object_new_object();
    json_set_str(row, "name", name);
    json_set_str(row, "type", type);
    json_set_str(row, "format", format);
    json_set_str(row, "description", "");
    json_set_int(row, "priority", priority);
    json_object_array_add(list, row);
}

static struct json_object *definitions(const struct table_column *columns)
{
    struct json_object *list = json_object_new_array();
    add_definition(list, "Name", "string", "name", 0);
    for (; columns->name; columns++)
        add_definition(list, columns->name, columns->type, "", columns->priority);
    return list;
}

/* ---- tables ---- */

enum table_include table_include_of(const char *text)
{
    if (text && strcmp(text, "Object") == 0)
        return TABLE_OBJECT;
    return text && strcmp(text, "None") == 0 ? TABLE_NONE : TABLE_METADATA;
}

static struct json_object *row_object(const struct table_request *request, struct json_object *obj)
{
    if (request->include == TABLE_OBJECT)
        return json_object_get(obj);
    struct json_object *partial = json_object_new_object();
    json_set_str(partial, "kind", "PartialObjectMetadata");
    json_object_object_add(partial, "apiVersion", json_object_new_string("meta.k8s.io/v1"));
    json_set(partial, "metadata", json_at(obj, "metadata", NULL));
    return partial;
}

struct json_object *table_render(struct arena *arena, const struct table_column *columns,
                                 const struct table_request *request, struct json_object *items,
                                 struct json_object *list_metadata)
{
    static const char *const kept[] = {"resourceVersion", "continue", "remainingItemCount"};
    struct json_object *out = json_own(arena, json_object_new_object());
    json_set_str(out, "kind", "Table");
    json_set_str(out, "apiVersion",
                 arena_printf(arena, "meta.k8s.io/%s", request->version ? request->version : "v1"));
    struct json_object *metadata = json_sub(out, "metadata");
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (json_at(list_metadata, kept[i], NULL))
            json_set(metadata, kept[i], json_at(list_metadata, kept[i], NULL));
    json_object_object_add(out, "columnDefinitions",
                           request->no_definitions ? NULL : definitions(columns));
    struct json_object *rows = json_object_new_array();
    json_object_object_add(out, "rows", rows);
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *obj = json_elem(items, i), *entry = json_object_new_object();
        json_object_object_add(entry, "cells", cells_of(arena, columns, obj, request->now_ms));
        if (request->include != TABLE_NONE)
            json_object_object_add(entry, "object", row_object(request, obj));
        json_object_array_add(rows, entry);
    }
    return out;
}

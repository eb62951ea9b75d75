#include "object/table.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "object/form.h"
#include "object/meta.h"

const struct table_column table_age_alone[] = {
    {.name = "Age", .type = "date", .path = ".metadata.creationTimestamp"},
    {0},
};

char *table_age(int64_t ms, char text[TABLE_AGE])
{
    enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR, YEAR = 365 * DAY };
    static const struct {
        int64_t below, unit, rest; /* in seconds; rest 0: the unit alone */
        char names[2];
    } rows[] = {
        {120, 1, 0, "s"},
        {10 * MINUTE, MINUTE, 1, {'m', 's'}},
        {180 * MINUTE, MINUTE, 0, "m"},
        {8 * HOUR, HOUR, MINUTE, {'h', 'm'}},
        {48 * HOUR, HOUR, 0, "h"},
        {8 * DAY, DAY, HOUR, {'d', 'h'}},
        {2LL * YEAR, DAY, 0, "d"},
        {8LL * YEAR, YEAR, DAY, {'y', 'd'}},
        {INT64_MAX, YEAR, 0, "y"},
    };
    int64_t s = ms < 0 ? 0 : ms / 1000;
    size_t i = 0;
    while (s >= rows[i].below)
        i++;
    int64_t rest = rows[i].rest ? s % rows[i].unit / rows[i].rest : 0;
    if (ms <= -2000)
        snprintf(text, TABLE_AGE, "<invalid>");
    else if (rest == 0)
        snprintf(text, TABLE_AGE, "%lld%c", (long long)(s / rows[i].unit), rows[i].names[0]);
    else
        snprintf(text, TABLE_AGE, "%lld%c%lld%c", (long long)(s / rows[i].unit), rows[i].names[0],
                 (long long)rest, rows[i].names[1]);
    return text;
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
    struct json_object *cells = form(arena, "[]");
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

static struct json_object *definition(struct arena *arena, const char *name, const char *type,
                                      const char *format, int priority)
{
    return form(arena, "{name: %s, type: %s, format: %s, description: '', priority: %d}", name,
                type, format, priority);
}

static struct json_object *definitions(struct arena *arena, const struct table_column *columns)
{
    struct json_object *list = form(arena, "[%p]", definition(arena, "Name", "string", "name", 0));
    for (; columns->name; columns++)
        form_add(list, definition(arena, columns->name, columns->type, "", columns->priority));
    return list;
}

/* ---- tables ---- */

enum table_include table_include_of(const char *text)
{
    if (text && strcmp(text, "Object") == 0)
        return TABLE_OBJECT;
    return text && strcmp(text, "None") == 0 ? TABLE_NONE : TABLE_METADATA;
}

struct json_object *table_render(struct arena *arena, const struct table_column *columns,
                                 const struct table_request *request, struct json_object *items,
                                 struct json_object *list_metadata)
{
    struct json_object *rows = form(arena, "[]");
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *obj = json_elem(items, i), *shown = obj;
        if (request->include == TABLE_METADATA)
            shown = form(arena,
                         "{kind: PartialObjectMetadata, apiVersion: meta.k8s.io/v1, metadata: %p}",
                         json_at(obj, "metadata", NULL));
        form_add(rows, form(arena, "{cells: %p, object: %p}",
                            cells_of(arena, columns, obj, request->now_ms),
                            request->include == TABLE_NONE ? NULL : shown));
    }
    struct json_object *out = form(
        arena,
        "{kind: Table, apiVersion: %s, metadata: {resourceVersion: %p, continue: %p, "
        "remainingItemCount: %p}, columnDefinitions: null, rows: %p}",
        arena_printf(arena, "meta.k8s.io/%s", request->version ? request->version : "v1"),
        json_at(list_metadata, "resourceVersion", NULL), json_at(list_metadata, "continue", NULL),
        json_at(list_metadata, "remainingItemCount", NULL), rows);
    if (!request->no_definitions)
        json_set(out, "columnDefinitions", definitions(arena, columns));
    return out;
}

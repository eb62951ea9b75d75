#include "object/table.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "object/table_column.h"

enum { MAX_CELL = 4096 };

/* ---- cells ---- */

struct json_object *table_text(const struct table_row *row, const char *text)
{
    return text ? json_own(row->arena, json_object_new_string(text)) : NULL;
}

struct json_object *table_or_none(const struct table_row *row, const char *text)
{
    return table_text(row, text && text[0] ? text : "<none>");
}

struct json_object *table_int(const struct table_row *row, int64_t number)
{
    return json_own(row->arena, json_object_new_int64(number));
}

const char *table_join(const struct table_row *row, const char *first, const char *sep,
                       const char *next)
{
    return first[0] ? arena_printf(row->arena, "%s%s%s", first, sep, next) : next;
}

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

const char *table_since(const struct table_row *row, const char *time)
{
    int64_t ms;
    if (!time || !time[0])
        return "<unknown>";
    if (clock_parse(time, &ms, NULL))
        return "<invalid>";
    return table_age(row->now_ms - ms, arena_alloc(row->arena, TABLE_AGE));
}

struct json_object *table_cell_age(const struct table_row *row)
{
    return table_text(
        row, table_since(row, json_str_at(row->obj, "metadata", "creationTimestamp", NULL)));
}

/* ---- columns of a CRD ---- */

static bool is_number(struct json_object *value)
{
    return json_object_is_type(value, json_type_int) ||
           json_object_is_type(value, json_type_double);
}

/* A cell never outgrows MAX_CELL: a table is for reading. */
static const char *cut(const struct table_row *row, const char *text)
{
    size_t len = strlen(text);
    if (len <= MAX_CELL)
        return text;
    len = MAX_CELL;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    return arena_printf(row->arena, "%.*s...", (int)len, text);
}

static struct json_object *typed_cell(const struct table_row *row, const char *type,
                                      struct json_object *value)
{
    if (!value)
        return NULL;
    if (strcmp(type, "integer") == 0)
        return is_number(value) ? table_int(row, json_object_get_int64(value)) : NULL;
    if (strcmp(type, "number") == 0)
        return is_number(value) ? value : NULL;
    if (strcmp(type, "boolean") == 0)
        return json_object_is_type(value, json_type_boolean) ? value : NULL;
    if (strcmp(type, "date") == 0)
        return json_object_is_type(value, json_type_string)
                   ? table_text(row, table_since(row, json_object_get_string(value)))
                   : NULL;
    if (json_object_is_type(value, json_type_string))
        return table_text(row, cut(row, json_object_get_string(value)));
    return table_text(row, cut(row, json_text(row->arena, value)));
}

static struct json_object *field_cell(const struct table_row *row,
                                      const struct table_column *column)
{
    struct json_object *value = row->obj;
    for (const char *const *key = column->field; *key && value; key++)
        value = json_at(value, *key, NULL);
    if (column->number)
        return value ? value : table_int(row, column->absent_number);
    if (!column->absent)
        return value;
    const char *text = value ? json_object_get_string(value) : "";
    return table_text(row, text[0] ? text : column->absent);
}

static struct json_object *cell_of(const struct table_row *row, const struct table_column *column)
{
    if (column->cell)
        return column->cell(row);
    if (column->field[0])
        return field_cell(row, column);
    struct jsonpath_result found = jsonpath_find(column->path, row->arena, row->obj);
    return found.count > 0 ? typed_cell(row, column->type, found.values[0]) : NULL;
}

static const struct table_column name_and_age[] = {TABLE_NAME, TABLE_AGE_COLUMN};
static const struct table generic = {.columns = name_and_age, .count = 2};

static void free_path(void *ptr)
{
    jsonpath_free(ptr);
}

static enum err compile_column(struct arena *arena, struct json_object *row,
                               struct table_column *out, struct errinfo *ei)
{
    static const char *const types[] = {"string", "integer", "number", "boolean", "date"};
    const char *name = json_str_at(row, "name", NULL), *type = json_str_at(row, "type", NULL);
    const char *path = json_str_at(row, "jsonPath", NULL);
    bool known = false;
    if (!path)
        path = json_str_at(row, "JSONPath", NULL); /* apiextensions v1beta1 */
    if (!name || !name[0] || !type || !path)
        return err_set(ei, ERR_INVALID, "name, type and jsonPath are required");
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        known |= strcmp(type, types[i]) == 0;
    if (!known)
        return err_set(ei, ERR_INVALID,
                       "type: \"%s\" is none of string, integer, number, boolean, date", type);
    *out = (struct table_column){
        .name = arena_strdup(arena, name),
        .type = arena_strdup(arena, type),
        .format = arena_strdup(arena, json_str_at(row, "format", NULL)),
        .description = arena_strdup(arena, json_str_at(row, "description", NULL)),
        .priority = (int)json_int_at(row, 0, "priority", NULL),
    };
    enum err err = jsonpath_compile(path, &out->path, ei);
    if (!err)
        arena_defer(arena, free_path, out->path);
    return err;
}

enum err table_compile(struct json_object *columns, struct table **out, struct errinfo *ei)
{
    size_t count = json_len(columns);
    if (count > TABLE_MAX_COLUMNS)
        return err_set(ei, ERR_INVALID, "additionalPrinterColumns: at most %d, found %zu",
                       TABLE_MAX_COLUMNS, count);
    struct arena *arena = arena_new();
    struct table_column *rows = arena_array(arena, count + 2, sizeof(*rows));
    rows[0] = name_and_age[0];
    for (size_t i = 0; i < count; i++) {
        enum err err = compile_column(arena, json_elem(columns, i), &rows[i + 1], ei);
        if (err) {
            arena_free(arena);
            return err_wrap(ei, err, "additionalPrinterColumns[%zu]", i);
        }
    }
    if (count == 0)
        rows[1] = name_and_age[1];
    struct table *table = ARENA_NEW(arena, struct table);
    *table = (struct table){.arena = arena, .columns = rows, .count = count == 0 ? 2 : count + 1};
    *out = table;
    return ERR_OK;
}

void table_free(struct table *table)
{
    if (table && table->arena)
        arena_free(table->arena);
}

static const struct table *find(const struct table_kind *kinds, const char *group, const char *kind)
{
    for (; kinds->kind; kinds++)
        if (strcmp(kinds->kind, kind) == 0 && strcmp(kinds->group, group) == 0)
            return &kinds->table;
    return NULL;
}

const struct table *table_builtin(const char *group, const char *kind)
{
    const struct table *table = find(table_workloads, group, kind);
    if (!table)
        table = find(table_others, group, kind);
    return table ? table : &generic;
}

/* ---- tables ---- */

bool table_include_parse(const char *text, enum table_include *out)
{
    static const char *const names[] = {
        [TABLE_METADATA] = "Metadata", [TABLE_OBJECT] = "Object", [TABLE_NONE] = "None"};
    *out = TABLE_METADATA;
    if (!text || !text[0])
        return true;
    for (int i = TABLE_METADATA; i <= TABLE_NONE; i++)
        if (strcmp(names[i], text) == 0) {
            *out = (enum table_include)i;
            return true;
        }
    return false;
}

static struct json_object *definitions(const struct table *table)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < table->count; i++) {
        const struct table_column *column = &table->columns[i];
        struct json_object *row = json_object_new_object();
        json_set_str(row, "name", column->name);
        json_set_str(row, "type", column->type);
        json_set_str(row, "format", column->format ? column->format : "");
        json_set_str(row, "description", column->description ? column->description : "");
        json_set_int(row, "priority", column->priority);
        json_object_array_add(list, row);
    }
    return list;
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

struct json_object *table_render(struct arena *arena, const struct table *table,
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
                           request->no_definitions ? NULL : definitions(table));
    struct json_object *rows = json_object_new_array();
    json_object_object_add(out, "rows", rows);
    for (size_t i = 0; i < json_len(items); i++) {
        struct table_row row = {
            .arena = arena, .obj = json_elem(items, i), .now_ms = request->now_ms};
        struct json_object *entry = json_object_new_object();
        struct json_object *cells = json_object_new_array();
        for (size_t c = 0; c < table->count; c++)
            json_object_array_add(cells, json_object_get(cell_of(&row, &table->columns[c])));
        json_object_object_add(entry, "cells", cells);
        if (request->include != TABLE_NONE)
            json_object_object_add(entry, "object", row_object(request, row.obj));
        json_object_array_add(rows, entry);
    }
    return out;
}

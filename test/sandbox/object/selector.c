/* Selectors of objects are written as text first, so that one parser reads all. */
#include "object/selector.h"

#include <string.h>

#include "base/json.h"
#include "object/meta.h"

struct field {
    struct field *next;
    const char *path, *value;
    bool other; /* any value but that one */
};

struct fields {
    struct field *first, **last;
};

static const char *add(struct arena *arena, const char *text, const char *term)
{
    return arena_printf(arena, "%s%s%s", text, *text ? "," : "", term);
}

/* NULL for what is no map of texts. */
static const char *map_text(struct arena *arena, struct json_object *map)
{
    const char *text = "";
    if (map && !json_object_is_type(map, json_type_object))
        return NULL;
    if (!map)
        return text;
    json_object_object_foreach(map, key, value)
    {
        if (!json_object_is_type(value, json_type_string))
            return NULL;
        text = add(arena, text, arena_printf(arena, "%s=%s", key, json_object_get_string(value)));
    }
    return text;
}

/* NULL for what is no expression. */
static const char *expression_text(struct arena *arena, struct json_object *row)
{
    const char *key = json_str_at(row, "key", NULL), *values = "";
    const char *operator= json_str_at(row, "operator", NULL);
    struct json_object *list = json_at(row, "values", NULL);
    if (!key || !operator)
        return NULL;
    for (size_t i = 0; i < json_len(list); i++)
        values = add(arena, values, json_object_get_string(json_elem(list, i)) ?: "");
    if (strcmp(operator, "Exists") == 0 && !*values)
        return key;
    if (strcmp(operator, "DoesNotExist") == 0 && !*values)
        return arena_printf(arena, "!%s", key);
    if (strcmp(operator, "In") == 0 && *values)
        return arena_printf(arena, "%s in (%s)", key, values);
    return strcmp(operator, "NotIn") == 0 && *values
               ? arena_printf(arena, "%s notin (%s)", key, values)
               : NULL;
}

enum err selector_from_object(struct arena *arena, struct json_object *obj,
                              const struct selector **out, struct errinfo *ei)
{
    struct json_object *rows = json_at(obj, "matchExpressions", NULL);
    const char *text = map_text(arena, json_at(obj, "matchLabels", NULL));
    for (size_t i = 0; text && i < json_len(rows); i++) {
        const char *row = expression_text(arena, json_elem(rows, i));
        text = row ? add(arena, text, row) : NULL;
    }
    if (!text || (obj && !json_object_is_type(obj, json_type_object)))
        return err_set(ei, ERR_INVALID, "expected matchLabels and matchExpressions");
    return selector_parse(arena, obj ? text : NULL, out, ei);
}

enum err selector_from_map(struct arena *arena, struct json_object *map,
                           const struct selector **out, struct errinfo *ei)
{
    const char *text = map_text(arena, map);
    if (!text)
        return err_set(ei, ERR_INVALID, "selector: expected a map of texts");
    return selector_parse(arena, *text ? text : NULL, out, ei);
}

/* ---- fields ---- */

/* What kubectl selects by, besides metadata.name and metadata.namespace of every kind. */
static bool is_selectable(const char *kind, const char *field)
{
    static const char *const fields[][2] = {
        {"Pod", "spec.nodeName"},
        {"Pod", "status.phase"},
        {"Event", "involvedObject.kind"},
        {"Event", "involvedObject.namespace"},
        {"Event", "involvedObject.name"},
        {"Event", "involvedObject.uid"},
        {"Event", "reason"},
        {"Event", "type"},
        {"Event", "involvedObject.fieldPath"},
    };
    if (strcmp(field, "metadata.name") == 0 || strcmp(field, "metadata.namespace") == 0)
        return true;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (strcmp(fields[i][0], kind) == 0 && strcmp(fields[i][1], field) == 0)
            return true;
    return false;
}

/* "metadata.name = x": without the spaces around either. */
static bool read_field(struct arena *arena, const char *text, struct field *field)
{
    const char *sign = text + strcspn(text, "=!");
    const char *value = sign + strspn(sign, "=!");
    size_t len = (size_t)(value - sign), path = (size_t)(sign - text);

    field->other = strncmp(sign, "!=", 2) == 0;
    if (len == 0 || len > 2 || sign[len - 1] != '=')
        return false;
    while (path > 0 && text[path - 1] == ' ')
        path--;
    field->path = arena_strndup(arena, text, path);
    field->value = arena_strdup(arena, value + strspn(value, " "));
    return true;
}

enum err fields_parse(struct arena *arena, const char *kind, const char *text,
                      const struct fields **out, struct errinfo *ei)
{
    struct fields *fields = ARENA_NEW(arena, struct fields);

    *out = fields;
    fields->last = &fields->first;
    for (const char *at = text ? text : ""; at[strspn(at, " ")];) {
        struct field *field = ARENA_NEW(arena, struct field);
        size_t len = strcspn(at, ",");
        size_t spaces = strspn(at, " ");
        if (!read_field(arena, arena_strndup(arena, at + spaces, len - spaces), field))
            return err_set(ei, ERR_INVALID, "unable to parse selector \"%s\" at \"%s\"", text, at);
        if (!is_selectable(kind, field->path))
            return err_set(ei, ERR_INVALID, "field label not supported: %s", field->path);
        *fields->last = field;
        fields->last = &field->next;
        at += len + (at[len] == ',');
    }
    return ERR_OK;
}

bool fields_match(const struct fields *fields, struct json_object *obj)
{
    struct arena *arena = arena_new();
    bool all = true;

    for (const struct field *field = fields->first; field && all; field = field->next) {
        struct json_object *value = jsonpath_first(arena, obj, field->path);
        all =
            field->other == (strcmp(value ? json_object_get_string(value) : "", field->value) != 0);
    }
    arena_free(arena);
    return all;
}

const char *fields_wanted(const struct fields *fields, const char *path)
{
    for (const struct field *field = fields->first; field; field = field->next)
        if (!field->other && strcmp(field->path, path) == 0)
            return field->value;
    return NULL;
}

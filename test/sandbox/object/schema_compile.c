#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "object/schema_tree.h"

enum { MAX_PROPERTIES = 10000, MAX_BRANCHES = 1000 };

/* Whether the structural rules ask for a type here; inside of anyOf and its kind they forbid one.
 */
enum context { STRUCTURAL, BRANCH };

struct compiler {
    struct arena *arena;
    struct errinfo *ei;
};

static enum err compile_node(struct compiler *c, struct json_object *obj, enum context context,
                             int depth, struct schema **out);

static void put_json(void *ptr)
{
    json_object_put(ptr);
}

static void free_pattern(void *ptr)
{
    pattern_free(ptr);
}

static bool get(struct json_object *obj, const char *key, struct json_object **out)
{
    return json_object_object_get_ex(obj, key, out) && *out;
}

static enum err want(struct compiler *c, struct json_object *value, const char *key,
                     enum json_type type)
{
    if (json_object_is_type(value, type))
        return ERR_OK;
    return err_set(c->ei, ERR_INVALID, "%s: expected %s, found %s", key, json_type_to_name(type),
                   json_type_to_name(json_object_get_type(value)));
}

static enum err compile_type(struct compiler *c, struct json_object *obj, struct schema *schema)
{
    struct json_object *value;
    if (!get(obj, "type", &value))
        return ERR_OK;
    enum err err = want(c, value, "type", json_type_string);
    if (err)
        return err;
    for (int t = SCHEMA_OBJECT; t <= SCHEMA_BOOLEAN; t++)
        if (strcmp(json_object_get_string(value), schema_type_name((enum schema_type)t)) == 0) {
            schema->type = (enum schema_type)t;
            return ERR_OK;
        }
    return err_set(c->ei, ERR_INVALID,
                   "type: \"%s\" is none of object, array, string, integer, number, boolean",
                   json_object_get_string(value));
}

static enum err compile_flags(struct compiler *c, struct json_object *obj, struct schema *schema)
{
    const struct {
        const char *key;
        bool *at;
    } rows[] = {
        {"nullable", &schema->nullable},
        {"x-kubernetes-int-or-string", &schema->int_or_string},
        {"x-kubernetes-preserve-unknown-fields", &schema->preserve},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_object *value;
        if (!get(obj, rows[i].key, &value))
            continue;
        enum err err = want(c, value, rows[i].key, json_type_boolean);
        if (err)
            return err;
        *rows[i].at = json_object_get_boolean(value);
    }
    return ERR_OK;
}

static bool get_number(struct json_object *obj, const char *key, double *out, bool *bad)
{
    struct json_object *value;
    if (!get(obj, key, &value))
        return false;
    *bad |=
        !json_object_is_type(value, json_type_int) && !json_object_is_type(value, json_type_double);
    *out = json_object_get_double(value);
    return true;
}

static enum err compile_bounds(struct compiler *c, struct json_object *obj, struct schema *schema)
{
    bool bad = false;
    schema->range.has_min = get_number(obj, "minimum", &schema->range.min, &bad);
    schema->range.has_max = get_number(obj, "maximum", &schema->range.max, &bad);
    if (bad)
        return err_set(c->ei, ERR_INVALID, "minimum and maximum must be numbers");
    const struct {
        const char *key;
        int64_t *at;
    } rows[] = {
        {"minLength", &schema->length.min},    {"maxLength", &schema->length.max},
        {"minItems", &schema->item_count.min}, {"maxItems", &schema->item_count.max},
        {"minProperties", &schema->size.min},  {"maxProperties", &schema->size.max},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_object *value;
        *rows[i].at = -1;
        if (!get(obj, rows[i].key, &value))
            continue;
        if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
            return err_set(c->ei, ERR_INVALID,
                           "%s: expected a whole number of at least 0, found %s", rows[i].key,
                           json_text(c->arena, value));
        *rows[i].at = json_object_get_int64(value);
    }
    return ERR_OK;
}

static enum err compile_strings(struct compiler *c, struct json_object *obj, const char *key,
                                const char ***out, size_t *count)
{
    struct json_object *value;
    if (!get(obj, key, &value))
        return ERR_OK;
    enum err err = want(c, value, key, json_type_array);
    if (err)
        return err;
    *count = json_len(value);
    *out = arena_array(c->arena, *count, sizeof(**out));
    for (size_t i = 0; i < *count; i++) {
        struct json_object *item = json_elem(value, i);
        if (!json_object_is_type(item, json_type_string))
            return err_set(c->ei, ERR_INVALID, "%s[%zu]: expected a string", key, i);
        (*out)[i] = arena_strdup(c->arena, json_object_get_string(item));
    }
    return ERR_OK;
}

static enum err compile_values(struct compiler *c, struct json_object *obj, struct schema *schema)
{
    struct json_object *value;
    if (get(obj, "enum", &value)) {
        enum err err = want(c, value, "enum", json_type_array);
        if (err)
            return err;
        schema->enums = json_object_get(value);
        arena_defer(c->arena, put_json, schema->enums);
    }
    if (get(obj, "default", &value)) {
        schema->fallback = json_object_get(value);
        arena_defer(c->arena, put_json, schema->fallback);
    }
    if (get(obj, "format", &value)) {
        enum err err = want(c, value, "format", json_type_string);
        if (err)
            return err;
        schema->format_name = arena_strdup(c->arena, json_object_get_string(value));
        schema->format = schema_format_named(schema->format_name);
    }
    if (get(obj, "pattern", &value)) {
        enum err err = want(c, value, "pattern", json_type_string);
        if (!err)
            err = pattern_compile(json_object_get_string(value), PATTERN_CHARACTERS,
                                  &schema->pattern, c->ei);
        if (err)
            return err;
        arena_defer(c->arena, free_pattern, schema->pattern);
        schema->pattern_text = arena_strdup(c->arena, json_object_get_string(value));
    }
    return ERR_OK;
}

static enum err compile_list(struct compiler *c, struct json_object *obj, struct schema *schema)
{
    const char *list = json_str_at(obj, "x-kubernetes-list-type", NULL);
    if (list && strcmp(list, "map") == 0)
        schema->list = SCHEMA_LIST_MAP;
    else if (list && strcmp(list, "set") == 0)
        schema->list = SCHEMA_LIST_SET;
    else if (list && strcmp(list, "atomic") != 0)
        return err_set(c->ei, ERR_INVALID,
                       "x-kubernetes-list-type: \"%s\" is none of atomic, set, map", list);
    enum err err = compile_strings(c, obj, "x-kubernetes-list-map-keys", &schema->list_keys,
                                   &schema->list_key_count);
    if (!err && schema->list == SCHEMA_LIST_MAP && schema->list_key_count == 0)
        err =
            err_set(c->ei, ERR_INVALID, "x-kubernetes-list-map-keys: a list of type map needs it");
    return err;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct schema_property *)a)->name,
                  ((const struct schema_property *)b)->name);
}

static enum err compile_properties(struct compiler *c, struct json_object *obj,
                                   enum context context, int depth, struct schema *schema)
{
    struct json_object *value;
    if (!get(obj, "properties", &value))
        return ERR_OK;
    enum err err = want(c, value, "properties", json_type_object);
    if (err)
        return err;
    int count = json_object_object_length(value);
    if (count > MAX_PROPERTIES)
        return err_set(c->ei, ERR_INVALID, "properties: more than %d", MAX_PROPERTIES);
    schema->properties = arena_array(c->arena, (size_t)count, sizeof(*schema->properties));
    json_object_object_foreach(value, name, child)
    {
        struct schema_property *property = &schema->properties[schema->property_count++];
        property->name = arena_strdup(c->arena, name);
        err = compile_node(c, child, context, depth + 1, &property->schema);
        if (err)
            return err_wrap(c->ei, err, "properties[%s]", name);
    }
    qsort(schema->properties, schema->property_count, sizeof(*schema->properties), by_name);
    return ERR_OK;
}

static enum err compile_children(struct compiler *c, struct json_object *obj, enum context context,
                                 int depth, struct schema *schema)
{
    struct json_object *value;
    enum err err = compile_properties(c, obj, context, depth, schema);
    if (err)
        return err;
    if (get(obj, "items", &value)) {
        err = compile_node(c, value, context, depth + 1, &schema->items);
        if (err)
            return err_wrap(c->ei, err, "items");
    }
    if (!get(obj, "additionalProperties", &value))
        return ERR_OK;
    if (json_object_is_type(value, json_type_boolean)) {
        schema->additional_forbidden = !json_object_get_boolean(value);
        if (!schema->additional_forbidden) {
            schema->additional = ARENA_NEW(c->arena, struct schema);
            *schema->additional = (struct schema){.preserve = true,
                                                  .nullable = true,
                                                  .length = {-1, -1},
                                                  .item_count = {-1, -1},
                                                  .size = {-1, -1}};
        }
        return ERR_OK;
    }
    err = compile_node(c, value, context, depth + 1, &schema->additional);
    if (err)
        return err_wrap(c->ei, err, "additionalProperties");
    return ERR_OK;
}

static enum err compile_branches(struct compiler *c, struct json_object *obj, const char *key,
                                 int depth, struct schema_branches *out)
{
    struct json_object *value;
    if (!get(obj, key, &value))
        return ERR_OK;
    enum err err = want(c, value, key, json_type_array);
    if (err)
        return err;
    if (json_len(value) > MAX_BRANCHES)
        return err_set(c->ei, ERR_INVALID, "%s: more than %d branches", key, MAX_BRANCHES);
    out->list = arena_array(c->arena, json_len(value), sizeof(struct schema *));
    for (size_t i = 0; i < json_len(value); i++) {
        err = compile_node(c, json_elem(value, i), BRANCH, depth + 1, &out->list[i]);
        if (err)
            return err_wrap(c->ei, err, "%s[%zu]", key, i);
        out->count++;
    }
    return ERR_OK;
}

static enum err compile_logic(struct compiler *c, struct json_object *obj, int depth,
                              struct schema *schema)
{
    enum err err = compile_branches(c, obj, "anyOf", depth, &schema->any_of);
    return err ? err : compile_branches(c, obj, "oneOf", depth, &schema->one_of);
}

/* The structural rules, as far as objects could be misread without them. */
static enum err check_structural(struct compiler *c, struct json_object *obj,
                                 const struct schema *schema)
{
    if (json_at(obj, "$ref", NULL))
        return err_set(c->ei, ERR_INVALID, "$ref: references are not allowed in a CRD");
    if (schema->type == SCHEMA_ANY && !schema->int_or_string && !schema->preserve)
        return err_set(c->ei, ERR_INVALID,
                       "type: required, unless x-kubernetes-int-or-string or "
                       "x-kubernetes-preserve-unknown-fields is set");
    if (schema->type == SCHEMA_ARRAY && !schema->items && !schema->preserve)
        return err_set(c->ei, ERR_INVALID, "items: required for type array");
    if (schema->property_count > 0 && schema->additional)
        return err_set(c->ei, ERR_INVALID,
                       "additionalProperties: not allowed together with properties");
    return ERR_OK;
}

static enum err compile_node(struct compiler *c, struct json_object *obj, enum context context,
                             int depth, struct schema **out)
{
    if (depth > SCHEMA_MAX_DEPTH)
        return err_set(c->ei, ERR_INVALID, "the schema is nested deeper than %d", SCHEMA_MAX_DEPTH);
    if (!json_object_is_type(obj, json_type_object))
        return err_set(c->ei, ERR_INVALID, "expected a schema object, found %s",
                       cause_value(c->arena, obj));
    struct schema *schema = ARENA_NEW(c->arena, struct schema);
    *out = schema;
    enum err err = compile_type(c, obj, schema);
    if (!err)
        err = compile_flags(c, obj, schema);
    if (!err)
        err = compile_bounds(c, obj, schema);
    if (!err)
        err = compile_strings(c, obj, "required", &schema->required, &schema->required_count);
    if (!err)
        err = compile_values(c, obj, schema);
    if (!err)
        err = compile_list(c, obj, schema);
    if (!err)
        err = compile_children(c, obj, context, depth, schema);
    if (!err)
        err = compile_logic(c, obj, depth, schema);
    if (!err && context == STRUCTURAL)
        err = check_structural(c, obj, schema);
    return err;
}

enum err schema_compile(struct json_object *open_api, struct schema **out, struct errinfo *ei)
{
    struct compiler c = {.arena = arena_new(), .ei = ei};
    struct schema *schema = NULL;
    enum err err = compile_node(&c, open_api, STRUCTURAL, 0, &schema);
    assert(err || schema);
    if (!err && schema->type != SCHEMA_OBJECT && !schema->preserve)
        err = err_set(ei, ERR_INVALID, "type: must be object at the root");
    if (err) {
        arena_free(c.arena);
        return err;
    }
    schema->root = true;
    schema->arena = c.arena;
    *out = schema;
    return ERR_OK;
}

void schema_free(struct schema *schema)
{
    if (schema)
        arena_free(schema->arena);
}

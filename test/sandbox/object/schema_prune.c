#include <string.h>

#include "object/schema_tree.h"

struct pruner {
    struct arena *arena;
    struct schema_paths *unknown;
    size_t room;
};

static void prune(struct pruner *p, const struct schema *schema, struct json_object *obj,
                  const struct schema_place *place);

/* Fields that every object of the API has, at the root. */
static bool is_meta(const struct schema *schema, const char *key)
{
    return schema->root && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
                            strcmp(key, "metadata") == 0);
}

static void report(struct pruner *p, const struct schema_place *place)
{
    if (!p->unknown || p->unknown->count >= CAUSE_MAX)
        return;
    if (p->unknown->count == p->room) {
        const char **old = p->unknown->paths;
        p->room = p->room ? p->room * 2 : 8;
        p->unknown->paths = arena_array(p->arena, p->room, sizeof(*old));
        if (old)
            memcpy(p->unknown->paths, old, p->unknown->count * sizeof(*old));
    }
    p->unknown->paths[p->unknown->count++] = schema_place_text(p->arena, place);
}

static void prune_object(struct pruner *p, const struct schema *schema, struct json_object *obj,
                         const struct schema_place *place)
{
    json_object_object_foreach(obj, key, value)
    {
        struct schema_place here = {.up = place, .key = key};
        const struct schema *field = schema_field(schema, key);
        if (is_meta(schema, key))
            continue;
        if (field) {
            prune(p, field, value, &here);
        } else if (!schema->preserve) {
            report(p, &here);
            json_object_object_del(obj, key);
        }
    }
}

static void prune(struct pruner *p, const struct schema *schema, struct json_object *obj,
                  const struct schema_place *place)
{
    if (json_object_is_type(obj, json_type_object)) {
        prune_object(p, schema, obj, place);
    } else if (json_object_is_type(obj, json_type_array) && schema->items) {
        for (size_t i = 0; i < json_len(obj); i++) {
            struct schema_place here = {.up = place, .index = i};
            prune(p, schema->items, json_elem(obj, i), &here);
        }
    }
}

void schema_prune(const struct schema *schema, struct arena *arena, struct json_object *obj,
                  struct schema_paths *unknown)
{
    struct pruner p = {.arena = arena, .unknown = unknown};
    struct schema_place root = {0};
    if (unknown)
        *unknown = (struct schema_paths){0};
    prune(&p, schema, obj, &root);
}

static struct json_object *copy_fallback(const struct schema *schema)
{
    struct json_object *copy = NULL;
    json_object_deep_copy(schema->fallback, &copy, NULL);
    return copy;
}

static void default_object(const struct schema *schema, struct json_object *obj)
{
    for (size_t i = 0; i < schema->property_count; i++) {
        const struct schema_property *property = &schema->properties[i];
        struct json_object *value;
        bool present = json_object_object_get_ex(obj, property->name, &value);
        bool empty = !present || (!value && !property->schema->nullable);
        if (empty && property->schema->fallback)
            json_object_object_add(obj, property->name, copy_fallback(property->schema));
    }
    json_object_object_foreach(obj, key, value)
    {
        const struct schema *field = schema_field(schema, key);
        if (!field || is_meta(schema, key))
            continue;
        if (value)
            schema_default(field, value);
        else if (!field->nullable && field->fallback)
            json_object_object_add(obj, key, copy_fallback(field)); /* replaces in place */
        else if (!field->nullable)
            json_object_object_del(obj, key);
    }
}

void schema_default(const struct schema *schema, struct json_object *obj)
{
    if (json_object_is_type(obj, json_type_object)) {
        default_object(schema, obj);
    } else if (json_object_is_type(obj, json_type_array) && schema->items) {
        for (size_t i = 0; i < json_len(obj); i++) {
            struct json_object *item = json_elem(obj, i);
            if (item)
                schema_default(schema->items, item);
            else if (!schema->items->nullable && schema->items->fallback)
                json_object_array_put_idx(obj, i, copy_fallback(schema->items));
        }
    }
}

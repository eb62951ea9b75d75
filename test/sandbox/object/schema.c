#include "object/schema_tree.h"

#include <string.h>

#include "object/form.h"

/* --- reading a schema */

static bool is_open(struct json_object *node)
{
    return schema_is(node, "x-kubernetes-preserve-unknown-fields");
}

static bool is_type(struct json_object *node, const char *type)
{
    const char *found = json_str_at(node, "type", NULL);
    return found && strcmp(found, type) == 0;
}

/* --- compiling: a schema that says something else than it should is refused */

/* What a schema is, as a schema; but for what its children are. */
static const struct schema *schema_of_schemas(void)
{
    static struct schema schema; /* for the life of the process */
    if (schema.arena)
        return &schema;
    schema.arena = arena_new();
    schema.root = form(
        schema.arena,
        "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {"
        "type: {type: string, enum: [object, array, string, integer, number, boolean]}, "
        "nullable: {type: boolean}, format: {type: string}, pattern: {type: string}, "
        "enum: {type: array}, required: {type: array, items: {type: string}}, "
        "properties: {type: object}, not: {type: object}, allOf: {type: array}, "
        "anyOf: {type: array}, oneOf: {type: array}, minimum: {type: number}, "
        "maximum: {type: number}, minLength: {type: integer, minimum: 0}, "
        "maxLength: {type: integer, minimum: 0}, minItems: {type: integer, minimum: 0}, "
        "maxItems: {type: integer, minimum: 0}, minProperties: {type: integer, minimum: 0}, "
        "maxProperties: {type: integer, minimum: 0}, x-kubernetes-int-or-string: {type: boolean}, "
        "x-kubernetes-preserve-unknown-fields: {type: boolean}, "
        "x-kubernetes-list-type: {type: string, enum: [atomic, set, map]}, "
        "x-kubernetes-list-map-keys: {type: array, items: {type: string}}}}");
    return &schema;
}

static void free_pattern(void *pattern)
{
    pattern_free(pattern);
}

static enum err add_pattern(struct schema *schema, struct json_object *node, struct errinfo *ei)
{
    const char *text = json_str_at(node, "pattern", NULL);
    if (!text || table_get(&schema->patterns, text, NULL))
        return ERR_OK;
    struct schema_pattern *item = ARENA_NEW(schema->arena, struct schema_pattern);
    item->text = text;
    enum err err = pattern_compile(text, PATTERN_CHARACTERS, &item->pattern, ei);
    if (err == ERR_OK) {
        arena_defer(schema->arena, free_pattern, item->pattern);
        table_put(&schema->patterns, item);
    }
    return err;
}

/* The structural rules, as far as objects could be misread without them. */
static enum err check_structural(struct json_object *node, struct errinfo *ei)
{
    struct json_object *others = json_at(node, "additionalProperties", NULL);
    struct json_object *properties = json_at(node, "properties", NULL);
    if (json_at(node, "$ref", NULL))
        return err_set(ei, ERR_INVALID, "$ref: references are not allowed in a CRD");
    if (!json_at(node, "type", NULL) && !schema_is(node, "x-kubernetes-int-or-string") &&
        !is_open(node))
        return err_set(ei, ERR_INVALID,
                       "type: required, unless x-kubernetes-int-or-string or "
                       "x-kubernetes-preserve-unknown-fields is set");
    if (is_type(node, "array") && !json_at(node, "items", NULL) && !is_open(node))
        return err_set(ei, ERR_INVALID, "items: required for type array");
    bool open = others && (!json_object_is_type(others, json_type_boolean) ||
                           json_object_get_boolean(others));
    const char *list = json_str_at(node, "x-kubernetes-list-type", NULL);
    if (list && strcmp(list, "map") == 0 &&
        json_len(json_at(node, "x-kubernetes-list-map-keys", NULL)) == 0)
        return err_set(ei, ERR_INVALID, "x-kubernetes-list-map-keys: a list of type map needs it");
    if (properties && json_object_object_length(properties) > 0 && open)
        return err_set(ei, ERR_INVALID,
                       "additionalProperties: not allowed together with properties");
    return ERR_OK;
}

static enum err check_node(struct schema *schema, struct json_object *node, bool branch, int depth,
                           struct errinfo *ei);

/* branch: inside of anyOf and its kind, where the structural rules do not ask for types. */
static enum err check_children(struct schema *schema, struct json_object *node, bool branch,
                               int depth, struct errinfo *ei)
{
    static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
    static const char *const nodes[] = {"items", "additionalProperties", "not"};
    struct json_object *properties = json_at(node, "properties", NULL);
    enum err err = ERR_OK;
    if (properties) {
        json_object_object_foreach(properties, name, child)
        {
            err = check_node(schema, child, branch, depth + 1, ei);
            if (err != ERR_OK)
                return err_wrap(ei, err, "properties[%s]", name);
        }
    }
    for (size_t k = 0; k < 3; k++) {
        struct json_object *child = json_at(node, nodes[k], NULL);
        if (child && !(k == 1 && json_object_is_type(child, json_type_boolean)))
            err = check_node(schema, child, branch || k == 2, depth + 1, ei);
        if (err != ERR_OK)
            return err_wrap(ei, err, "%s", nodes[k]);
    }
    for (size_t k = 0; k < 3; k++) {
        struct json_object *list = json_at(node, lists[k], NULL);
        for (size_t i = 0; i < json_len(list); i++) {
            err = check_node(schema, json_elem(list, i), true, depth + 1, ei);
            if (err != ERR_OK)
                return err_wrap(ei, err, "%s[%zu]", lists[k], i);
        }
    }
    return err;
}

static enum err check_node(struct schema *schema, struct json_object *node, bool branch, int depth,
                           struct errinfo *ei)
{
    if (depth > SCHEMA_MAX_DEPTH)
        return err_set(ei, ERR_INVALID, "the schema is nested deeper than %d", SCHEMA_MAX_DEPTH);
    if (!json_object_is_type(node, json_type_object))
        return err_set(ei, ERR_INVALID, "expected a schema object, found %s",
                       cause_value(schema->arena, node));
    struct causes causes = {.arena = schema->arena};
    if (!schema_validate(schema_of_schemas(), node, &causes))
        return err_set(ei, ERR_INVALID, "%s", cause_text(&causes));
    enum err err = add_pattern(schema, node, ei);
    if (err == ERR_OK)
        err = check_children(schema, node, branch, depth, ei);
    return err == ERR_OK && !branch ? check_structural(node, ei) : err;
}

static void pattern_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct schema_pattern *)item)->text;
    *second = NULL;
}

enum err schema_compile(struct json_object *open_api, struct schema **out, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    struct schema *schema = ARENA_NEW(arena, struct schema);
    *schema = (struct schema){.arena = arena, .root = json_copy(arena, open_api)};
    schema->any = form(arena, "{x-kubernetes-preserve-unknown-fields: true, nullable: true}");
    table_init(&schema->patterns, pattern_key);
    enum err err = check_node(schema, schema->root, false, 0, ei);
    if (err == ERR_OK && !is_type(schema->root, "object") && !is_open(schema->root))
        err = err_set(ei, ERR_INVALID, "type: must be object at the root");
    if (err == ERR_OK)
        *out = schema;
    else
        schema_free(schema);
    return err;
}

void schema_free(struct schema *schema)
{
    if (!schema)
        return;
    table_fini(&schema->patterns);
    arena_free(schema->arena);
}

/* --- pruning */

struct pruner {
    const struct schema *schema;
    struct arena *arena;
    struct schema_paths *unknown;
};

/* Fields that every object of the API has, at the root. */
static bool is_meta(const struct schema *schema, struct json_object *node, const char *key)
{
    return node == schema->root && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
                                    strcmp(key, "metadata") == 0);
}

static void report(struct pruner *p, const struct schema_place *place)
{
    if (!p->unknown || p->unknown->count >= CAUSE_MAX)
        return;
    if (p->unknown->count == 0)
        p->unknown->paths = arena_array(p->arena, CAUSE_MAX, sizeof(*p->unknown->paths));
    p->unknown->paths[p->unknown->count++] = schema_place_text(p->arena, place);
}

static void prune(struct pruner *p, struct json_object *node, struct json_object *obj,
                  const struct schema_place *place)
{
    struct json_object *items = json_at(node, "items", NULL);
    for (size_t i = 0; items && i < json_len(obj); i++)
        prune(p, items, json_elem(obj, i), &(struct schema_place){.up = place, .index = i});
    if (!json_object_is_type(obj, json_type_object))
        return;
    json_object_object_foreach(obj, key, value)
    {
        const struct schema_place here = {.up = place, .key = key};
        struct json_object *member = schema_member(p->schema, node, key);
        if (is_meta(p->schema, node, key))
            continue;
        if (member) {
            prune(p, member, value, &here);
        } else if (!is_open(node)) {
            report(p, &here);
            json_object_object_del(obj, key);
        }
    }
}

void schema_prune(const struct schema *schema, struct arena *arena, struct json_object *obj,
                  struct schema_paths *unknown)
{
    struct pruner p = {.schema = schema, .arena = arena, .unknown = unknown};
    if (unknown)
        *unknown = (struct schema_paths){0};
    prune(&p, schema->root, obj, &(struct schema_place){0});
}

/* --- defaults */

static void fill(const struct schema *schema, struct json_object *node, struct json_object *obj);

/* What stands where null stands that is not allowed. NULL: it stays, or there is no default. */
static struct json_object *instead_of_null(struct json_object *node)
{
    return schema_is(node, "nullable") ? NULL : json_at(node, "default", NULL);
}

static void fill_object(const struct schema *schema, struct json_object *node,
                        struct json_object *obj)
{
    struct json_object *properties = json_at(node, "properties", NULL);
    if (properties) {
        json_object_object_foreach(properties, name, child)
        {
            if (!json_object_object_get_ex(obj, name, NULL) && json_at(child, "default", NULL))
                json_object_object_add(obj, name, json_dup(json_at(child, "default", NULL)));
        }
    }
    json_object_object_foreach(obj, key, value)
    {
        struct json_object *member = schema_member(schema, node, key);
        if (!member || is_meta(schema, node, key))
            continue;
        if (!value && instead_of_null(member))
            json_object_object_add(obj, key, json_dup(instead_of_null(member)));
        else if (!value && !schema_is(member, "nullable"))
            json_object_object_del(obj, key);
        else
            fill(schema, member, value);
    }
}

static void fill(const struct schema *schema, struct json_object *node, struct json_object *obj)
{
    struct json_object *items = json_at(node, "items", NULL);
    if (json_object_is_type(obj, json_type_object))
        fill_object(schema, node, obj);
    for (size_t i = 0; items && i < json_len(obj); i++) {
        if (json_elem(obj, i))
            fill(schema, items, json_elem(obj, i));
        else if (instead_of_null(items))
            json_object_array_put_idx(obj, i, json_dup(instead_of_null(items)));
    }
}

void schema_default(const struct schema *schema, struct json_object *obj)
{
    fill(schema, schema->root, obj);
}

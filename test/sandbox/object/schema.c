#include "object/schema_tree.h"

#include <string.h>

/* --- reading a schema */

bool schema_is(struct json_object *node, const char *flag)
{
    return json_bool_at(node, false, flag, NULL);
}

static bool is_open(struct json_object *node)
{
    return schema_is(node, "x-kubernetes-preserve-unknown-fields");
}

static bool is_type(struct json_object *node, const char *type)
{
    const char *found = json_str_at(node, "type", NULL);
    return found && strcmp(found, type) == 0;
}

struct json_object *schema_member(const struct schema *schema, struct json_object *node,
                                  const char *key)
{
    struct json_object *properties = json_at(node, "properties", NULL), *found = NULL;
    struct json_object *others = json_at(node, "additionalProperties", NULL);
    if (properties && json_object_object_get_ex(properties, key, &found))
        return found;
    if (json_object_is_type(others, json_type_boolean))
        return json_object_get_boolean(others) ? schema->any : NULL;
    return others;
}

const char *schema_place_text(struct arena *arena, const struct schema_place *place)
{
    const struct schema_place *chain[2 * SCHEMA_MAX_DEPTH];
    size_t count = 0;
    for (; place && (place->key || place->up) && count < 2 * SCHEMA_MAX_DEPTH; place = place->up)
        chain[count++] = place;
    const char *text = "";
    while (count > 0) {
        const struct schema_place *at = chain[--count];
        if (at->key)
            text = arena_printf(arena, "%s%s%s", text, text[0] ? "." : "", at->key);
        else
            text = arena_printf(arena, "%s[%zu]", text, at->index);
    }
    return text;
}

/* --- compiling: a schema that says something else than it should is refused */

static enum err check_shapes(struct json_object *node, struct errinfo *ei)
{
    static const struct {
        const char *key;
        enum json_type type;
    } rows[] = {
        {"type", json_type_string},
        {"nullable", json_type_boolean},
        {"required", json_type_array},
        {"enum", json_type_array},
        {"format", json_type_string},
        {"pattern", json_type_string},
        {"properties", json_type_object},
        {"allOf", json_type_array},
        {"anyOf", json_type_array},
        {"oneOf", json_type_array},
        {"not", json_type_object},
        {"x-kubernetes-int-or-string", json_type_boolean},
        {"x-kubernetes-preserve-unknown-fields", json_type_boolean},
        {"x-kubernetes-list-type", json_type_string},
        {"x-kubernetes-list-map-keys", json_type_array},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_object *value = json_at(node, rows[i].key, NULL);
        if (value && !json_object_is_type(value, rows[i].type))
            return err_set(ei, ERR_INVALID, "%s: expected %s, found %s", rows[i].key,
                           json_type_to_name(rows[i].type),
                           json_type_to_name(json_object_get_type(value)));
    }
    return ERR_OK;
}

static enum err check_numbers(struct json_object *node, struct errinfo *ei)
{
    static const char *const bounds[] = {"minimum", "maximum"};
    static const char *const counts[] = {"minLength", "maxLength",     "minItems",
                                         "maxItems",  "minProperties", "maxProperties"};
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        struct json_object *value = json_at(node, bounds[i], NULL);
        if (value && !json_object_is_type(value, json_type_int) &&
            !json_object_is_type(value, json_type_double))
            return err_set(ei, ERR_INVALID, "minimum and maximum must be numbers");
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct json_object *value = json_at(node, counts[i], NULL);
        if (value &&
            (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0))
            return err_set(ei, ERR_INVALID, "%s: expected a whole number of at least 0, found %s",
                           counts[i], json_object_to_json_string(value));
    }
    return ERR_OK;
}

static enum err check_texts(struct json_object *node, const char *key, struct errinfo *ei)
{
    struct json_object *list = json_at(node, key, NULL);
    for (size_t i = 0; i < json_len(list); i++)
        if (!json_object_is_type(json_elem(list, i), json_type_string))
            return err_set(ei, ERR_INVALID, "%s[%zu]: expected a string", key, i);
    return ERR_OK;
}

/* NULL is a word as well. */
static bool is_one_of(const char *word, const char *const words[])
{
    for (; word && *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return !word;
}

static enum err check_words(struct json_object *node, struct errinfo *ei)
{
    static const char *const types[] = {"object", "array",   "string", "integer",
                                        "number", "boolean", NULL};
    static const char *const lists[] = {"atomic", "set", "map", NULL};
    const char *type = json_str_at(node, "type", NULL);
    const char *list = json_str_at(node, "x-kubernetes-list-type", NULL);
    if (!is_one_of(type, types))
        return err_set(ei, ERR_INVALID,
                       "type: \"%s\" is none of object, array, string, integer, number, boolean",
                       type);
    if (!is_one_of(list, lists))
        return err_set(ei, ERR_INVALID,
                       "x-kubernetes-list-type: \"%s\" is none of atomic, set, map", list);
    if (list && strcmp(list, "map") == 0 &&
        json_len(json_at(node, "x-kubernetes-list-map-keys", NULL)) == 0)
        return err_set(ei, ERR_INVALID, "x-kubernetes-list-map-keys: a list of type map needs it");
    return ERR_OK;
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
    enum err err = check_shapes(node, ei);
    if (err == ERR_OK)
        err = check_numbers(node, ei);
    if (err == ERR_OK)
        err = check_texts(node, "required", ei);
    if (err == ERR_OK)
        err = check_texts(node, "x-kubernetes-list-map-keys", ei);
    if (err == ERR_OK)
        err = check_words(node, ei);
    if (err == ERR_OK)
        err = add_pattern(schema, node, ei);
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
    schema->any = json_own(arena, json_object_new_object());
    json_set_bool(schema->any, "x-kubernetes-preserve-unknown-fields", true);
    json_set_bool(schema->any, "nullable", true);
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

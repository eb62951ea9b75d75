/* What is wrong with an object, in the sentences of the Kubernetes API server. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "object/schema_tree.h"

/* --- reading a schema */

bool schema_is(struct json_object *node, const char *flag)
{
    return json_bool_at(node, false, flag, NULL);
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

/* --- what is wrong */

struct validator {
    const struct schema *schema;
    struct causes *causes;
};

static void validate(struct validator *v, struct json_object *node, struct json_object *value,
                     const struct schema_place *place);

static const char *path_of(struct validator *v, const struct schema_place *place)
{
    return schema_place_text(v->causes->arena, place);
}

/* PATH in body FMT */
PRINTF_LIKE(4, 5)
static void invalid(struct validator *v, const struct schema_place *place,
                    struct json_object *value, const char *fmt, ...)
{
    const char *path = path_of(v, place);
    va_list args;
    va_start(args, fmt);
    const char *why = arena_vprintf(v->causes->arena, fmt, args);
    va_end(args);
    cause_add_invalid(v->causes, path, value, "%s in body %s", path, why);
}

static const char *found_type(struct json_object *value)
{
    enum json_type type = json_object_get_type(value);
    return type == json_type_int      ? "integer"
           : type == json_type_double ? "number"
                                      : json_type_to_name(type);
}

static bool is_whole(struct json_object *value)
{
    if (json_object_is_type(value, json_type_int))
        return true;
    double number = json_object_get_double(value);
    return json_object_is_type(value, json_type_double) && number == floor(number) &&
           fabs(number) < 9e18;
}

static bool type_fits(struct json_object *node, struct json_object *value)
{
    const char *type = json_str_at(node, "type", NULL), *found = found_type(value);
    if (!type)
        return !schema_is(node, "x-kubernetes-int-or-string") || strcmp(found, "string") == 0 ||
               is_whole(value);
    if (strcmp(type, "integer") == 0)
        return is_whole(value);
    return strcmp(type, found) == 0 ||
           (strcmp(type, "number") == 0 && strcmp(found, "integer") == 0);
}

static void wrong_type(struct validator *v, const char *path, const char *found, const char *wanted)
{
    cause_add(v->causes, CAUSE_TYPE_INVALID, path,
              "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"", found, path, wanted,
              found);
}

static void check_enum(struct validator *v, struct json_object *node, struct json_object *value,
                       const struct schema_place *place)
{
    struct arena *arena = v->causes->arena;
    struct json_object *enums = json_at(node, "enum", NULL);
    const char *allowed = "";
    for (size_t i = 0; i < json_len(enums); i++) {
        struct json_object *one = json_elem(enums, i);
        if (json_same(one, value))
            return;
        allowed = arena_printf(arena, "%s%s%s", allowed, i ? ", " : "", json_text(arena, one));
    }
    if (enums)
        cause_add(v->causes, CAUSE_NOT_SUPPORTED, path_of(v, place),
                  "Unsupported value: %s: supported values: %s", cause_value(arena, value),
                  allowed);
}

static void check_string(struct validator *v, struct json_object *node, struct json_object *value,
                         const struct schema_place *place)
{
    const char *text = json_object_get_string(value);
    const char *pattern = json_str_at(node, "pattern", NULL);
    const char *format = json_str_at(node, "format", NULL);
    int64_t least = json_int_at(node, 0, "minLength", NULL);
    int64_t most = json_int_at(node, INT64_MAX, "maxLength", NULL), time;
    const struct schema_pattern *compiled =
        pattern ? table_get(&v->schema->patterns, pattern, NULL) : NULL;
    int64_t count = (int64_t)utf8_count(text, strlen(text));
    if (count < least)
        invalid(v, place, value, "should be at least %lld chars long", (long long)least);
    if (count > most)
        cause_add(v->causes, CAUSE_TOO_LONG, path_of(v, place),
                  "Too long: may not be more than %lld characters", (long long)most);
    if (compiled &&
        !pattern_match(compiled->pattern, text, (size_t)json_object_get_string_len(value)))
        invalid(v, place, value, "should match '%s'", pattern);
    if (format && strcmp(format, "date-time") == 0 && clock_parse(text, &time, NULL) != ERR_OK) {
        const char *path = path_of(v, place), *quoted = cause_value(v->causes->arena, value);
        cause_add(v->causes, CAUSE_TYPE_INVALID, path,
                  "Invalid value: %s: %s in body must be of type %s: %s", quoted, path, format,
                  quoted);
    }
}

static void check_number(struct validator *v, struct json_object *node, struct json_object *value,
                         const struct schema_place *place)
{
    struct json_object *least = json_at(node, "minimum", NULL);
    struct json_object *most = json_at(node, "maximum", NULL);
    const char *format = json_str_at(node, "format", NULL);
    double number = json_object_get_double(value);
    if (least && number < json_object_get_double(least))
        invalid(v, place, value, "should be greater than or equal to %.15g",
                json_object_get_double(least));
    if (most && number > json_object_get_double(most))
        invalid(v, place, value, "should be less than or equal to %.15g",
                json_object_get_double(most));
    if (format && strcmp(format, "int32") == 0 && (number < INT32_MIN || number > INT32_MAX))
        invalid(v, place, value, "must be of type int32: %s", json_object_to_json_string(value));
}

/* least and most are the names of the bounds. */
static void check_count(struct validator *v, struct json_object *node, int64_t count,
                        const char *least, const char *most, const char *word,
                        struct json_object *value, const struct schema_place *place)
{
    int64_t min = json_int_at(node, 0, least, NULL), max = json_int_at(node, count, most, NULL);
    if (count < min)
        invalid(v, place, value, "should have at least %lld %s", (long long)min, word);
    if (count > max)
        cause_add(v->causes, CAUSE_TOO_MANY, path_of(v, place),
                  "Too many: %lld: must have at most %lld %s", (long long)count, (long long)max,
                  word);
}

/* --- lists */

struct numbered {
    const char *text;
    size_t index;
};

static int by_text(const void *a, const void *b)
{
    const struct numbered *left = a, *right = b;
    int order = strcmp(left->text, right->text);
    return order ? order : (left->index > right->index) - (left->index < right->index);
}

/* What tells one item of the list from another: its keys, or the whole item. */
static struct json_object *identity(struct validator *v, struct json_object *node,
                                    struct json_object *item)
{
    struct json_object *names = json_at(node, "x-kubernetes-list-map-keys", NULL);
    if (strcmp(json_str_at(node, "x-kubernetes-list-type", NULL), "map") != 0)
        return item;
    struct json_object *keys = json_own(v->causes->arena, json_object_new_object());
    for (size_t k = 0; k < json_len(names); k++) {
        const char *name = json_object_get_string(json_elem(names, k));
        struct json_object *value = json_at(item, name, NULL);
        if (!value)
            value = json_at(schema_member(v->schema, json_at(node, "items", NULL), name), "default",
                            NULL);
        if (value)
            json_set(keys, name, value);
    }
    return keys;
}

static void check_unique(struct validator *v, struct json_object *node, struct json_object *value,
                         const struct schema_place *place)
{
    const char *list = json_str_at(node, "x-kubernetes-list-type", NULL);
    size_t count = json_len(value);
    if (!list || strcmp(list, "atomic") == 0 || count < 2)
        return;
    struct numbered *rows = arena_array(v->causes->arena, count, sizeof(*rows));
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct numbered){
            json_text_sorted(v->causes->arena, identity(v, node, json_elem(value, i))), i};
    qsort(rows, count, sizeof(*rows), by_text);
    for (size_t i = 1; i < count; i++) {
        struct schema_place here = {.up = place, .index = rows[i].index};
        if (strcmp(rows[i].text, rows[i - 1].text) == 0)
            cause_add(v->causes, CAUSE_DUPLICATE, path_of(v, &here), "Duplicate value: %s",
                      rows[i].text);
    }
}

static void check_array(struct validator *v, struct json_object *node, struct json_object *value,
                        const struct schema_place *place)
{
    struct json_object *items = json_at(node, "items", NULL);
    check_count(v, node, (int64_t)json_len(value), "minItems", "maxItems", "items", value, place);
    check_unique(v, node, value, place);
    for (size_t i = 0; items && i < json_len(value); i++)
        validate(v, items, json_elem(value, i), &(struct schema_place){.up = place, .index = i});
}

/* --- objects */

static void check_object(struct validator *v, struct json_object *node, struct json_object *value,
                         const struct schema_place *place)
{
    struct json_object *required = json_at(node, "required", NULL);
    bool closed =
        json_object_is_type(json_at(node, "additionalProperties", NULL), json_type_boolean);
    check_count(v, node, json_object_object_length(value), "minProperties", "maxProperties",
                "properties", value, place);
    for (size_t i = 0; i < json_len(required); i++) {
        const char *name = json_object_get_string(json_elem(required, i));
        struct schema_place here = {.up = place, .key = name};
        if (!json_object_object_get_ex(value, name, NULL))
            cause_add(v->causes, CAUSE_REQUIRED, path_of(v, &here), "Required value");
    }
    json_object_object_foreach(value, key, child)
    {
        struct schema_place here = {.up = place, .key = key};
        struct json_object *member = schema_member(v->schema, node, key);
        if (member)
            validate(v, member, child, &here);
        else if (closed)
            cause_add(v->causes, CAUSE_FORBIDDEN, path_of(v, &here),
                      "Forbidden: %s in body is a forbidden property", path_of(v, &here));
    }
}

/* --- allOf, anyOf, oneOf, not */

static void logic_failed(struct validator *v, const struct schema_place *place, const char *why)
{
    const char *path = path_of(v, place);
    cause_add(v->causes, CAUSE_INVALID, path, "Invalid value: \"\": \"%s\" must %s", path, why);
}

/* Counts the branches that fit; closest is what is wrong with the one that came nearest. */
static size_t count_fits(struct validator *v, struct json_object *branches,
                         struct json_object *value, const struct schema_place *place,
                         struct causes *closest)
{
    size_t count = 0;
    *closest = (struct causes){0};
    for (size_t i = 0; i < json_len(branches); i++) {
        struct causes causes = {.arena = v->causes->arena};
        struct validator inner = {.schema = v->schema, .causes = &causes};
        validate(&inner, json_elem(branches, i), value, place);
        count += causes.count == 0;
        if (causes.count > 0 && (!closest->arena || causes.count < closest->count))
            *closest = causes;
    }
    return count;
}

static void check_all_and_not(struct validator *v, struct json_object *node,
                              struct json_object *value, const struct schema_place *place)
{
    struct json_object *all = json_at(node, "allOf", NULL), *none = json_at(node, "not", NULL);
    struct causes causes = {.arena = v->causes->arena};
    struct validator inner = {.schema = v->schema, .causes = &causes};

    for (size_t i = 0; i < json_len(all); i++)
        validate(&inner, json_elem(all, i), value, place);
    if (causes.count > 0) {
        logic_failed(v, place, "validate all the schemas (allOf)");
        cause_add_all(v->causes, &causes);
    }
    causes = (struct causes){.arena = v->causes->arena};
    if (none)
        validate(&inner, none, value, place);
    if (none && causes.count == 0)
        logic_failed(v, place, "not validate the schema (not)");
}

static void check_logic(struct validator *v, struct json_object *node, struct json_object *value,
                        const struct schema_place *place)
{
    struct json_object *any = json_at(node, "anyOf", NULL), *one = json_at(node, "oneOf", NULL);
    struct causes closest;
    if (json_len(any) > 0 && count_fits(v, any, value, place, &closest) == 0) {
        logic_failed(v, place, "validate at least one schema (anyOf)");
        cause_add_all(v->causes, &closest);
    }
    size_t found = count_fits(v, one, value, place, &closest);
    if (json_len(one) > 0 && found == 0) {
        logic_failed(v, place, "validate one and only one schema (oneOf). Found none valid");
        cause_add_all(v->causes, &closest);
    } else if (found > 1) {
        logic_failed(v, place,
                     arena_printf(v->causes->arena,
                                  "validate one and only one schema (oneOf). Found %zu valid "
                                  "alternatives",
                                  found));
    }
    check_all_and_not(v, node, value, place);
}

/* Recursion is bounded by the depth of the schema, which schema_compile() bounds. */
static void validate(struct validator *v, struct json_object *node, struct json_object *value,
                     const struct schema_place *place)
{
    const char *type = json_str_at(node, "type", NULL);
    if (!value &&
        (schema_is(node, "nullable") || (!type && !schema_is(node, "x-kubernetes-int-or-string"))))
        return;
    if (!type_fits(node, value)) {
        wrong_type(v, path_of(v, place), found_type(value), type ? type : "integer,string");
        return;
    }
    check_enum(v, node, value, place);
    switch (json_object_get_type(value)) {
    case json_type_string:
        check_string(v, node, value, place);
        break;
    case json_type_int:
    case json_type_double:
        check_number(v, node, value, place);
        break;
    case json_type_array:
        check_array(v, node, value, place);
        break;
    case json_type_object:
        check_object(v, node, value, place);
        break;
    case json_type_boolean:
    case json_type_null:
        break;
    }
    check_logic(v, node, value, place);
}

bool schema_validate(const struct schema *schema, struct json_object *obj, struct causes *causes)
{
    size_t before = causes->count;
    struct validator v = {.schema = schema, .causes = causes};
    validate(&v, schema->root, obj, &(struct schema_place){0});
    return causes->count == before;
}

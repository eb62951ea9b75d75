/* What is wrong with an object, in the sentences of the Kubernetes API server. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "object/schema_tree.h"

struct validator {
    struct causes *causes;
};

static void validate(struct validator *v, const struct schema *schema, struct json_object *value,
                     const struct schema_place *place);

static const char *path_of(struct validator *v, const struct schema_place *place)
{
    return schema_place_text(v->causes->arena, place);
}

static const char *found_type(struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_null:
        return "null";
    case json_type_boolean:
        return "boolean";
    case json_type_int:
        return "integer";
    case json_type_double:
        return "number";
    case json_type_object:
        return "object";
    case json_type_array:
        return "array";
    case json_type_string:
        break;
    }
    return "string";
}

static bool is_whole(struct json_object *value)
{
    if (json_object_is_type(value, json_type_int))
        return true;
    double number = json_object_get_double(value);
    return json_object_is_type(value, json_type_double) && number == floor(number) &&
           fabs(number) < 9e18;
}

static bool type_fits(const struct schema *schema, struct json_object *value)
{
    switch (schema->type) {
    case SCHEMA_ANY:
        return !schema->int_or_string || json_object_is_type(value, json_type_string) ||
               is_whole(value);
    case SCHEMA_OBJECT:
        return json_object_is_type(value, json_type_object);
    case SCHEMA_ARRAY:
        return json_object_is_type(value, json_type_array);
    case SCHEMA_STRING:
        return json_object_is_type(value, json_type_string);
    case SCHEMA_INTEGER:
        return is_whole(value);
    case SCHEMA_NUMBER:
        return json_object_is_type(value, json_type_int) ||
               json_object_is_type(value, json_type_double);
    case SCHEMA_BOOLEAN:
        return json_object_is_type(value, json_type_boolean);
    }
    return false;
}

static void wrong_type(struct validator *v, const char *path, const char *found, const char *wanted)
{
    cause_add(v->causes, CAUSE_TYPE_INVALID, path,
              "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"", found, path, wanted,
              found);
}

static void check_enum(struct validator *v, const struct schema *schema, struct json_object *value,
                       const struct schema_place *place)
{
    if (!schema->enums)
        return;
    struct buf allowed;
    buf_init(&allowed, 4096);
    for (size_t i = 0; i < json_len(schema->enums); i++) {
        struct json_object *one = json_elem(schema->enums, i);
        if (json_same(one, value)) {
            buf_fini(&allowed);
            return;
        }
        buf_printf(&allowed, "%s%s", i ? ", " : "", json_text(v->causes->arena, one));
    }
    cause_add(v->causes, CAUSE_NOT_SUPPORTED, path_of(v, place),
              "Unsupported value: %s: supported values: %s", cause_value(v->causes->arena, value),
              allowed.data);
    buf_fini(&allowed);
}

static size_t count_chars(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void check_string(struct validator *v, const struct schema *schema,
                         struct json_object *value, const struct schema_place *place)
{
    const char *text = json_object_get_string(value);
    const char *path = "";
    size_t len = (size_t)json_object_get_string_len(value);
    int64_t chars = (int64_t)count_chars(text);
    bool short_ = schema->length.min >= 0 && chars < schema->length.min;
    bool long_ = schema->length.max >= 0 && chars > schema->length.max;
    bool mismatch = schema->pattern && !pattern_match(schema->pattern, text, len);
    bool malformed = !schema_format_ok(schema->format, text);
    if (short_ || long_ || mismatch || malformed)
        path = path_of(v, place);
    if (short_)
        cause_add_invalid(v->causes, path, value, "%s in body should be at least %lld chars long",
                          path, (long long)schema->length.min);
    if (long_)
        cause_add(v->causes, CAUSE_TOO_LONG, path, "Too long: may not be more than %lld characters",
                  (long long)schema->length.max);
    if (mismatch)
        cause_add_invalid(v->causes, path, value, "%s in body should match '%s'", path,
                          schema->pattern_text);
    if (malformed)
        cause_add(v->causes, CAUSE_TYPE_INVALID, path,
                  "Invalid value: %s: %s in body must be of type %s: %s",
                  cause_value(v->causes->arena, value), path, schema->format_name,
                  cause_value(v->causes->arena, value));
}

static void check_number(struct validator *v, const struct schema *schema,
                         struct json_object *value, const struct schema_place *place)
{
    const struct schema_range *range = &schema->range;
    double number = json_object_get_double(value);
    if (range->has_min && number < range->min) {
        const char *path = path_of(v, place);
        cause_add_invalid(v->causes, path, value,
                          "%s in body should be greater than or equal to %.15g", path, range->min);
    }
    if (range->has_max && number > range->max) {
        const char *path = path_of(v, place);
        cause_add_invalid(v->causes, path, value,
                          "%s in body should be less than or equal to %.15g", path, range->max);
    }
    if (schema->format == SCHEMA_FORMAT_INT32 && (number < INT32_MIN || number > INT32_MAX)) {
        const char *path = path_of(v, place);
        cause_add_invalid(v->causes, path, value, "%s in body must be of type int32: %s", path,
                          json_text(v->causes->arena, value));
    }
}

static void check_count(struct validator *v, const struct schema_count *bounds, size_t count,
                        const char *what, struct json_object *value,
                        const struct schema_place *place)
{
    if (bounds->min >= 0 && count < (size_t)bounds->min) {
        const char *path = path_of(v, place);
        cause_add_invalid(v->causes, path, value, "%s in body should have at least %lld %s", path,
                          (long long)bounds->min, what);
    }
    if (bounds->max >= 0 && count > (size_t)bounds->max)
        cause_add(v->causes, CAUSE_TOO_MANY, path_of(v, place),
                  "Too many: %zu: must have at most %lld %s", count, (long long)bounds->max, what);
}

/* ---- lists ---- */

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
static struct json_object *identity(struct validator *v, const struct schema *schema,
                                    struct json_object *item)
{
    if (schema->list != SCHEMA_LIST_MAP)
        return item;
    struct json_object *keys = json_own(v->causes->arena, json_object_new_object());
    for (size_t k = 0; k < schema->list_key_count; k++) {
        struct json_object *value = json_at(item, schema->list_keys[k], NULL);
        const struct schema *field =
            schema->items ? schema_field(schema->items, schema->list_keys[k]) : NULL;
        if (!value && field)
            value = field->fallback;
        if (value)
            json_set(keys, schema->list_keys[k], value);
    }
    return keys;
}

static void check_unique(struct validator *v, const struct schema *schema,
                         struct json_object *value, const struct schema_place *place)
{
    size_t count = json_len(value);
    if (schema->list == SCHEMA_LIST_ATOMIC || count < 2)
        return;
    struct numbered *rows = arena_array(v->causes->arena, count, sizeof(*rows));
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct numbered){
            json_text_sorted(v->causes->arena, identity(v, schema, json_elem(value, i))), i};
    qsort(rows, count, sizeof(*rows), by_text);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(rows[i].text, rows[i - 1].text) != 0)
            continue;
        struct schema_place here = {.up = place, .index = rows[i].index};
        cause_add(v->causes, CAUSE_DUPLICATE, path_of(v, &here), "Duplicate value: %s",
                  rows[i].text);
    }
}

static void check_array(struct validator *v, const struct schema *schema, struct json_object *value,
                        const struct schema_place *place)
{
    check_count(v, &schema->item_count, json_len(value), "items", value, place);
    check_unique(v, schema, value, place);
    for (size_t i = 0; schema->items && i < json_len(value); i++) {
        struct schema_place here = {.up = place, .index = i};
        validate(v, schema->items, json_elem(value, i), &here);
    }
}

/* ---- objects ---- */

static void check_object(struct validator *v, const struct schema *schema,
                         struct json_object *value, const struct schema_place *place)
{
    check_count(v, &schema->size, (size_t)json_object_object_length(value), "properties", value,
                place);
    for (size_t i = 0; i < schema->required_count; i++) {
        struct schema_place here = {.up = place, .key = schema->required[i]};
        if (!json_object_object_get_ex(value, schema->required[i], NULL))
            cause_add(v->causes, CAUSE_REQUIRED, path_of(v, &here), "Required value");
    }
    json_object_object_foreach(value, key, child)
    {
        struct schema_place here = {.up = place, .key = key};
        const struct schema *field = schema_field(schema, key);
        if (field)
            validate(v, field, child, &here);
        else if (schema->additional_forbidden)
            cause_add(v->causes, CAUSE_FORBIDDEN, path_of(v, &here),
                      "Forbidden: %s in body is a forbidden property", path_of(v, &here));
    }
}

/* ---- anyOf, oneOf ---- */

static bool fits(struct validator *v, const struct schema *schema, struct json_object *value,
                 const struct schema_place *place, struct causes *causes)
{
    *causes = (struct causes){.arena = v->causes->arena};
    struct validator inner = {.causes = causes};
    validate(&inner, schema, value, place);
    return causes->count == 0;
}

static void add_all(struct validator *v, const struct causes *causes)
{
    for (const struct cause *cause = causes->first; cause; cause = cause->next)
        cause_add(v->causes, cause->reason, cause->field, "%s", cause->message);
}

static void logic_failed(struct validator *v, const struct schema_place *place, const char *why)
{
    const char *path = path_of(v, place);
    cause_add(v->causes, CAUSE_INVALID, path, "Invalid value: \"\": \"%s\" must %s", path, why);
}

/* Counts the branches that fit; closest is what is wrong with the one that came nearest. */
static size_t count_fits(struct validator *v, const struct schema_branches *branches,
                         struct json_object *value, const struct schema_place *place,
                         struct causes *closest)
{
    size_t count = 0;
    for (size_t i = 0; i < branches->count; i++) {
        struct causes causes;
        if (fits(v, branches->list[i], value, place, &causes))
            count++;
        else if (i == 0 || causes.count < closest->count)
            *closest = causes;
    }
    return count;
}

static void check_logic(struct validator *v, const struct schema *schema, struct json_object *value,
                        const struct schema_place *place)
{
    struct causes closest = {0};
    if (schema->any_of.count > 0 && count_fits(v, &schema->any_of, value, place, &closest) == 0) {
        logic_failed(v, place, "validate at least one schema (anyOf)");
        add_all(v, &closest);
    }
    closest = (struct causes){0};
    size_t found = count_fits(v, &schema->one_of, value, place, &closest);
    if (schema->one_of.count > 0 && found == 0) {
        logic_failed(v, place, "validate one and only one schema (oneOf). Found none valid");
        add_all(v, &closest);
    } else if (found > 1) {
        logic_failed(v, place,
                     arena_printf(v->causes->arena,
                                  "validate one and only one schema (oneOf). Found %zu valid "
                                  "alternatives",
                                  found));
    }
}

/* Recursion is bounded by the depth of the schema, which schema_compile() bounds. */
static void validate(struct validator *v, const struct schema *schema, struct json_object *value,
                     const struct schema_place *place)
{
    if (!value && (schema->nullable || (schema->type == SCHEMA_ANY && !schema->int_or_string)))
        return;
    if (!type_fits(schema, value)) {
        wrong_type(v, path_of(v, place), found_type(value),
                   schema->type == SCHEMA_ANY ? "integer,string" : schema_type_name(schema->type));
        return;
    }
    check_enum(v, schema, value, place);
    switch (json_object_get_type(value)) {
    case json_type_string:
        check_string(v, schema, value, place);
        break;
    case json_type_int:
    case json_type_double:
        check_number(v, schema, value, place);
        break;
    case json_type_array:
        check_array(v, schema, value, place);
        break;
    case json_type_object:
        check_object(v, schema, value, place);
        break;
    case json_type_boolean:
    case json_type_null:
        break;
    }
    check_logic(v, schema, value, place);
}

bool schema_validate(const struct schema *schema, struct json_object *obj, struct causes *causes)
{
    size_t before = causes->count;
    struct validator v = {.causes = causes};
    struct schema_place root = {0};
    validate(&v, schema, obj, &root);
    return causes->count == before;
}

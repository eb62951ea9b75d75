/* The compiled schema itself: private to the schema_*.c files. Everything lives in the root's
 * arena. */
#ifndef OBJECT_SCHEMA_TREE_H
#define OBJECT_SCHEMA_TREE_H

#include <stdint.h>

#include "base/json.h"
#include "object/pattern.h"
#include "object/schema.h"

enum schema_type {
    SCHEMA_ANY, /* no type: x-kubernetes-preserve-unknown-fields, int-or-string, and inside of anyOf
                   and its kind */
    SCHEMA_OBJECT,
    SCHEMA_ARRAY,
    SCHEMA_STRING,
    SCHEMA_INTEGER,
    SCHEMA_NUMBER,
    SCHEMA_BOOLEAN,
};

/* What tells the items of a list apart. */
enum schema_list { SCHEMA_LIST_ATOMIC, SCHEMA_LIST_SET, SCHEMA_LIST_MAP };

enum schema_format {
    SCHEMA_FORMAT_NONE, /* also formats that are not checked, as in Kubernetes */
    SCHEMA_FORMAT_DATE_TIME,
    SCHEMA_FORMAT_INT32,
};

struct schema_property {
    const char *name;
    struct schema *schema;
};

struct schema_range {
    bool has_min, has_max;
    double min, max;
};

struct schema_count {
    int64_t min, max; /* -1: none */
};

struct schema_branches {
    struct schema **list;
    size_t count;
};

struct schema {
    struct arena *arena; /* the root only */
    enum schema_type type;
    enum schema_format format;
    const char *format_name;
    bool root, nullable, int_or_string, preserve;
    bool additional_forbidden;
    struct schema_property *properties; /* sorted by name */
    size_t property_count;
    struct schema *additional;
    struct schema *items;
    const char **required;
    size_t required_count;
    struct json_object *enums;    /* array or NULL */
    struct json_object *fallback; /* the default, or NULL */
    struct schema_range range;
    struct schema_count length, item_count, size;
    struct pattern *pattern;
    const char *pattern_text;
    struct schema_branches any_of, one_of;
    enum schema_list list;
    const char **list_keys;
    size_t list_key_count;
};

/* A place in an object, as a chain on the stack; made into text only when something is wrong there.
 */
struct schema_place {
    const struct schema_place *up;
    const char *key; /* NULL: an index */
    size_t index;
};
/* "spec.metrics[0].name"; "" for the root. */
const char *schema_place_text(struct arena *arena, const struct schema_place *place);

/* Whether text is of the format; true for formats that are not checked. */
bool schema_format_ok(enum schema_format format, const char *text);
enum schema_format schema_format_named(const char *name);
/* "object", "array"... */
const char *schema_type_name(enum schema_type type);

#endif

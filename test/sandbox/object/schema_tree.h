/* What the schema_*.c files share; nobody else includes this. A schema is the JSON of its CRD: a
 * node of it is the schema of one place. */
#ifndef OBJECT_SCHEMA_TREE_H
#define OBJECT_SCHEMA_TREE_H

#include "base/json.h"
#include "base/table.h"
#include "object/pattern.h"
#include "object/schema.h"

struct schema {
    struct arena *arena;
    struct json_object *root; /* openAPIV3Schema */
    struct json_object *any;  /* what additionalProperties: true stands for */
    struct table patterns;    /* struct schema_pattern by text */
};

struct schema_pattern {
    const char *text;
    struct pattern *pattern;
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

/* The node of a member of what `node` describes; NULL if unknown. */
struct json_object *schema_member(const struct schema *schema, struct json_object *node,
                                  const char *key);
bool schema_is(struct json_object *node, const char *flag);

#endif

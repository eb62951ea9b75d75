/*
 * The structural schema of a custom resource: compiled once per version of a CRD, then used to
 * prune, default and validate objects.
 *
 * A struct schema is a copy of the CRD's JSON with its patterns compiled, made by schema_compile()
 * and freed as a whole with schema_free(). The functions below never change it. Objects are borrowed; schema_prune() and schema_default() change them in place.
 *
 * A write goes through three steps, in this order: schema_prune() (its list is what
 * fieldValidation=Strict turns into an error and Warn into Warning headers), schema_default(),
 * schema_validate().
 *
 * What neither our CRDs nor those of the Gateway API say is not looked at: an object that only breaks a CEL rule
 * (x-kubernetes-validations), allOf, not, multipleOf or one of the rarer formats is accepted here and refused by a real
 * cluster.
 */
#ifndef OBJECT_SCHEMA_H
#define OBJECT_SCHEMA_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "object/cause.h"

/* Deeper schemas, and deeper objects, are refused. */
enum { SCHEMA_MAX_DEPTH = 64 };

struct schema;

/*
 * Compiles `.spec.versions[*].schema.openAPIV3Schema`. apiVersion, kind and metadata are always
 * known at the root. ERR_INVALID names the place: "properties.spec.properties.weight.pattern: ...".
 */
enum err schema_compile(struct json_object *open_api, struct schema **out,
                        struct errinfo *ei) MUST_USE;
void schema_free(struct schema *schema); /* NULL is allowed */

/* Fields (paths such as "spec.foo", "spec.list[2].bar") found by schema_prune(), in the order of
 * the object. */
struct schema_paths {
    const char **paths;
    size_t count;
};

/*
 * Removes what the schema does not know. unknown may be NULL; its strings belong to the arena. At
 * most CAUSE_MAX paths are listed, all of them are removed.
 */
void schema_prune(const struct schema *schema, struct arena *arena, struct json_object *obj,
                  struct schema_paths *unknown);
/* Sets defaults. A null where null is not allowed gives way to the default, or is dropped when
 * there is none. */
void schema_default(const struct schema *schema, struct json_object *obj);
/* Adds a cause for everything that is wrong. True when nothing was added. */
bool schema_validate(const struct schema *schema, struct json_object *obj, struct causes *causes);

#endif

/*
 * What the Kubernetes API server fills into objects of the built-in kinds, and what it refuses: the
 * schemas of kinds.yaml, and what a schema cannot say, as functions that the table of kinds names.
 */
#ifndef SANDBOX_OBJBUILTIN_H
#define SANDBOX_OBJBUILTIN_H

#include <json-c/json.h>

#include "api/objfail.h"
#include "object/schema.h"

/* kinds.yaml, read into the arena. */
struct json_object *objbuiltin_file(struct arena *arena);
/* The schema of a built-in kind ("Pod"); NULL: anything goes. Compiled once for the whole process.
 */
const struct schema *objbuiltin_schema(const char *kind);

/* After the schema's defaults; a value that is there is never changed. old is NULL on create. */
void objbuiltin_namespace(struct json_object *obj, struct json_object *old);
void objbuiltin_service(struct json_object *obj, struct json_object *old);
void objbuiltin_secret(struct json_object *obj, struct json_object *old);
void objbuiltin_workload(struct json_object *obj, struct json_object *old);
void objbuiltin_crd(struct json_object *obj, struct json_object *old);

/* Beside what the schema refuses; obj may have any shape. */
void objbuiltin_check_service(struct objfail *fail, struct json_object *obj,
                              struct json_object *old);
void objbuiltin_check_event(struct objfail *fail, struct json_object *obj, struct json_object *old);
void objbuiltin_check_workload(struct objfail *fail, struct json_object *obj,
                               struct json_object *old);
void objbuiltin_check_hpa(struct objfail *fail, struct json_object *obj, struct json_object *old);
void objbuiltin_check_crd(struct objfail *fail, struct json_object *obj, struct json_object *old);

#endif

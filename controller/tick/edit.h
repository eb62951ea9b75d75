/*
 * Editing objects: what the variants share when they write an object that others may write as well.
 * Trees go in unchanged and come out as copies in the arena. Keys that belong to a GitOps toolkit
 * are never copied.
 */
#ifndef TICK_EDIT_H
#define TICK_EDIT_H

#include "tick/tick.h"

/*
 * A copy of `live` with `wanted` laid over it: objects key by key, arrays of objects element by
 * element when both have as many, everything else replaced. A null in `wanted` removes the key.
 * What `wanted` does not name stays. live NULL: `wanted` without its nulls.
 */
struct json_object *edit_overlay(struct arena *arena, struct json_object *live,
                                 struct json_object *wanted);

/* A new object (array, ...) owned by the arena. */
struct json_object *edit_object(struct arena *arena);
struct json_object *edit_array(struct arena *arena);
/* Adds a borrowed value at the end. */
void edit_add(struct json_object *array, struct json_object *value);
/* The keys of an object (none of another value), sorted, so that a map always gives the same list.
 */
const char **edit_keys(struct arena *arena, struct json_object *map, size_t *count);
/* Sets key to a copy of value, or removes it when value is NULL. */
void edit_put(struct arena *arena, struct json_object *object, const char *key,
              struct json_object *value);

/* {apiVersion, kind, metadata: {name, namespace, ownerReferences: the Canary}} of an object to
 * create. */
struct json_object *edit_new(struct tick *tick, const struct kube_resource *resource,
                             const char *name);
/* The owner reference that makes the Canary the controller of an object. */
struct json_object *edit_owner_reference(struct tick *tick);
/* Its controller is this Canary. */
bool edit_is_owned(struct tick *tick, struct json_object *object);

/* What outlives the Canary: a copy of an object without the reference to it, and, `managed`,
 * without what edit_disown_toolkit() added. */
struct json_object *edit_released(struct tick *tick, struct json_object *live, bool managed);

/* Copies of labels or annotations (object or NULL gives an empty one). */
struct json_object *edit_without_toolkit(struct arena *arena, struct json_object *map);
/* Only keys with one of the prefixes of -include-label-prefix. */
struct json_object *edit_included(struct tick *tick, struct json_object *map);
/* Adds what tells GitOps tools to leave an object alone. */
void edit_disown_toolkit(struct json_object *annotations);

#endif

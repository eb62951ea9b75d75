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
 * element, everything else replaced. Of two arrays of the same length the elements at the same
 * place are a pair, but for those of different `type`; of others, an element goes on being what it
 * is where it says all that is wanted. A null in `wanted` removes the key. What `wanted` does not
 * name stays. live NULL: `wanted` without its nulls.
 */
struct json_object *edit_overlay(struct arena *arena, struct json_object *live,
                                 struct json_object *wanted);
/* The same, and what `applied` (a shape as in tick/applied.h, or NULL) names and `wanted` does not
 * is taken out. */
struct json_object *edit_merge(struct arena *arena, struct json_object *live,
                               struct json_object *wanted, struct json_object *applied);
/* Says over which element of the live list this one of a wanted list is laid; NULL: over none. It
 * stands in a key that is gone when it has been laid over. */
void edit_pair(struct json_object *element, struct json_object *live);
#define EDIT_PAIR " pair"

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
 * create. One that cannot be owned has the annotation OWNER, which says whose it is, and no collector
 * takes it. */
#define OWNER "flagger.app/owner"
/* The Canary can be its owner: it is in a namespace, and of the same cluster. */
bool edit_can_own(const struct tick *tick, const struct kube_resource *resource);
struct json_object *edit_new(struct tick *tick, const struct kube_resource *resource,
                             const char *name);
/* Makes the Canary the owner of an object of the caller's own; `others`: its other owners, an array or
 * NULL. */
void edit_own(struct tick *tick, const struct kube_resource *resource, struct json_object *object,
              struct json_object *others);
/* The owner reference that makes the Canary the controller of an object. */
struct json_object *edit_owner_reference(struct tick *tick);
/* It names this Canary: by any version of the API, and also when the Canary was made anew under its
 * name. */
bool edit_refers(struct tick *tick, struct json_object *owner);
/* Its controller is this Canary. */
bool edit_is_owned(struct tick *tick, struct json_object *object);

/* What outlives the Canary: a copy of an object without the reference to it, without the note of
 * what we applied, and, `managed`, without what edit_disown_toolkit() added. */
struct json_object *edit_released(struct tick *tick, struct json_object *live, bool managed);

/* Copies of labels or annotations (object or NULL gives an empty one), without what a tool, this
 * one too, notes about the very object. */
struct json_object *edit_without_toolkit(struct arena *arena, struct json_object *map);
/* Only keys with one of the prefixes of -include-label-prefix. */
struct json_object *edit_included(struct tick *tick, struct json_object *map);
/* Adds what tells GitOps tools to leave an object alone. */
void edit_disown_toolkit(struct json_object *annotations);

#endif

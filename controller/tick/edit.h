/*
 * Editing objects that others may write as well, shared by the variants. Input trees are not
 * changed; results are copies in the arena. Keys of GitOps tools are never copied.
 */
#ifndef TICK_EDIT_H
#define TICK_EDIT_H

#include "tick/tick.h"

/*
 * A copy of `live` with `wanted` laid over it: objects key by key, arrays of objects element by
 * element, everything else replaced. Arrays of equal length are paired by position, except
 * elements of different `type`; otherwise an element is paired with one that already has all
 * wanted values. A null in `wanted` removes the key; other keys stay. live NULL: `wanted` without
 * its nulls.
 */
struct json_object *edit_overlay(struct arena *arena, struct json_object *live,
                                 struct json_object *wanted);
/*
 * The same, and removes fields that are in `applied` (a shape as in tick/applied.h, or NULL) and
 * not in `wanted`.
 */
struct json_object *edit_merge(struct arena *arena, struct json_object *live,
                               struct json_object *wanted, struct json_object *applied);
/*
 * Pairs this element of a wanted list with an element of the live list; NULL: with none. Stored in
 * a key that the merge removes.
 */
void edit_pair(struct json_object *element, struct json_object *live);
#define EDIT_PAIR " pair"

/* A new object owned by the arena. */
struct json_object *edit_object(struct arena *arena);
struct json_object *edit_array(struct arena *arena);
/* Appends a borrowed value. */
void edit_add(struct json_object *array, struct json_object *value);
/* The keys of an object (none for other values), sorted, so that a map always gives the same list.
 */
const char **edit_keys(struct arena *arena, struct json_object *map, size_t *count);
/* Sets key to a copy of value; NULL removes it. */
void edit_put(struct arena *arena, struct json_object *object, const char *key,
              struct json_object *value);

/*
 * {apiVersion, kind, metadata: {name, namespace, ownerReferences: the Canary}} of an object to
 * create. An object that cannot be owned has the annotation OWNER with its owner, and is not
 * garbage collected.
 */
#define OWNER "flagger.app/owner"
/* True if the Canary can own it: it is namespaced and in the same cluster. */
bool edit_can_own(const struct tick *tick, const struct kube_resource *resource);
struct json_object *edit_new(struct tick *tick, const struct kube_resource *resource,
                             const char *name);
/*
 * Makes the Canary the owner of the caller's own object; `others`: its other owners, an array or
 * NULL.
 */
void edit_own(struct tick *tick, const struct kube_resource *resource, struct json_object *object,
              struct json_object *others);
/* The owner reference that makes the Canary the controller of an object. */
struct json_object *edit_owner_reference(struct tick *tick);
/* True if it refers to this Canary: by any API version, and also to a former Canary of its name. */
bool edit_refers(struct tick *tick, struct json_object *owner);
/* True if this Canary is its controller. */
bool edit_is_owned(struct tick *tick, struct json_object *object);

/*
 * For an object that outlives the Canary: a copy without the owner reference and the record of
 * applied fields; with `managed`, also without the annotations of edit_disown_gitops().
 */
struct json_object *edit_released(struct tick *tick, struct json_object *live, bool managed);

/*
 * Copies of labels or annotations (object or NULL gives an empty one), without notes of a tool,
 * including ours, about the original.
 */
struct json_object *edit_without_gitops(struct arena *arena, struct json_object *map);
/*
 * For the copy of an object: also without app.kubernetes.io/instance, the label by which Argo CD knows
 * the objects of an application. Where a selector has it the caller adds it.
 */
struct json_object *edit_of_source(struct arena *arena, struct json_object *map);
/* Of edit_of_source() only keys with one of the prefixes of -include-label-prefix. */
struct json_object *edit_included(struct tick *tick, struct json_object *map);
bool edit_has_finalizer(struct json_object *object, const char *name);
/* The finalizers of the object with this one, or without it: a new array, empty if none is left. */
struct json_object *edit_finalizers(struct arena *arena, struct json_object *object,
                                    const char *name, bool wanted);
/* Adds the annotations that make GitOps tools ignore an object. */
void edit_disown_gitops(struct json_object *annotations);

#endif

/*
 * Editing objects that others may write as well, and ownership of their fields; shared by the
 * variants. Input trees are not
 * changed; results are copies in the arena. Keys of GitOps tools are never copied.
 */
#ifndef TICK_EDIT_H
#define TICK_EDIT_H

#include "base/json.h"
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
 * Like edit_overlay(), and removes fields that are in `applied` (a shape as in the annotation
 * described below, or NULL) and not in `wanted`.
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
 * create. An object that cannot have an owner reference names its owner in the annotation OWNER and
 * is not garbage collected.
 */
#define OWNER "flagger.app/owner"
/* True if the Canary can own it: it is namespaced and in the same cluster. */
bool edit_can_own(const struct tick *tick, const struct kube_resource *resource);
struct json_object *edit_new(struct tick *tick, const struct kube_resource *resource,
                             const char *name);
/*
 * Makes the Canary the owner of the caller's own object. others: its other owners, an array or
 * NULL.
 */
void edit_own(struct tick *tick, const struct kube_resource *resource, struct json_object *object,
              struct json_object *others);
/* The owner reference that makes the Canary the controller of an object. */
struct json_object *edit_owner_reference(struct tick *tick);
/* True if the reference names this Canary, in any API version, or a former Canary of its name. */
bool edit_refers(struct tick *tick, struct json_object *owner);
/* True if this Canary is the controller of the object. */
bool edit_is_owned(struct tick *tick, struct json_object *object);

/*
 * For an object that outlives the Canary: a copy without the owner reference and the record of
 * applied fields; with `managed`, also without the annotations of edit_disown_gitops().
 */
struct json_object *edit_released(struct tick *tick, struct json_object *live, bool managed);

/*
 * Copies of labels or annotations (an object; NULL gives an empty one) without the keys by which a
 * tool, including this one, describes the original.
 */
struct json_object *edit_without_gitops(struct arena *arena, struct json_object *map);
/*
 * For the copy of an object: also without app.kubernetes.io/instance, the label by which Argo CD
 * knows the objects of an application. Where a selector has it the caller adds it.
 */
struct json_object *edit_of_source(struct arena *arena, struct json_object *map);
/* Like edit_of_source(), but only keys with one of the prefixes of -include-label-prefix. */
struct json_object *edit_included(struct tick *tick, struct json_object *map);
bool edit_has_finalizer(struct json_object *object, const char *name);
/* The finalizers of the object, with this one added or removed: a new array, empty if none is
 * left. */
struct json_object *edit_finalizers(struct arena *arena, struct json_object *object,
                                    const char *name, bool wanted);
/* Adds the annotations that make GitOps tools ignore an object. */
void edit_disown_gitops(struct json_object *annotations);

/*
 * --- Ownership of fields. The fields that we apply to an object are recorded in the object itself,
 * so that fields which the spec no longer wants are removed, and fields written by others stay.
 *
 * The annotation `flagger.app/applied` holds the applied keys, without values, as compact JSON in
 * the shape of the object: {"metadata":{"labels":{"team":0}},"spec":{"hostnames":0,
 * "rules":[{"filters":[{"cors":{"maxAge":0},"type":0}]}]}}. 0 stands for a value, or for a list of
 * values, which is ours as a whole; a list of objects has the shape of each, or one shape that all
 * share. Without values, it does not change from step to step and costs no write of its own.
 *
 * A field is removed if it is in the annotation and no longer wanted. Further:
 *   - A null in `wanted` removes the field whether or not we ever wrote it: for fields that
 *     Flagger, which records nothing, may have written, and for fields that would change the
 *     traffic if another program set them.
 *   - Fields in `base` are not recorded: names of an object, required fields (the label with its own
 *     name), values set once that other programs may change (the type of a Service), and everything
 *     copied as a whole (the data of a ConfigMap).
 *   - A foreign object in which we write only a fixed part (an apex Service older than the Canary:
 *     selector and ports) gets no annotation: use edit_overlay().
 *   - An object that is up to date is not written for the annotation alone, unless it has labels or
 *     annotations to record: replacing Flagger in a cluster touches no object with a plain spec.
 *
 * A router passes everything that it wants of an object to applied_lay(), nested as in the object:
 *
 *     struct json_object *base = live ? live : edit_new(tick, resource, name);
 *     struct json_object *to = applied_lay(tick->arena, live, base, wanted);
 *     live ? plan_update(tick, resource, live, to) : plan_create(tick, resource, namespace, to);
 *
 * Lists of objects are merged pairwise (edit_overlay() defines the pairs); a router can choose a
 * pair with edit_pair(). When the Canary is deleted, edit_released() removes the annotation.
 */

#define APPLIED "flagger.app/applied"

/*
 * `base` with `wanted` laid over it, without fields applied before and no longer wanted. Its
 * annotation records the applied fields, and is missing if there are none. live: the object as
 * read, NULL for a new one; base: a new object, `live`, or one derived from it.
 */
struct json_object *applied_lay(struct arena *arena, struct json_object *live,
                                struct json_object *base, struct json_object *wanted);
/*
 * The contents of the annotation, without apiVersion, kind and status; NULL if it is missing or
 * unreadable.
 */
struct json_object *applied_of(struct arena *arena, struct json_object *live);
/*
 * Edits the annotation of the caller's own object: this key of its "labels" or "annotations"
 * belongs to others from now on.
 */
void applied_disclaim(struct arena *arena, struct json_object *object, const char *map,
                      const char *key);

/*
 * The labels or annotations (`map`) for a copy of an object, owned by the arena. A new copy (live
 * NULL) gets `all` of the source; a live one gets those that it follows (`followed`), and keeps the
 * others that it was created with as long as the source has them.
 */
struct json_object *applied_follow(struct arena *arena, struct json_object *live, const char *map,
                                   struct json_object *all, struct json_object *followed);

#endif

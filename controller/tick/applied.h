/*
 * Ownership of fields. The fields that we apply to an object are recorded in the object itself, so
 * that fields which the spec no longer wants are removed, and fields written by others stay.
 *
 * The annotation `flagger.app/applied` holds the applied keys, without values, as compact JSON in
 * the shape of the object: {"metadata":{"labels":{"team":0}},"spec":{"hostnames":0,
 * "rules":[{"filters":[{"cors":{"maxAge":0},"type":0}]}]}}. 0 stands for a value, or for a list of
 * values, which is ours as a whole; a list of objects has the shape of each, or one shape that all
 * share. Without values it does not change from step to step and costs no write of its own.
 *
 * A field is removed if it is in the annotation and no longer wanted. Further:
 *   - A null in `wanted` removes the field whether or not we ever wrote it. For fields that Flagger,
 *     which records nothing, may have written, and for those that would change the traffic if others
 *     set them.
 *   - Fields in `base` are not recorded: names of an object, required fields (the label with its own
 *     name), values set once that others may change (the type of a Service), and everything copied as
 *     a whole (the data of a ConfigMap).
 *   - An object of others in which we write a fixed part only (an apex Service older than the Canary:
 *     selector and ports) gets no annotation: use edit_overlay().
 *   - An object that is up to date is not written for the annotation alone, unless it has labels or
 *     annotations to be recorded: taking over a cluster from Flagger touches no object with a plain
 *     spec.
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
#ifndef TICK_APPLIED_H
#define TICK_APPLIED_H

#include "base/json.h"

#define APPLIED "flagger.app/applied"

/*
 * `base` with `wanted` laid over it, without fields applied before and no longer wanted. Its
 * annotation records the applied fields; it has none if that is nothing. live: the object as read,
 * NULL for a new one; base: a new object, `live`, or one derived from it.
 */
struct json_object *applied_lay(struct arena *arena, struct json_object *live,
                                struct json_object *base, struct json_object *wanted);
/*
 * The contents of the annotation, without apiVersion, kind and status; NULL if there is none that
 * can be read.
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
 * NULL) gets `all` of the source; a live one those of them that it follows, `followed`, and keeps
 * the others that it was created with as long as the source has them.
 */
struct json_object *applied_follow(struct arena *arena, struct json_object *live, const char *map,
                                   struct json_object *all, struct json_object *followed);

#endif

/*
 * Whose field is it? What we write into an object is remembered in the object itself, so that what
 * the spec no longer says can be taken out of it again, and what others wrote stays.
 *
 * The annotation `flagger.app/applied` holds the keys that we applied, without their values, as
 * compact JSON in the shape of the object: {"metadata":{"labels":{"team":0}},"spec":{"hostnames":0,
 * "rules":[{"filters":[{"cors":{"maxAge":0},"type":0}]}]}}. 0 stands for a value, or for a list of
 * values, which is ours as a whole; a list of objects has the shape of each, or one that all have.
 * Without values it does not change from step to step, and costs no write of its own.
 *
 * A field is removed when it is in the annotation and no longer wanted. What else holds:
 *   - A null in `wanted` says that the field is ours whether or not we ever wrote it, and is not to
 *     be there. This is for what Flagger, which remembers nothing, may have written, and for what
 *     would change the traffic when somebody else sets it.
 *   - What stands in `base` already is not remembered: the names of an object, what it cannot be
 *     without (the label with its own name), values that are given once and then are others' to
 *     change (the type of a Service), and whatever is copied as a whole (the data of a ConfigMap).
 *   - An object of others of which we write a fixed part only (the apex Service that was there
 *     before the Canary: selector and ports) gets no annotation: use edit_overlay().
 *   - An object that is as it is to be is not written for the sake of the annotation, unless there
 *     are labels or annotations that it would not remember: taking over a cluster from Flagger
 *     touches no object whose spec is a plain one.
 *
 * A router states with applied_lay() all that it wants of an object, nested as the object is, and
 * needs to know nothing else:
 *
 *     struct json_object *base = live ? live : edit_new(tick, resource, name);
 *     struct json_object *to = applied_lay(tick->arena, live, base, wanted);
 *     live ? plan_update(tick, resource, live, to) : plan_create(tick, resource, namespace, to);
 *
 * Lists of objects are laid over pairwise (edit_overlay() says which pairs); where a router knows
 * better, it says so with edit_pair(). When the Canary goes, edit_released() takes the annotation
 * away.
 */
#ifndef TICK_APPLIED_H
#define TICK_APPLIED_H

#include "base/json.h"

#define APPLIED "flagger.app/applied"

/* `base` with `wanted` laid over it, and without what was applied before and is not wanted any
 * more. Its annotation says what is applied now; it has none when that is nothing. live: the object
 * as it was read, NULL for a new one; base: a new one, or `live`, or what was made of it. */
struct json_object *applied_lay(struct arena *arena, struct json_object *live,
                                struct json_object *base, struct json_object *wanted);
/* What the annotation of an object says, without apiVersion, kind and status; NULL when there is
 * none, or none that can be read. */
struct json_object *applied_of(struct arena *arena, struct json_object *live);
/* Changes the annotation of an object of the caller's own: this key of its "labels" or
 * "annotations" belongs to others from now on. */
void applied_disclaim(struct arena *arena, struct json_object *object, const char *map,
                      const char *key);

/*
 * The labels or annotations (`map`) that a copy of an object is to have, owned by the arena: a new
 * one (live NULL) `all` that the source has, a live one those of them that it follows, `followed`;
 * of the others it keeps what it got when it was made as long as the source has that key.
 */
struct json_object *applied_follow(struct arena *arena, struct json_object *live, const char *map,
                                   struct json_object *all, struct json_object *followed);

#endif

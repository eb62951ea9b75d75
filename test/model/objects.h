/*
 * The objects of a cluster, each version of each kept once, so that a whole cluster is a handful of
 * small numbers. What does not matter to a rule is the same in all versions: resource versions are
 * the numbers themselves, generations say only whether the controller of the object has seen the
 * last change. Nothing else is left out: a version is the whole JSON.
 *
 * Lives until objects_free(); all trees are borrowed from it and are never changed.
 */
#ifndef MODEL_OBJECTS_H
#define MODEL_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

enum { SLOTS = 16, ABSENT = 0 };

struct objects;

/* The number of each object's version, ABSENT where there is none. A place is an object's name. */
struct cluster {
    uint16_t at[SLOTS];
};

struct objects *objects_new(void);
void objects_free(struct objects *objects);

/* The place of "deployments/podinfo"; a new one when it has none yet. */
int objects_place(struct objects *objects, const char *key);
const char *objects_key(const struct objects *objects, int place);
int objects_places(const struct objects *objects);

/* The version that equals the tree (NULL: ABSENT). The tree is copied. */
uint16_t objects_put(struct objects *objects, int place, struct json_object *tree);
struct json_object *objects_tree(const struct objects *objects, int place, uint16_t version);

/* A patch (RFC 7386), kept once; its resourceVersion is not part of it. */
uint32_t objects_patch(struct objects *objects, struct json_object *patch);
struct json_object *objects_patch_tree(const struct objects *objects, uint32_t patch);
/* What the patch makes of a version; of ABSENT: what it creates. */
uint16_t objects_apply(struct objects *objects, int place, uint16_t version, uint32_t patch);

#endif

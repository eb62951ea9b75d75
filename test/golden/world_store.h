/* How objects of the simulated cluster are written, with versions and generations as an API server
 * has them. */
#ifndef GOLDEN_WORLD_STORE_H
#define GOLDEN_WORLD_STORE_H

#include "world.h"

/* A merge patch of an object, which is made where it is not there. A patch that changes nothing
 * writes nothing. */
void world_merge(struct world *world, const char *key, struct json_object *patch);
/* The same of the Canary, at the version that the patch names. It goes with its last finalizer when
 * it is being deleted, and with it what belongs to nobody else. */
void world_merge_canary(struct world *world, struct json_object *patch);

/* The version that the write has left. */
const char *world_version_after(struct world *world, const struct effect *effect);

#endif

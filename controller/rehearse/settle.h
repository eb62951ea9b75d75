/* What the controllers of a cluster make of an object, when all goes well. */
#ifndef REHEARSE_SETTLE_H
#define REHEARSE_SETTLE_H

#include "base/json.h"

/* A copy with the status that it has when its controller has seen it and its pods are ready; of a
 * kind that has no such status, the object itself. */
struct json_object *settled(struct arena *arena, struct json_object *object);
/* Another revision of a target, a copy. */
struct json_object *revised(struct arena *arena, struct json_object *target);

/* A Knative Service: its cluster makes a revision of each template. *revision: a new one, NULL: none
 * is needed. */
struct json_object *settled_knative(struct arena *arena, struct json_object *service,
                                    struct json_object **revision);

#endif

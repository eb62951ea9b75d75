/* Whom a Service leads to, as targets of its ports and as an Endpoints object. Pure. */
#ifndef CLUSTER_ENDPOINTS_H
#define CLUSTER_ENDPOINTS_H

#include "base/json.h"
#include "cluster/forward.h"

enum { ENDPOINTS_MAX = 1000 };

/* A pod serves: it is ready, has an address and is not being deleted; publish_unready lifts the
 * first. */
bool endpoints_serves(struct json_object *pod, bool publish_unready);

/* The targets of spec.ports[index] among pods; returns their number. targets has room for count. */
size_t endpoints_targets(struct json_object *service, size_t index, struct json_object **pods,
                         size_t count, struct forward_target *targets);
/* The same from an Endpoints object that somebody wrote, for a Service without selector; at most
 * max. */
size_t endpoints_given(struct json_object *service, size_t index, struct json_object *endpoints,
                       struct forward_target *targets, size_t max);

/* pods: those that the selector matches. Owned by the arena. */
struct json_object *endpoints_object(struct arena *arena, struct json_object *service,
                                     struct json_object **pods, size_t count);

#endif

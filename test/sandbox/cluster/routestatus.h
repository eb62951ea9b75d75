/* The status of HTTPRoutes and Gateways as a Gateway API implementation writes it. Pure. */
#ifndef CLUSTER_ROUTESTATUS_H
#define CLUSTER_ROUTESTATUS_H

#include "cluster/route.h"

/* status for a route; before: the present status, whose transition times are kept. Owned by the
 * arena. */
struct json_object *routestatus_route(struct arena *arena, const struct route_result *result,
                                      struct json_object *before, const char *now);
/* status of a Gateway object that leads to address. */
struct json_object *routestatus_gateway(struct arena *arena, struct json_object *gateway,
                                        const char *address, const char *now);

#endif

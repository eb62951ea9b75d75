/* The HTTPRoute of the simulated cluster: what it splits, and what must hold of each of its rules.
 */
#ifndef GOLDEN_WORLD_ROUTES_H
#define GOLDEN_WORLD_ROUTES_H

#include "world.h"

/* The weights of the rule that splits; returns the canary's. */
int world_routes_split(struct world *world, int *primary);
/* Fails the test where a rule, also one that holds clients by their cookie, breaks a safety rule.
 */
void world_routes_check(struct world *world, bool at_zero);
/* A Service of this name was written: a gateway has no answer for a port that it lacks. */
void world_routes_check_ports(struct world *world, const char *name, struct json_object *before);
/* Fails if the HTTPRoute has been led to a port that a Service does not have; `before`: the route. */
void world_routes_check_backends(struct world *world, struct json_object *before);
/* A route as a server keeps it that knows no requestMirror.percent. */
struct json_object *world_routes_pruned(struct world *world, struct json_object *body);

#endif

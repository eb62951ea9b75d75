/* The UpstreamGroup of Gloo before it had RouteTables (router/OBJECTS.md). It is written where one
 * of the target's name is there already. */
#ifndef ROUTER_COMMON_GLOO_H
#define ROUTER_COMMON_GLOO_H

#include "router/common_route.h"

extern const struct kube_resource gloo_groups;
extern const struct route gloo_group;

#endif

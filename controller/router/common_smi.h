/* TrafficSplit of the Service Mesh Interface (router/OBJECTS.md), whatever its version and mesh. */
#ifndef ROUTER_COMMON_SMI_H
#define ROUTER_COMMON_SMI_H

#include "router/common_ignored.h"
#include "router/common_route.h"

extern const struct kube_resource smi_v1alpha1, smi_v1alpha2, smi_v1alpha3;
extern const struct route smi_route_v1alpha1, smi_route_v1alpha2, smi_route_v1alpha3;

/* The row of a mesh: variable parts are its names, the version, the metrics and a line about it. */
#define SMI_ROUTER(names, kinds, split, family, line)                                              \
    {                                                                                              \
        .providers = (names), .about = (line), .resources = (kinds), .metric_family = (family),    \
        .route = (split), .weighted = true, .check = route_check, .ignored = ignored_but_weights,  \
        .reconcile = route_reconcile, .get = route_get, .settled = route_settled,                  \
        .set = route_set, .revert = route_revert, .disown = route_disown                           \
    }

#endif

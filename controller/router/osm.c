/* Open Service Mesh: a TrafficSplit v1alpha2 (router/OBJECTS.md). */
#include "router/common_smi.h"

static const char *const providers[] = {"osm", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &smi_v1alpha2, NULL};

const struct router router_osm = SMI_ROUTER(providers, resources, &smi_route_v1alpha2, "osm",
                                            "Open Service Mesh, TrafficSplit v1alpha2");

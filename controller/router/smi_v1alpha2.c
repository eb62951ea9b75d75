/* Service Mesh Interface: a TrafficSplit v1alpha2 (router/OBJECTS.md). */
#include "router/common_smi.h"

static const char *const providers[] = {"smi:v1alpha2*", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &smi_v1alpha2, NULL};

const struct router router_smi_v1alpha2 =
    SMI_ROUTER(providers, resources, &smi_route_v1alpha2, "istio",
               "Service Mesh Interface, TrafficSplit v1alpha2");

/* Linkerd with the SMI extension: a TrafficSplit v1alpha1 (router/OBJECTS.md). */
#include "router/common_smi.h"

static const char *const providers[] = {"linkerd", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &smi_v1alpha1, NULL};

const struct router router_linkerd =
    SMI_ROUTER(providers, resources, &smi_route_v1alpha1, "linkerd",
               "Linkerd with the SMI extension, TrafficSplit v1alpha1");

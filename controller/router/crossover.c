/* Envoy with Crossover: a TrafficSplit v1alpha1 (router/OBJECTS.md). */
#include "router/common_smi.h"

static const char *const providers[] = {
    "smi:crossover", "envoy:smi", "crossover", "crossover:service", "envoy", "envoy:service", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &smi_v1alpha1, NULL};

const struct router router_crossover =
    SMI_ROUTER(providers, resources, &smi_route_v1alpha1, "crossover",
               "Envoy with Crossover, TrafficSplit v1alpha1");

/* Gateway API, HTTPRoute v1. */
#include "router/common_httproute.h"

/* Of before v1: it has all but the timeouts. */
static const struct kube_version also[] = {{"gateway.networking.k8s.io", "v1beta1"}, {NULL, NULL}};
static const struct kube_resource httproutes = {.group = "gateway.networking.k8s.io",
                                                .version = "v1",
                                                .plural = "httproutes",
                                                .kind = "HTTPRoute",
                                                .also = also,
                                                .meshed = true};
static const struct httproute_version version = {.resource = &httproutes, .rich = true};
static const struct route route = HTTPROUTE_ROUTE(&httproutes, &version);

static const char *gatewayapi_check(struct arena *arena, const struct canary *canary)
{
    return httproute_check(arena, canary, &version);
}

static const char *gatewayapi_ignored(struct arena *arena, const struct canary *canary)
{
    return httproute_ignored(arena, canary, &version);
}

static const char *const providers[] = {"gatewayapi:v1*", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &httproutes, NULL};

const struct router router_gatewayapi =
    HTTPROUTE_ROUTER(providers, resources, &route, gatewayapi_check, gatewayapi_ignored, true,
                     "http", "Gateway API, HTTPRoute v1");

/* Gateway API, HTTPRoute v1beta1. */
#include "router/common_httproute.h"

/* Has all of v1beta1. */
static const struct kube_version also[] = {{"gateway.networking.k8s.io", "v1"}, {NULL, NULL}};
static const struct kube_resource httproutes = {.group = "gateway.networking.k8s.io",
                                                .version = "v1beta1",
                                                .plural = "httproutes",
                                                .kind = "HTTPRoute",
                                                .also = also,
                                                .meshed = true};
static const struct httproute_version version = {.resource = &httproutes};
static const struct route route = HTTPROUTE_ROUTE(&httproutes, &version);

static const char *gatewayapi_v1beta1_check(struct arena *arena, const struct canary *canary)
{
    return httproute_check(arena, canary, &version);
}

static const char *gatewayapi_v1beta1_ignored(struct arena *arena, const struct canary *canary)
{
    return httproute_ignored(arena, canary, &version);
}

static const char *const providers[] = {"gatewayapi:v1beta1*", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &httproutes, NULL};

const struct router router_gatewayapi_v1beta1 =
    HTTPROUTE_ROUTER(providers, resources, &route, gatewayapi_v1beta1_check,
                     gatewayapi_v1beta1_ignored, true, "http", "Gateway API, HTTPRoute v1beta1");

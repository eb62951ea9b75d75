/*
 * Gateway API, GRPCRoute v1. A provider of its own: Flagger writes an HTTPRoute for gRPC as well, and
 * a manifest that says gatewayapi:v1 must go on meaning that. Clients of gRPC keep no cookies.
 */
#include "router/common_httproute.h"

static const struct kube_resource grpcroutes = {.group = "gateway.networking.k8s.io",
                                                .version = "v1",
                                                .plural = "grpcroutes",
                                                .kind = "GRPCRoute",
                                                .meshed = true};
static const struct httproute_version version = {.resource = &grpcroutes, .calls = true};
static const struct route route = HTTPROUTE_ROUTE(&grpcroutes, &version);

static const char *gatewayapi_grpc_check(struct arena *arena, const struct canary *canary)
{
    return httproute_check(arena, canary, &version);
}

static const char *gatewayapi_grpc_ignored(struct arena *arena, const struct canary *canary)
{
    return httproute_ignored(arena, canary, &version);
}

static const char *const providers[] = {"gatewayapi:v1:grpc", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &grpcroutes, NULL};

const struct router router_gatewayapi_grpc =
    HTTPROUTE_ROUTER(providers, resources, &route, gatewayapi_grpc_check, gatewayapi_grpc_ignored,
                     false, "grpc", "Gateway API, GRPCRoute v1");

/* Gateway API, HTTPRoute v1beta1. */
#include "router/common_httproute.h"

static const struct kube_resource httproutes = {.group = "gateway.networking.k8s.io",
                                                .version = "v1beta1",
                                                .plural = "httproutes",
                                                .kind = "HTTPRoute"};
static const struct httproute_version version = {.resource = &httproutes, .rich = false};
static const struct route route = {.resource = &httproutes,
                                   .format = httproute_format,
                                   .read = httproute_read,
                                   .wanted = httproute_wanted,
                                   .more = &version};

static const char *gatewayapi_v1beta1_ignored(struct arena *arena, const struct canary *canary)
{
    return httproute_ignored(arena, canary, &version);
}

static enum verdict gatewayapi_v1beta1_settled(struct tick *tick, const char **why)
{
    return httproute_settled(tick, &version, why);
}

static enum verdict gatewayapi_v1beta1_revert(struct tick *tick, bool anew)
{
    return httproute_revert(tick, &version, anew);
}

static const char *const providers[] = {"gatewayapi:v1beta1*", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &httproutes, NULL};

const struct router router_gatewayapi_v1beta1 = {
    .providers = providers,
    .about = "Gateway API, HTTPRoute v1beta1",
    .resources = resources,
    .metric_family = "http",
    .route = &route,
    .weighted = true,
    .matches = true,
    .mirrors = true,
    .session_affinity = true,
    .check = httproute_check,
    .ignored = gatewayapi_v1beta1_ignored,
    .reconcile = route_reconcile,
    .get = route_get,
    .settled = gatewayapi_v1beta1_settled,
    .set = route_set,
    .revert = gatewayapi_v1beta1_revert,
    .disown = route_disown,
};

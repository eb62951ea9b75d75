/* Gateway API, HTTPRoute v1beta1. */
#include "router/common_httproute.h"

static const struct kube_resource httproutes = {.group = "gateway.networking.k8s.io",
                                                .version = "v1beta1",
                                                .plural = "httproutes",
                                                .kind = "HTTPRoute"};
static const struct httproute_version version = {.resource = &httproutes, .rich = false};

static const char *gatewayapi_v1beta1_ignored(struct arena *arena, const struct canary *canary)
{
    return httproute_ignored(arena, canary, &version);
}

static enum verdict gatewayapi_v1beta1_reconcile(struct tick *tick)
{
    return httproute_reconcile(tick, &version);
}

static enum verdict gatewayapi_v1beta1_get(struct tick *tick, struct weights *out)
{
    return httproute_get(tick, &version, out);
}

static enum verdict gatewayapi_v1beta1_settled(struct tick *tick, const char **why)
{
    return httproute_settled(tick, &version, why);
}

static enum verdict gatewayapi_v1beta1_set(struct tick *tick, const struct weights *weights)
{
    return httproute_set(tick, &version, weights);
}

static enum verdict gatewayapi_v1beta1_revert(struct tick *tick, bool anew)
{
    return httproute_revert(tick, &version, anew);
}

static enum verdict gatewayapi_v1beta1_disown(struct tick *tick)
{
    return httproute_disown(tick, &version);
}

static const char *const providers[] = {"gatewayapi:v1beta1*", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &httproutes, NULL};

const struct router router_gatewayapi_v1beta1 = {
    .providers = providers,
    .about = "Gateway API, HTTPRoute v1beta1",
    .resources = resources,
    .metric_family = "http",
    .weighted = true,
    .matches = true,
    .mirrors = true,
    .session_affinity = true,
    .check = httproute_check,
    .ignored = gatewayapi_v1beta1_ignored,
    .reconcile = gatewayapi_v1beta1_reconcile,
    .get = gatewayapi_v1beta1_get,
    .settled = gatewayapi_v1beta1_settled,
    .set = gatewayapi_v1beta1_set,
    .revert = gatewayapi_v1beta1_revert,
    .disown = gatewayapi_v1beta1_disown,
};

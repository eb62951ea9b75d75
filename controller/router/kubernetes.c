/*
 * No mesh: plain Services (router/OBJECTS.md). All traffic stays on the primary until the
 * promotion; the canary is tested through its own Service (blue/green on L4).
 */
#include "router/router.h"

static const char *kubernetes_check(struct arena *arena, const struct canary *canary)
{
    (void)arena;
    return canary->service.port > 0 ? NULL : "spec.service.port: expected a port number";
}

static enum rule_result kubernetes_go(struct tick *tick)
{
    (void)tick;
    return RULE_CONTINUE;
}

static enum rule_result kubernetes_settled(struct tick *tick, const char **why)
{
    (void)tick;
    (void)why;
    return RULE_CONTINUE;
}

static enum rule_result kubernetes_get(struct tick *tick, struct weights *out)
{
    (void)tick;
    *out = (struct weights){.primary = 100};
    return RULE_CONTINUE;
}

static enum rule_result kubernetes_set(struct tick *tick, const struct weights *weights)
{
    (void)tick;
    (void)weights;
    return RULE_CONTINUE;
}

/* There is only the apex Service. */
static enum rule_result kubernetes_revert(struct tick *tick, bool recreate)
{
    (void)tick;
    (void)recreate;
    return RULE_CONTINUE;
}

static const char *const providers[] = {"kubernetes", NULL};
static const struct kube_resource *const resources[] = {&kube_services, NULL};

const struct router router_kubernetes = {
    .providers = providers,
    .about = "plain Services, blue/green",
    .resources = resources,
    .metric_family = "http",
    .check = kubernetes_check,
    .reconcile = kubernetes_go,
    .get = kubernetes_get,
    .settled = kubernetes_settled,
    .set = kubernetes_set,
    .revert = kubernetes_revert,
    .disown = kubernetes_go,
};

/*
 * No mesh: plain Services (router/OBJECTS.md). All traffic stays on the primary until the
 * promotion; the canary is tested beside it, by its own Service (blue/green on L4).
 */
#include "router/router.h"

static const char *kubernetes_check(struct arena *arena, const struct canary *canary)
{
    (void)arena;
    return canary->service.port > 0 ? NULL : "spec.service.port: expected a port number";
}

static enum verdict kubernetes_go(struct tick *tick)
{
    (void)tick;
    return VERDICT_GO;
}

static enum verdict kubernetes_settled(struct tick *tick, const char **why)
{
    (void)tick;
    (void)why;
    return VERDICT_GO;
}

static enum verdict kubernetes_get(struct tick *tick, struct weights *out)
{
    (void)tick;
    *out = (struct weights){.primary = 100};
    return VERDICT_GO;
}

static enum verdict kubernetes_set(struct tick *tick, const struct weights *weights)
{
    (void)tick;
    (void)weights;
    return VERDICT_GO;
}

/* The apex Service is all there is. */
static enum verdict kubernetes_revert(struct tick *tick, bool anew)
{
    (void)tick;
    (void)anew;
    return VERDICT_GO;
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

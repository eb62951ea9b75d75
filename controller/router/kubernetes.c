/*
 * No mesh: plain Services (router/OBJECTS.md). All traffic stays on the primary until the
 * promotion; the canary is tested through its own Service (blue/green at layer 4).
 *
 * With spec.analysis.steps the apex Service selects the pods of both sides, and the share is the
 * ratio of their numbers. Its annotation holds the weight and the selector, so that both change in
 * one write, and the weight is read back like a mesh's. Workers without spec.service fetch their
 * work themselves: there the numbers of pods are the only routing, and the weight comes from the
 * status.
 *
 * With spec.analysis.bake the apex Service selects either the pods of the primary or those of the
 * canary.
 */
#include "router/router.h"

#include "router/shared/services.h"
#include "tick/need.h"
#include "tick/plan.h"

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
    *out = (struct weights){.primary = WEIGHT_ALL};
    return RULE_CONTINUE;
}

static enum rule_result kubernetes_set(struct tick *tick, const struct weights *weights)
{
    (void)tick;
    (void)weights;
    return RULE_CONTINUE;
}

/* Nothing to do: the apex Service is reverted in the same way for every router. */
static enum rule_result kubernetes_revert(struct tick *tick, bool recreate)
{
    (void)tick;
    (void)recreate;
    return RULE_CONTINUE;
}

/* --- shares by number of pods */

enum { HALF = WEIGHT_ALL / 2, ALL = WEIGHT_ALL };

/*
 * A weight above one half would need more pods than all of the traffic does, or would leave the
 * primary fewer pods than it needs to take everything back.
 */
static const char *pods_check(struct arena *arena, const struct canary *canary)
{
    const struct canary_analysis *analysis = &canary->analysis;

    for (int i = 0; i < analysis->n_steps; i++)
        if (analysis->steps[i].weight > HALF && analysis->steps[i].weight < ALL)
            return arena_printf(arena,
                                "spec.analysis.steps[%d].weight: expected 1 to 50, or 100, found "
                                "%s: with provider kubernetes the share is one of pods, and the "
                                "canary gets as many as the primary at most, which keeps its own",
                                i, weight_text(arena, analysis->steps[i].weight));
    if (canary_is_worker(canary) && analysis->max_weight == ALL)
        return "spec.analysis.steps: without spec.service the primary keeps its part of the work, "
               "and no step gives the canary all; expected weights from 1 to 50";
    if (analysis->step_weight_promotion > 0)
        return "spec.analysis.stepWeightPromotion: not possible with spec.analysis.steps and "
               "provider kubernetes, where the share is one of pods; leave it out";
    if (analysis->promotion.n_steps > 0)
        return "spec.analysis.promotion: not possible with spec.analysis.steps and provider "
               "kubernetes, where the share is one of pods; leave it out";
    if (analysis->rollback.n_steps > 0)
        return "spec.analysis.rollback: not possible with spec.analysis.steps and provider "
               "kubernetes, where the share is one of pods; leave it out";
    return canary_is_worker(canary) ? NULL : kubernetes_check(arena, canary);
}

static bool need_apex(struct tick *tick, struct json_object **out)
{
    return need_object(tick, &kube_services, tick->canary->namespace_, tick->canary->service.name,
                       out);
}

static enum rule_result apex_get(struct tick *tick, struct weights *out)
{
    bool has_service = !canary_is_worker(tick->canary);
    struct json_object *apex = NULL;
    int weight = tick->canary->status.canary_weight;

    if (has_service && !need_apex(tick, &apex))
        return RULE_NEEDS_FACTS;
    if (has_service)
        services_share(tick->arena, apex, &weight);
    *out = (struct weights){.primary = ALL - weight, .canary = weight};
    return RULE_CONTINUE;
}

static enum rule_result apex_set(struct tick *tick, const struct weights *weights)
{
    struct json_object *apex = NULL;

    if (!canary_is_worker(tick->canary) && !need_apex(tick, &apex))
        return RULE_NEEDS_FACTS;
    if (!apex)
        return RULE_CONTINUE;
    struct json_object *to = json_copy(tick->arena, apex);
    services_put_share(tick->arena, to, weights->canary, weights->selector);
    if (plan_update(tick, &kube_services, apex, to))
        plan_why(tick, "weights %s/%s", weight_text(tick->arena, weights->primary),
                 weight_text(tick->arena, weights->canary));
    return RULE_CONTINUE;
}

static const char *const providers[] = {"kubernetes", NULL};
static const struct kube_resource *const resources[] = {&kube_services, NULL};

static const struct router by_pods = {
    .providers = providers,
    .about = "plain Services, shares by number of pods",
    .resources = resources,
    .metric_family = "http",
    .weighted = true,
    .by_apex = true,
    .by_pods = true,
    .check = pods_check,
    .reconcile = kubernetes_go,
    .get = apex_get,
    .settled = kubernetes_settled,
    .set = apex_set,
    .revert = kubernetes_revert,
    .disown = kubernetes_go,
};

/* The selector selects one side only, so there are no shares. */
static const char *whole_check(struct arena *arena, const struct canary *canary)
{
    const char *field = canary->analysis.promotion.n_steps > 0       ? "promotion"
                        : canary->analysis.rollback.n_steps > 0      ? "rollback"
                        : canary->analysis.step_weight_promotion > 0 ? "stepWeightPromotion"
                                                                     : NULL;

    return field ? arena_printf(arena,
                                "spec.analysis.%s: not possible with spec.analysis.bake and "
                                "provider kubernetes, where the Service leads to one side as a "
                                "whole; leave it out",
                                field)
                 : kubernetes_check(arena, canary);
}

static const struct router all_or_nothing = {
    .providers = providers,
    .about = "plain Services, blue/green with a bake",
    .resources = resources,
    .metric_family = "http",
    .weighted = true,
    .by_apex = true,
    .whole = true,
    .check = whole_check,
    .reconcile = kubernetes_go,
    .get = apex_get,
    .settled = kubernetes_settled,
    .set = apex_set,
    .revert = kubernetes_revert,
    .disown = kubernetes_go,
};

const struct router router_kubernetes = {
    .providers = providers,
    .about = "plain Services, blue/green",
    .resources = resources,
    .metric_family = "http",
    .stepped = &by_pods,
    .baked = &all_or_nothing,
    .check = kubernetes_check,
    .reconcile = kubernetes_go,
    .get = kubernetes_get,
    .settled = kubernetes_settled,
    .set = kubernetes_set,
    .revert = kubernetes_revert,
    .disown = kubernetes_go,
};

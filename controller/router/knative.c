/*
 * Knative: the target itself holds the shares of its revisions (router/OBJECTS.md).
 */
#include "router/router.h"

#include <string.h>

#include "tick/knative_object.h"
#include "tick/plan.h"

static const char *knative_check(struct arena *arena, const struct canary *canary)
{
    (void)arena;
    (void)canary;
    return NULL;
}

static struct json_object *spec_traffic(struct json_object *service)
{
    return json_at(service, "spec", "traffic", NULL);
}

/* Requires the annotation, and traffic that names its revision. Before the first routing there is
 * nothing to repair. */
static enum rule_result knative_reconcile(struct tick *tick)
{
    struct json_object *service;

    if (!knative_need(tick, &service))
        return RULE_NEEDS_FACTS;
    const char *primary = knative_primary(service);
    const char *named = knative_named(spec_traffic(service));
    if (!primary || !named)
        return RULE_CONTINUE;
    if (strcmp(primary, named) != 0 ||
        !json_at(service, "metadata", "annotations", KNATIVE_PRIMARY, NULL))
        knative_route(tick, service, primary, knative_share(spec_traffic(service)),
                      arena_printf(tick->arena, "primary %s", primary));
    return RULE_CONTINUE;
}

/* Read from the spec; settled() checks that it is in effect. (Flagger reads the status, which is
 * stale after a write.) */
static enum rule_result knative_get(struct tick *tick, struct weights *out)
{
    struct json_object *service;

    if (!knative_need(tick, &service))
        return RULE_NEEDS_FACTS;
    int canary = service ? WEIGHT_PERCENT * knative_share(spec_traffic(service)) : 0;
    *out = (struct weights){.primary = WEIGHT_ALL - canary, .canary = canary};
    return RULE_CONTINUE;
}

static bool is_taken_over(struct json_object *service)
{
    struct json_object *status = json_at(service, "status", "traffic", NULL);

    return knative_is_observed(service) && json_len(status) > 0 &&
           knative_share(status) == knative_share(spec_traffic(service));
}

static enum rule_result knative_settled(struct tick *tick, const char **why)
{
    struct json_object *service;

    if (!knative_need(tick, &service))
        return RULE_NEEDS_FACTS;
    if (!service || (is_taken_over(service) &&
                     !plan_writes(tick, &kube_knative_services, tick->canary->namespace_,
                                  tick->canary->target.name)))
        return RULE_CONTINUE;
    *why = arena_printf(tick->arena, "Knative Service %s.%s has not taken over its traffic yet",
                        tick->canary->target.name, tick->canary->namespace_);
    return RULE_DONE;
}

static enum rule_result knative_set(struct tick *tick, const struct weights *weights)
{
    struct json_object *service;

    if (!knative_need(tick, &service))
        return RULE_NEEDS_FACTS;
    const char *primary = knative_primary(service);
    if (!primary)
        return plan_block(tick, "Knative Service %s.%s has no annotation " KNATIVE_PRIMARY,
                          tick->canary->target.name, tick->canary->namespace_);
    int percent = weight_percent(weights->canary); /* it is a whole number: accept.c checks that */
    if (knative_share(spec_traffic(service)) != percent || !knative_named(spec_traffic(service)))
        knative_route(tick, service, primary, percent,
                      arena_printf(tick->arena, "weights %s/%s",
                                   weight_text(tick->arena, weights->primary),
                                   weight_text(tick->arena, weights->canary)));
    return RULE_CONTINUE;
}

/* (Flagger leaves all traffic with the last primary revision: later revisions never get any.) */
static enum rule_result knative_revert(struct tick *tick, bool recreate)
{
    struct json_object *service;

    (void)recreate;
    if (!knative_need(tick, &service))
        return RULE_NEEDS_FACTS;
    if (service)
        knative_release(tick, service, "-> latest revision");
    return RULE_CONTINUE;
}

static enum rule_result knative_disown(struct tick *tick)
{
    struct json_object *service;

    if (!knative_need(tick, &service))
        return RULE_NEEDS_FACTS;
    if (service)
        knative_annotate(tick, service, NULL, "without annotation");
    return RULE_CONTINUE;
}

static const char *const providers[] = {"knative", NULL};
static const struct kube_resource *const resources[] = {&kube_knative_revisions,
                                                        &kube_knative_services, NULL};

const struct router router_knative = {
    .providers = providers,
    .about = "Knative Serving",
    .resources = resources,
    .only_target = &kube_knative_services,
    .metric_family = "knative",
    .weighted = true,
    .check = knative_check,
    .reconcile = knative_reconcile,
    .get = knative_get,
    .settled = knative_settled,
    .set = knative_set,
    .revert = knative_revert,
    .disown = knative_disown,
};

/*
 * Policies, budgets and monitors that were written for the pods of the target. After the
 * initialisation those of the primary serve, with another value of one label: a NetworkPolicy or an
 * AuthorizationPolicy that selects by it does not hold for them, a PodDisruptionBudget does not
 * protect them, a PodMonitor does not measure them; nor does a ServiceMonitor of a Service that others
 * have made for the target. (Flagger leaves that to be found out.) They are
 * looked at when the Canary is initialised and at the end of each release, and are never written.
 * What the cluster does not serve, or does not let the controller list, is not known.
 */
#include "decide/act/companions.h"

#include <string.h>

#include "decide/release/condition.h"
#include "router/common_services.h"
#include "target/common_primary.h"

static const struct kube_resource budgets = {.group = "policy",
                                             .version = "v1",
                                             .plural = "poddisruptionbudgets",
                                             .kind = "PodDisruptionBudget"};
static const struct kube_resource network_policies = {.group = "networking.k8s.io",
                                                      .version = "v1",
                                                      .plural = "networkpolicies",
                                                      .kind = "NetworkPolicy"};
static const struct kube_resource authorizations = {.group = "security.istio.io",
                                                    .version = "v1",
                                                    .plural = "authorizationpolicies",
                                                    .kind = "AuthorizationPolicy"};
static const struct kube_resource monitors = {.group = "monitoring.coreos.com",
                                              .version = "v1",
                                              .plural = "podmonitors",
                                              .kind = "PodMonitor"};
/* It selects Services by their labels, and so the pods behind them. */
static const struct kube_resource service_monitors = {.group = "monitoring.coreos.com",
                                                      .version = "v1",
                                                      .plural = "servicemonitors",
                                                      .kind = "ServiceMonitor"};
static const struct {
    const struct kube_resource *resource;
    const char *selector; /* the field of spec that selects pods; NULL: of Services */
} kinds[] = {
    {&budgets, "selector"},  {&network_policies, "podSelector"}, {&authorizations, "selector"},
    {&monitors, "selector"}, {&service_monitors, NULL},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), NAMED = 5 };

static struct json_object *labels_of(struct json_object *workload)
{
    return json_at(workload, "spec", "template", "metadata", "labels", NULL);
}

bool companions_unfit(const char *kind, struct json_object *object, struct json_object *target,
                      struct json_object *primary)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (!kinds[i].selector || strcmp(kinds[i].resource->kind, kind) != 0)
            continue;
        struct json_object *selector = json_at(object, "spec", kinds[i].selector, NULL);
        return primary_selects(selector, target) && !primary_selects(selector, primary);
    }
    return false;
}

/* Of the Services that it selects, some lead to the pods of the target and none to those of the
 * primary. The Service of the canary is meant to. */
static bool monitor_is_unfit(struct release *r, struct json_object *monitor,
                             struct json_object *services)
{
    struct json_object *selector = json_at(monitor, "spec", "selector", NULL);
    bool leads = false;

    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_elem(services, i);
        struct json_object *pods = json_at(service, "spec", "selector", NULL);
        const char *name = json_str_at(service, "metadata", "name", NULL);
        if (!name || strcmp(name, r->canary->service.canary_name) == 0 ||
            !primary_selects(selector, json_at(service, "metadata", "labels", NULL)))
            continue;
        if (services_select(pods, json_at(r->info.primary, "spec", "template", NULL)))
            return false;
        leads |= services_select(pods, json_at(r->info.object, "spec", "template", NULL));
    }
    return leads;
}

/* Adds those of a list that select the pods of the target and not those of the primary. */
static const char *add_unfit(struct release *r, size_t kind, struct json_object *list,
                             struct json_object *services, const char *text, int *count)
{
    struct json_object *target = labels_of(r->info.object), *primary = labels_of(r->info.primary);

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_elem(list, i);
        const char *name = json_str_at(one, "metadata", "name", NULL);
        bool unfit = kinds[kind].selector
                         ? companions_unfit(kinds[kind].resource->kind, one, target, primary)
                         : monitor_is_unfit(r, one, services);
        if (!name || !unfit)
            continue;
        if (++*count <= NAMED)
            text = arena_printf(r->tick->arena, "%s%s%s %s", text, *text ? ", " : "",
                                kinds[kind].resource->kind, name);
    }
    return text;
}

static void report(struct release *r, const char *names, int count)
{
    const char *text = arena_printf(
        r->tick->arena,
        "%s%s in namespace %s select the pods of %s and not those of %s-primary, which serve; have "
        "them select both values of the label %s: %s and %s-primary",
        names, count > NAMED ? " and others" : "", r->canary->namespace_, release_target(r),
        r->canary->target.name, r->info.label, r->info.label_value, r->info.label_value);

    if (condition_set(r, CONDITION_COMPANIONS, "SelectTargetOnly", text))
        release_warn(r, "%s", text);
}

enum verdict companions_look(struct release *r)
{
    const char *names = "";
    struct json_object *services = NULL;
    bool known = true;
    int count = 0;

    if (r->target->own_services || !r->info.label || !r->info.object || !r->info.primary)
        return VERDICT_GO;
    for (size_t i = 0; i < KINDS; i++) {
        const char *denied;
        struct json_object *list = NULL;
        /* which are asked for where there is such a monitor */
        if (need_objects_if_allowed(r->tick, kinds[i].resource, r->canary->namespace_, &list,
                                    &denied))
            known = (kinds[i].selector || json_len(list) == 0 ||
                     need_objects(r->tick, &kube_services, r->canary->namespace_, &services)) &&
                    known;
        else
            known = false;
        names = add_unfit(r, i, list, services, names, &count);
    }
    if (!known)
        return VERDICT_NEED_FACTS;
    if (count > 0)
        report(r, names, count);
    else
        condition_clear(r, CONDITION_COMPANIONS);
    return VERDICT_GO;
}

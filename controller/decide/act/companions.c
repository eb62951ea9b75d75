/*
 * Policies, budgets and monitors that were written for the pods of the target. After the
 * initialisation those of the primary serve, with another value of one label: a NetworkPolicy or an
 * AuthorizationPolicy that selects by it does not hold for them, a PodDisruptionBudget does not
 * protect them, a PodMonitor does not measure them. (Flagger leaves that to be found out.) They are
 * looked at when the Canary is initialised and at the end of each release, and are never written.
 * What the cluster does not serve, or does not let the controller list, is not known.
 */
#include "decide/act/companions.h"

#include <string.h>

#include "decide/release/condition.h"
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
static const struct {
    const struct kube_resource *resource;
    const char *selector; /* the field of spec that selects pods */
} kinds[] = {
    {&budgets, "selector"},
    {&network_policies, "podSelector"},
    {&authorizations, "selector"},
    {&monitors, "selector"},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), NAMED = 5 };

static struct json_object *labels_of(struct json_object *workload)
{
    return json_at(workload, "spec", "template", "metadata", "labels", NULL);
}

/* Adds those of a list that select the pods of the target and not those of the primary. */
static const char *add_unfit(struct release *r, size_t kind, struct json_object *list,
                             const char *text, int *count)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_elem(list, i);
        struct json_object *selector = json_at(one, "spec", kinds[kind].selector, NULL);
        const char *name = json_str_at(one, "metadata", "name", NULL);
        if (!name || !primary_selects(selector, labels_of(r->info.object)) ||
            primary_selects(selector, labels_of(r->info.primary)))
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
    bool known = true;
    int count = 0;

    if (r->target->own_services || !r->info.label || !r->info.object || !r->info.primary)
        return VERDICT_GO;
    for (size_t i = 0; i < KINDS; i++) {
        const char *denied;
        struct json_object *list;
        if (need_objects_if_allowed(r->tick, kinds[i].resource, r->canary->namespace_, &list,
                                    &denied))
            names = add_unfit(r, i, list, names, &count);
        else
            known = false;
    }
    if (!known)
        return VERDICT_NEED_FACTS;
    if (count > 0)
        report(r, names, count);
    else
        condition_clear(r, CONDITION_COMPANIONS);
    return VERDICT_GO;
}

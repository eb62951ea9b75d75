/*
 * Workloads of others whose pods the Services of a Canary would select: those of a target that is
 * known by labels which others have as well lead to the pods of all of them. (Flagger makes them
 * by one label, and requests go to other programs.) They are looked for before the first Service is
 * made, when nothing of the target has been touched yet; a Canary that serves is not held up by
 * what is made later. What a Service selects is compared with the pod templates of the namespace's
 * workloads, since nobody watches pods.
 */
#include "decide/act/owners.h"

#include <string.h>

#include "decide/release/condition.h"
#include "decide/release/serving.h"
#include "target/common_primary.h"

static const struct kube_resource statefulsets = {
    .group = "apps", .version = "v1", .plural = "statefulsets", .kind = "StatefulSet"};
static const struct kube_resource *const kinds[] = {&kube_deployments, &kube_daemonsets,
                                                    &statefulsets};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static bool is_own(struct release *r, const struct kube_resource *kind, const char *name)
{
    return kube_resource_same(kind, r->target->resource) &&
           (strcmp(name, r->canary->target.name) == 0 || strcmp(name, primary_name(r->tick)) == 0);
}

/* The first workload of this kind that one of the selectors picks as well; NULL: there is none. */
static struct json_object *find(struct release *r, const struct kube_resource *kind,
                                struct json_object *list, struct json_object *const selectors[2])
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *workload = json_elem(list, i);
        struct json_object *template = json_at(workload, "spec", "template", NULL);
        const char *name = json_str_at(workload, "metadata", "name", NULL);
        if (!name || is_own(r, kind, name) ||
            json_at(workload, "metadata", "deletionTimestamp", NULL))
            continue;
        if (services_select(selectors[0], template) || services_select(selectors[1], template))
            return workload;
    }
    return NULL;
}

/* It is still to be made, or leads to other pods: those of a former target, or of others. */
static bool is_to_lead(struct json_object *service, struct json_object *template)
{
    return !service || !services_select(json_at(service, "spec", "selector", NULL), template);
}

/* The Services are about to lead to the target for the first time, or were held up by this. */
static bool is_before(struct release *r, bool *known)
{
    const struct canary_service *service = &r->canary->service;
    const char *namespace_ = r->canary->namespace_;
    struct json_object *canary, *primary;

    *known = need_object(r->tick, &kube_services, namespace_, service->canary_name, &canary);
    *known =
        need_object(r->tick, &kube_services, namespace_, service->primary_name, &primary) && *known;
    return !primary || is_to_lead(canary, json_at(r->info.object, "spec", "template", NULL)) ||
           condition_is_set(r, CONDITION_OWNERS);
}

static enum verdict hold(struct release *r, const struct kube_resource *kind,
                         struct json_object *workload, struct json_object *selector)
{
    return condition_hold(
        r, CONDITION_OWNERS, "SelectsOthers",
        arena_printf(r->tick->arena,
                     "Services of %s would select the pods of %s %s.%s as well, by %s; give %s a "
                     "selector with a label that no other workload has",
                     release_canary(r), kind->kind, json_str_at(workload, "metadata", "name", NULL),
                     r->canary->namespace_, services_print(r->tick, selector), release_target(r)));
}

enum verdict owners_look(struct release *r)
{
    bool known, all = true;

    if (!release_is_initialising(r) || r->target->own_services || !r->info.label ||
        !is_before(r, &known))
        return VERDICT_GO;
    if (!known)
        return VERDICT_NEED_FACTS;
    struct json_object *const selectors[] = {primary_pods(r->tick, &r->info, false, NULL),
                                             primary_pods(r->tick, &r->info, true, NULL)};
    for (int i = 0; i < KINDS; i++) {
        const char *denied;
        struct json_object *list, *found;
        if (!need_objects_if_allowed(r->tick, kinds[i], r->canary->namespace_, &list, &denied)) {
            all = false;
            continue;
        }
        found = find(r, kinds[i], list, selectors);
        if (found)
            return hold(r, kinds[i], found, selectors[0]);
    }
    if (!all)
        return VERDICT_NEED_FACTS;
    condition_clear(r, CONDITION_OWNERS);
    return VERDICT_GO;
}

/*
 * Workloads of others whose pods the Services of a Canary would select: those of a target that is
 * known by labels which others have as well lead to the pods of all of them. (Flagger makes them
 * by one label, and requests go to other programs.) They are looked for before the first Service is
 * made, when nothing of the target has been touched yet; a Canary that serves is not held up by
 * what is made later. What a Service selects is compared with the pod templates of the namespace's
 * workloads, since nobody watches pods.
 *
 * A primary that Flagger made has one label in its selector, which several Canaries of a namespace may
 * share: its autoscaler, its Services and kubectl see the pods of all of them. That is told, with the
 * command that makes it anew (act/renew.c), as soon as the watch shows such a workload.
 */
#include "decide/act/owners.h"

#include <string.h>

#include "decide/act/renew.h"
#include "decide/release/condition.h"
#include "decide/release/serving.h"
#include "target/common_primary.h"

static const struct kube_resource statefulsets = {
    .group = "apps", .version = "v1", .plural = "statefulsets", .kind = "StatefulSet"};
static const struct kube_resource *const kinds[] = {&kube_deployments, &kube_daemonsets,
                                                    &statefulsets};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Reasons of the condition. */
static const char selects_others[] = "SelectsOthers",
                  primary_selects_others[] = "PrimarySelectsOthers",
                  pods_of_others[] = "PodsOfOthers";

static bool is_own(struct release *r, const struct kube_resource *kind, const char *name)
{
    return kube_resource_same(kind, r->target->resource) &&
           (strcmp(name, r->canary->target.name) == 0 || strcmp(name, primary_name(r->tick)) == 0 ||
            strcmp(name, renew_second(r)) == 0);
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
           condition_has_reason(r, CONDITION_OWNERS, selects_others);
}

static enum verdict hold(struct release *r, const struct kube_resource *kind,
                         struct json_object *workload, struct json_object *selector)
{
    return condition_hold(
        r, CONDITION_OWNERS, selects_others,
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

/* --- beside a primary that serves */

/* The list has at least the name of a workload, and then that has the label; or all of it. */
static bool may_overlap(struct release *r, struct json_object *workload, const char *value)
{
    struct json_object *labels = json_at(workload, "spec", "template", "metadata", "labels", NULL);
    const char *name = json_str_at(workload, "metadata", "name", NULL);
    const char *has = json_str_at(labels, r->info.label, NULL);

    return name && !is_own(r, r->target->resource, name) &&
           (!json_at(workload, "spec", "template", NULL) || (has && strcmp(has, value) == 0));
}

static bool is_selected(struct release *r, struct json_object *workload)
{
    struct json_object *selector = json_at(r->info.primary, "spec", "selector", NULL);
    struct json_object *labels = json_at(workload, "spec", "template", "metadata", "labels", NULL);

    return workload && !json_at(workload, "metadata", "deletionTimestamp", NULL) &&
           primary_selects(selector, labels);
}

/* *found: the name of the first, NULL: there is none. */
static enum verdict find_around(struct release *r, const char **found)
{
    const char *value =
        json_str_at(r->info.primary, "spec", "selector", "matchLabels", r->info.label, NULL);
    struct json_object *list, *workload;
    enum verdict verdict = VERDICT_GO;

    *found = NULL;
    if (!value)
        return VERDICT_GO;
    if (!need_labelled(r->tick, r->target->resource, r->info.label, value, &list))
        return VERDICT_NEED_FACTS;
    for (size_t i = 0; i < json_len(list); i++) {
        const char *name = json_str_at(json_elem(list, i), "metadata", "name", NULL);
        if (!may_overlap(r, json_elem(list, i), value))
            continue;
        if (!need_object(r->tick, r->target->resource, r->canary->namespace_, name, &workload))
            verdict = VERDICT_NEED_FACTS;
        else if (!*found && is_selected(r, workload))
            *found = name;
    }
    return verdict;
}

static void tell_around(struct release *r, const char *name)
{
    const char *target = r->canary->target.name, *namespace_ = r->canary->namespace_;
    const char *out =
        renew_is_narrow(r)
            ? arena_printf(r->tick->arena,
                           "kubectl canary renew-primary %s -n %s makes it anew, with "
                           "all labels of the selector of %s",
                           r->canary->name, namespace_, target)
            : arena_printf(r->tick->arena,
                           "give one of them a label in its selector that the other "
                           "does not have");
    const char *text = arena_printf(
        r->tick->arena, "The selector of %s.%s, %s, picks the pods of %s %s as well; %s",
        primary_name(r->tick), namespace_,
        services_print(r->tick, json_at(r->info.primary, "spec", "selector", "matchLabels", NULL)),
        r->canary->target.kind, name, out);

    if (condition_set(r, CONDITION_OWNERS, primary_selects_others, text))
        release_warn(r, "%s", text);
}

/* One that has more than one label shares them all with no workload but by intent: it is not looked
 * for, since many workloads may share the one. */
enum verdict owners_look_around(struct release *r)
{
    struct json_object *labels = json_at(r->info.primary, "spec", "selector", "matchLabels", NULL);
    const char *found = NULL;
    enum verdict verdict =
        json_count(labels) == 1 || renew_is_narrow(r) ? find_around(r, &found) : VERDICT_GO;

    if (verdict != VERDICT_GO)
        return verdict;
    if (found)
        tell_around(r, found);
    else if (condition_has_reason(r, CONDITION_OWNERS, primary_selects_others))
        condition_clear(r, CONDITION_OWNERS);
    return VERDICT_GO;
}

/* --- pods, whatever makes them */

enum { NAMED = 3 };

static const struct kube_resource pods = {
    .group = "", .version = "v1", .plural = "pods", .kind = "Pod"};

static struct json_object *controller_of(struct json_object *pod)
{
    struct json_object *owners = json_at(pod, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < json_len(owners); i++)
        if (json_bool_at(json_elem(owners, i), false, "controller", NULL))
            return json_elem(owners, i);
    return NULL;
}

/* The target makes it: a Deployment by a ReplicaSet that is called by the hash of its template. */
static bool is_of_target(struct release *r, struct json_object *pod)
{
    const char *maker = json_str_at(controller_of(pod), "name", NULL);
    const char *hash = json_str_at(pod, "metadata", "labels", "pod-template-hash", NULL);
    const char *name = r->canary->target.name;

    return maker &&
           (strcmp(maker, name) == 0 ||
            (hash && strcmp(maker, arena_printf(r->tick->arena, "%s-%s", name, hash)) == 0));
}

static bool has_ended(struct json_object *pod)
{
    const char *phase = json_str_at(pod, "status", "phase", NULL);

    return json_at(pod, "metadata", "deletionTimestamp", NULL) ||
           (phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0));
}

/* "Job nightly, Pod debug": their makers, or they themselves; "": there are none. */
static const char *print_others(struct release *r, struct json_object *list,
                                struct json_object *selector)
{
    const char *text = "";
    int count = 0;

    for (size_t i = 0; i < json_len(list) && count <= NAMED; i++) {
        struct json_object *pod = json_elem(list, i), *maker = controller_of(pod);
        const char *kind = json_str_at(maker, "kind", NULL);
        const char *name =
            kind ? json_str_at(maker, "name", NULL) : json_str_at(pod, "metadata", "name", NULL);
        if (!services_select(selector, pod) || is_of_target(r, pod) || has_ended(pod))
            continue;
        const char *one =
            arena_printf(r->tick->arena, "%s %s, ", kind ? kind : "Pod", name ? name : "");
        if (!strstr(text, one))
            text = arena_printf(r->tick->arena, "%s%s", text, ++count <= NAMED ? one : "others, ");
    }
    if (count > 0) /* without the last comma */
        text = arena_strndup(r->tick->arena, text, strlen(text) - strlen(", "));
    return text;
}

enum verdict owners_look_at_pods(struct release *r)
{
    struct json_object *list;

    if (r->target->own_services || !r->info.label ||
        condition_has_reason(r, CONDITION_OWNERS, primary_selects_others))
        return VERDICT_GO;
    struct json_object *selector = primary_pods(r->tick, &r->info, false, NULL);
    if (!need_selected(r->tick, &pods, r->canary->namespace_, selector, &list))
        return VERDICT_NEED_FACTS;
    const char *others = print_others(r, list, selector);
    if (*others) {
        const char *text = arena_printf(
            r->tick->arena,
            "%s in namespace %s: its pods have all labels of the selector of %s, %s, and get a "
            "part of the requests that are meant for the canary; give them other labels",
            others, r->canary->namespace_, release_target(r), services_print(r->tick, selector));
        if (condition_set(r, CONDITION_OWNERS, pods_of_others, text))
            release_warn(r, "%s", text);
    } else if (condition_has_reason(r, CONDITION_OWNERS, pods_of_others)) {
        condition_clear(r, CONDITION_OWNERS);
    }
    return VERDICT_GO;
}

/*
 * Foreign objects that share pods, Services or hosts with a Canary: workloads, Services and routes.
 *
 * Workloads with pods that the Services of the Canary would select: Services that select by labels
 * which other workloads share lead to all of their pods. (Flagger selects by one label, and
 * requests reach other programs.) They are looked up before the first Service is made, when nothing
 * of the target has been touched yet; workloads created later do not delay a serving Canary.
 * Selectors are compared with the pod templates of the namespace's workloads, since pods are not
 * watched.
 *
 * A primary made by Flagger has one label in its selector, which several Canaries of a namespace
 * may share: its autoscaler, its Services and kubectl see the pods of all of them. That is
 * reported, with the command that renews it (rules.h), as soon as the watch shows such a workload.
 */
#include "decide/foreign.h"

#include <string.h>

#include "base/json.h"
#include "decide/companions.h"
#include "decide/condition.h"
#include "decide/release.h"
#include "decide/rules.h"
#include "decide/serving.h"
#include "target/shared/primary.h"
#include "tick/edit.h"

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

/* The first workload of this kind that one of the selectors matches as well; NULL if none. */
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

/* True if the Service is not made yet, or leads to other pods: those of a former target, or foreign
 * ones. */
static bool is_to_lead(struct json_object *service, struct json_object *template)
{
    return !service || !services_select(json_at(service, "spec", "selector", NULL), template);
}

/*
 * True if the Services are about to lead to the target for the first time, or were held by this
 * check.
 */
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

static enum rule_result hold(struct release *r, const struct kube_resource *kind,
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

enum rule_result owners_check(struct release *r)
{
    bool known, all = true;

    if (!release_is_initialising(r) || r->target->own_services || canary_is_worker(r->canary) ||
        !r->info.label || !is_before(r, &known))
        return RULE_CONTINUE;
    if (!known)
        return RULE_NEEDS_FACTS;
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
        return RULE_NEEDS_FACTS;
    condition_clear(r, CONDITION_OWNERS);
    return RULE_CONTINUE;
}

/* --- beside a primary that serves */

/* The list contains at least the name of the workload, which then has the label; or the whole
 * workload. */
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

/* *found: the name of the first such workload; NULL if none. */
static enum rule_result find_around(struct release *r, const char **found)
{
    const char *value =
        json_str_at(r->info.primary, "spec", "selector", "matchLabels", r->info.label, NULL);
    struct json_object *list, *workload;
    enum rule_result verdict = RULE_CONTINUE;

    *found = NULL;
    if (!value)
        return RULE_CONTINUE;
    if (!need_labelled(r->tick, r->target->resource, r->info.label, value, &list))
        return RULE_NEEDS_FACTS;
    for (size_t i = 0; i < json_len(list); i++) {
        const char *name = json_str_at(json_elem(list, i), "metadata", "name", NULL);
        if (!may_overlap(r, json_elem(list, i), value))
            continue;
        if (!need_object(r->tick, r->target->resource, r->canary->namespace_, name, &workload))
            verdict = RULE_NEEDS_FACTS;
        else if (!*found && is_selected(r, workload))
            *found = name;
    }
    return verdict;
}

static void tell_around(struct release *r, const char *name)
{
    const char *target = r->canary->target.name, *namespace_ = r->canary->namespace_;
    const char *out = renew_is_narrow(r)
                          ? arena_printf(r->tick->arena,
                                         "kubectl canary renew-primary %s -n %s recreates it, with "
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
        event_warning(r, "%s", text);
}

/*
 * A selector with several labels matches other workloads only on purpose, so they are not looked
 * up: many workloads may share one of the labels.
 */
enum rule_result owners_check_around(struct release *r)
{
    struct json_object *labels = json_at(r->info.primary, "spec", "selector", "matchLabels", NULL);
    const char *found = NULL;
    enum rule_result verdict =
        json_count(labels) == 1 || renew_is_narrow(r) ? find_around(r, &found) : RULE_CONTINUE;

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (found)
        tell_around(r, found);
    else if (condition_has_reason(r, CONDITION_OWNERS, primary_selects_others))
        condition_clear(r, CONDITION_OWNERS);
    return RULE_CONTINUE;
}

/* --- pods of any origin */

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

/*
 * True for pods of this workload: a Deployment owns them by a ReplicaSet named after its template
 * hash.
 */
static bool is_of(struct release *r, struct json_object *pod, const char *name)
{
    const char *maker = json_str_at(controller_of(pod), "name", NULL);
    const char *hash = json_str_at(pod, "metadata", "labels", "pod-template-hash", NULL);

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

/* True for pods of the target, and with `both` also for those of the primary and its temporary
 * replacement. */
static bool is_of_side(struct release *r, struct json_object *pod, bool both)
{
    return is_of(r, pod, r->canary->target.name) ||
           (both && (is_of(r, pod, primary_name(r->tick)) || is_of(r, pod, renew_second(r))));
}

/* "Job nightly, Pod debug": the owners, or the pods without owner; "" if none. */
static const char *print_others(struct release *r, struct json_object *list,
                                struct json_object *selector, bool both)
{
    const char *text = "";
    int count = 0;

    for (size_t i = 0; i < json_len(list) && count <= NAMED; i++) {
        struct json_object *pod = json_elem(list, i), *maker = controller_of(pod);
        const char *kind = json_str_at(maker, "kind", NULL);
        const char *name =
            kind ? json_str_at(maker, "name", NULL) : json_str_at(pod, "metadata", "name", NULL);
        if (!services_select(selector, pod) || is_of_side(r, pod, both) || has_ended(pod))
            continue;
        const char *one =
            arena_printf(r->tick->arena, "%s %s, ", kind ? kind : "Pod", name ? name : "");
        if (!strstr(text, one))
            text = arena_printf(r->tick->arena, "%s%s", text, ++count <= NAMED ? one : "others, ");
    }
    if (count > 0) /* without the trailing comma */
        text = arena_strndup(r->tick->arena, text, strlen(text) - strlen(", "));
    return text;
}

enum rule_result owners_find_pods(struct release *r, struct json_object *labels,
                                  const char **others)
{
    struct json_object *list;

    if (!need_selected(r->tick, &pods, r->canary->namespace_, labels, &list))
        return RULE_NEEDS_FACTS;
    *others = print_others(r, list, labels, true);
    return RULE_CONTINUE;
}

enum rule_result owners_check_pods(struct release *r)
{
    struct json_object *list;

    if (r->target->own_services || !r->info.label ||
        condition_has_reason(r, CONDITION_OWNERS, primary_selects_others))
        return RULE_CONTINUE;
    struct json_object *selector = primary_pods(r->tick, &r->info, false, NULL);
    if (!need_selected(r->tick, &pods, r->canary->namespace_, selector, &list))
        return RULE_NEEDS_FACTS;
    const char *others = print_others(r, list, selector, false);
    if (*others) {
        const char *text = arena_printf(
            r->tick->arena,
            "%s in namespace %s: its pods have all labels of the selector of %s, %s, and get a "
            "part of the requests that are meant for the canary; give them other labels",
            others, r->canary->namespace_, release_target(r), services_print(r->tick, selector));
        if (condition_set(r, CONDITION_OWNERS, pods_of_others, text))
            event_warning(r, "%s", text);
    } else if (condition_has_reason(r, CONDITION_OWNERS, pods_of_others)) {
        condition_clear(r, CONDITION_OWNERS);
    }
    return RULE_CONTINUE;
}

/*
 * Foreign Services that lead to the target or to the primary. A Canary's own Services lead to the
 * primary, and the target goes to zero; another Service that selects the target's pods (an older
 * one, or of another team) would then have no endpoints. (Flagger lets that happen.) So the target
 * keeps its pods while there is such a Service; that is reported, and releases continue.
 *
 * They are looked up once, when the Canary is initialised, whatever the replicas of the target: a
 * Service made later had no endpoints before either. A condition records the finding; while it
 * exists, the search is repeated before the target goes to zero, and when the Service changes. A
 * person may scale the target to zero meanwhile; the pods of the next release stay. An annotation
 * on the Service allows it to lose its endpoints, and so does spec.companions, which makes a copy
 * of it for the primary.
 *
 * Deleting a Canary deletes its primary. The primary stays, with everything that its pods read, if
 * a foreign Service selects it: the Service of a Canary that changed its target still leads to its
 * former primary, which another Canary may have adopted. The primary then has no controller.
 */

#define MAY_GO "flagger.app/endpoints-may-go"

static bool is_named_by(const struct canary *canary, const char *name)
{
    const char *const names[] = {canary->service.name, canary->service.primary_name,
                                 canary->service.canary_name};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i] && strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

/* True if the Service has a selector, and pods of this template have all of its labels. */
static bool selects(struct json_object *service, struct json_object *template)
{
    struct json_object *labels = json_at(template, "metadata", "labels", NULL);
    struct json_object *selector = json_at(service, "spec", "selector", NULL);

    if (!json_object_is_type(selector, json_type_object) ||
        json_object_object_length(selector) == 0)
        return false;
    json_object_object_foreach(selector, key, value)
    {
        if (!json_same(json_at(labels, key, NULL), value))
            return false;
    }
    return true;
}

/* The canary Service of another Canary: such a Service has no endpoints between releases. */
static bool is_left_canary(const struct release *r, struct json_object *service)
{
    return json_at(service, "metadata", "annotations", HANDED_OVER_BY, NULL) &&
           selects(service, r->info.template);
}

/*
 * True if the Service would have no endpoints without the pods of this template. instead: the
 * template of the pods that stay, or NULL.
 */
static bool is_in_the_way(struct release *r, struct json_object *service,
                          struct json_object *template, struct json_object *instead)
{
    const char *name = json_str_at(service, "metadata", "name", NULL);
    const char *may_go = json_str_at(service, "metadata", "annotations", MAY_GO, NULL);

    return name && !is_named_by(r->canary, name) && !edit_is_owned(r->tick, service) &&
           !companions_has_service(r, name) && !is_left_canary(r, service) &&
           !(may_go && strcmp(may_go, "true") == 0) && selects(service, template) &&
           !(instead && selects(service, instead));
}

/*
 * The Services are needed one by one, so that a change wakes the Canary. *name: the first of them,
 * NULL if none.
 */
static enum rule_result find_service(struct release *r, struct json_object *template,
                                     struct json_object *instead, const char **name)
{
    struct json_object *services, *one;
    enum rule_result verdict = RULE_CONTINUE;

    *name = NULL;
    if (!need_objects(r->tick, &kube_services, r->canary->namespace_, &services))
        return RULE_NEEDS_FACTS;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_elem(services, i);
        if (!is_in_the_way(r, service, template, instead))
            continue;
        const char *found = json_str_at(service, "metadata", "name", NULL);
        *name = *name ? *name : found;
        if (!need_object(r->tick, &kube_services, r->canary->namespace_, found, &one))
            verdict = RULE_NEEDS_FACTS;
    }
    return verdict;
}

enum rule_result bystander_check(struct release *r)
{
    const char *name;

    if (r->target->own_services || !r->info.template)
        return RULE_CONTINUE;
    enum rule_result verdict = find_service(r, r->info.template, NULL, &name);
    if (verdict != RULE_CONTINUE || !name) {
        if (verdict == RULE_CONTINUE)
            condition_clear(r, CONDITION_FREE);
        return verdict;
    }
    const char *text =
        arena_printf(r->tick->arena,
                     "Service %s.%s selects the pods of %s, which keeps them until it is gone or "
                     "selects others, and no revision with other configs is released; if it may "
                     "lead nowhere, annotate it with " MAY_GO "=true",
                     name, r->canary->namespace_, release_target(r));
    if (condition_set(r, CONDITION_FREE, "SelectedByService", text))
        event_warning(r, "%s", text);
    return RULE_DONE;
}

enum rule_result bystander_wait(struct release *r)
{
    bool may_be = release_is_initialising(r) || condition_is_set(r, CONDITION_FREE);

    return may_be ? bystander_check(r) : RULE_CONTINUE;
}

enum rule_result bystander_keep_primary(struct release *r)
{
    struct json_object *primary = r->info.primary;
    struct json_object *instead = r->info.at_zero ? NULL : r->info.template;
    const char *name;

    if (r->target->own_services || !primary || !edit_is_owned(r->tick, primary))
        return RULE_CONTINUE;
    enum rule_result verdict =
        find_service(r, json_at(primary, "spec", "template", NULL), instead, &name);
    if (verdict == RULE_CONTINUE && name)
        verdict = handover_leave_primary(r);
    if (verdict == RULE_CONTINUE && name)
        event_warning(r,
                      "Service %s.%s selects the pods of %s-primary.%s, which stays without its "
                      "Canary; delete it when nobody needs it",
                      name, r->canary->namespace_, r->canary->target.name, r->canary->namespace_);
    return verdict;
}

/*
 * Foreign routes. If two routes have the same gateway, host and match, a mesh sends all requests to
 * the older one, which may be left from a deleted Canary. The newer route does not show that; its
 * canary is measured by probes alone. So the routes of the namespace are checked when the Canary is
 * initialised, when a release begins, and when it ends with such a route in the way. They are only
 * read; router->claims finds the conflicts.
 */

static const char *text_at(struct json_object *object, const char *key)
{
    const char *text = json_str_at(object, "metadata", key, NULL);

    return text ? text : "";
}

/*
 * The route that receives the requests of the Canary: the router's own, or the user's object if the
 * router splits its traffic.
 */
static bool is_own_route(struct release *r, const struct kube_resource *kind,
                         struct json_object *route)
{
    const char *const *name = router_object_names(r->tick->arena, r->router, r->canary, kind);
    const char *source = r->canary->ingress.name, *is = text_at(route, "name");

    if (r->router->source)
        return source && strcmp(source, is) == 0;
    while (*name && strcmp(*name, is) != 0)
        name++;
    return *name;
}

/* Meshes compare the time of creation, then the name. */
static bool is_older(struct json_object *route, struct json_object *own)
{
    const char *made = text_at(route, "creationTimestamp"),
               *of_own = text_at(own, "creationTimestamp");
    int order = strcmp(made, of_own);

    if (!*made)
        return false;
    return !*of_own || order < 0 ||
           (order == 0 && strcmp(text_at(route, "name"), text_at(own, "name")) < 0);
}

/* The first claim that both routes have; NULL if none. */
static const char *common_claim(struct release *r, struct json_object *own,
                                struct json_object *route)
{
    struct json_object *ours = r->router->claims(r->tick->arena, own);
    struct json_object *theirs = r->router->claims(r->tick->arena, route);

    for (size_t i = 0; i < json_len(ours); i++) {
        for (size_t k = 0; k < json_len(theirs); k++) {
            if (json_same(json_elem(ours, i), json_elem(theirs, k)))
                return json_object_get_string(json_elem(ours, i));
        }
    }
    return NULL;
}

/* A sentence about the first route in the way; NULL if none. */
static const char *find_older(struct release *r, const struct kube_resource *kind,
                              struct json_object *list)
{
    struct json_object *own = NULL;

    for (size_t i = 0; i < json_len(list); i++) {
        if (is_own_route(r, kind, json_elem(list, i)))
            own = json_elem(list, i);
    }
    for (size_t i = 0; own && i < json_len(list); i++) {
        struct json_object *route = json_elem(list, i);
        const char *claim =
            route != own && is_older(route, own) ? common_claim(r, own, route) : NULL;
        if (claim)
            return arena_printf(
                r->tick->arena,
                "%s %s.%s is older than %s and takes the same requests (%s): %s may "
                "get none; delete it, or give one of both another host or match",
                kind->kind, text_at(route, "name"), r->canary->namespace_, text_at(own, "name"),
                claim, release_canary(r));
    }
    return NULL;
}

enum rule_result contested_check(struct release *r)
{
    const struct kube_resource *const *kind = r->router->resources;
    const char *text = NULL;
    bool known = true;

    for (; r->router->claims && *kind; kind++) {
        struct json_object *list = NULL;
        const char *denied;
        if (kube_resource_same(*kind, &kube_services))
            continue;
        known =
            need_objects_if_allowed(r->tick, *kind, r->canary->namespace_, &list, &denied) && known;
        text = text ? text : find_older(r, *kind, list);
    }
    if (!known)
        return RULE_NEEDS_FACTS;
    if (!text)
        condition_clear(r, CONDITION_FIRST);
    else if (condition_set(r, CONDITION_FIRST, "OlderRoute", text))
        event_warning(r, "%s", text);
    return RULE_CONTINUE;
}

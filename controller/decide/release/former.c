/*
 * Which target was released before an edit, where status.acceptedSpec does not say it: the CRD in
 * the cluster is Flagger's, which drops that field, or the status is one that Flagger wrote. The
 * Service of the primary tells it, as long as it has kept its name: it selects the pods of
 * podinfo-primary, and such a workload, made for this Canary, was made from podinfo. Where the
 * Services have been given other names as well, nothing leads to the old ones; that there is no
 * Service and no route of the new names tells at least that they are others.
 */
#include "decide/release/former.h"

#include <string.h>

#include "decide/release/release.h"
#include "tick/edit.h"

#define PRIMARY_SUFFIX "-primary"

static bool is_forgotten(const struct release *r)
{
    return !r->canary->status.accepted_spec && !release_is_initialising(r) && !r->tick->mistake &&
           r->target && !r->target->own_services;
}

/* "podinfo" of a Service that selects app=podinfo-primary; NULL: it selects something else. */
static const char *selected_target(struct arena *arena, struct json_object *service)
{
    struct json_object *selector = json_at(service, "spec", "selector", NULL);
    const size_t suffix = strlen(PRIMARY_SUFFIX);

    if (!json_object_is_type(selector, json_type_object))
        return NULL;
    json_object_object_foreach(selector, label, value)
    {
        const char *text = json_object_get_string(value);
        size_t len = text ? strlen(text) : 0;
        (void)label;
        if (len > suffix && strcmp(text + len - suffix, PRIMARY_SUFFIX) == 0)
            return arena_printf(arena, "%.*s", (int)(len - suffix), text);
    }
    return NULL;
}

/* The Canary as if it were remembered that this target was released under its Service's name. */
static enum verdict recall(struct release *r, const char *target)
{
    struct arena *arena = r->tick->arena;
    struct canary *view = ARENA_NEW(arena, struct canary);
    struct json_object *object = json_copy(arena, r->canary->json);
    struct json_object *spec = json_copy(arena, json_at(object, "spec", NULL));
    struct errinfo ignored;

    json_set_str(json_sub(spec, "targetRef"), "name", target);
    json_set_str(json_sub(spec, "service"), "name", r->canary->service.name);
    json_set(json_sub(object, "status"), "acceptedSpec", spec);
    if (canary_view(arena, object, view, &ignored) == ERR_OK)
        release_follow(r, view);
    return VERDICT_GO;
}

enum verdict former_recall(struct release *r)
{
    struct json_object *service, *primary;

    if (!is_forgotten(r))
        return VERDICT_GO;
    if (!need_object(r->tick, &kube_services, r->canary->namespace_,
                     r->canary->service.primary_name, &service))
        return VERDICT_NEED_FACTS;
    const char *target = selected_target(r->tick->arena, service);
    if (!target || strcmp(target, r->canary->target.name) == 0)
        return VERDICT_GO;
    if (!need_object(r->tick, r->target->resource, r->canary->namespace_,
                     arena_printf(r->tick->arena, "%s" PRIMARY_SUFFIX, target), &primary))
        return VERDICT_NEED_FACTS;
    return primary && edit_is_owned(r->tick, primary) ? recall(r, target) : VERDICT_GO;
}

/* A Service or a route of the spec's names was made for this Canary. NEED_FACTS or GO. */
static enum verdict find_names(struct release *r, bool *found)
{
    const struct canary_service *service = &r->canary->service;
    const char *const sides[] = {service->primary_name, service->canary_name};
    const struct kube_resource *const *resource = r->router->resources;
    struct json_object *live;
    bool known = true;

    *found = false;
    for (int i = 0; i < 2; i++) {
        live = NULL;
        known =
            need_object(r->tick, &kube_services, r->canary->namespace_, sides[i], &live) && known;
        *found |= live && edit_is_owned(r->tick, live);
    }
    for (; *resource; resource++) {
        const char *const *name =
            router_object_names(r->tick->arena, r->router, r->canary, *resource);
        for (; *name; name++) {
            live = NULL;
            known = need_object(r->tick, *resource, r->canary->namespace_, *name, &live) && known;
            *found |= live && edit_is_owned(r->tick, live);
        }
    }
    return known ? VERDICT_GO : VERDICT_NEED_FACTS;
}

/* What the status speaks of is what the target holds, whatever somebody has deleted around it. */
static enum verdict is_told_of(struct release *r, bool *told)
{
    const struct canary_status *status = &r->canary->status;
    struct target_info info = {0};
    enum verdict verdict = r->target->read(r->tick, &info);

    *told = strcmp(info.hash, status->last_applied_spec) == 0 ||
            strcmp(info.hash, status->last_promoted_spec) == 0;
    return verdict;
}

enum verdict former_look(struct release *r, enum former *out)
{
    struct target_info info = {0};
    bool found, told;

    *out = FORMER_SAME;
    if (!is_forgotten(r) || !r->router)
        return VERDICT_GO;
    enum verdict verdict = r->target->find(r->tick, &info);
    if (find_names(r, &found) != VERDICT_GO)
        return VERDICT_NEED_FACTS;
    if (verdict != VERDICT_GO || found || !info.object)
        return verdict;
    *out = FORMER_SERVICE;
    if (info.primary)
        return VERDICT_GO;
    verdict = is_told_of(r, &told);
    *out = told ? FORMER_SAME : FORMER_TARGET;
    return verdict;
}

/*
 * Two Canaries on one target. The engine knows which of them is refused (engine/claims.h); this
 * file handles the deletion of one: renaming a Canary, or a GitOps tool recreating it under another
 * name, must not cost a request.
 *
 * The deleted Canary leaves its objects, unchanged, to the other one: primary, copies, Services and
 * routes lose their owner reference, so that they are not garbage collected, and get a mark.
 * Nothing is scaled or routed, except that a canary with a share returns it to the primary first,
 * and the mesh gets its interval, because the other Canary begins with all traffic there. Objects
 * without an owner are safe; the other Canary adopts the objects with the mark and its names when
 * it begins, or when it is deleted before that.
 */
#include "decide/rules.h"

#include <string.h>

#include "decide/companions.h"
#include "decide/condition.h"
#include "decide/leftover.h"
#include "decide/release.h"
#include "decide/serving.h"
#include "decide/status.h"
#include "router/shared/services.h"
#include "target/shared/configs.h"
#include "tick/edit.h"

enum { CLOCK_GRAIN_MS = 1000 }; /* resolution of times in a status */

/* The canary's share, or the Services of the target, have been returned to the primary. */
static const struct pause brought_home = {
    .type = CONDITION_REVERTED,
    .reason = "PrimaryServes",
    .text = "All traffic goes to the primary.",
    .done = true,
    .more_ms = CLOCK_GRAIN_MS,
};

typedef void (*edit_fn)(struct tick *tick, const struct kube_resource *resource,
                        struct json_object *live);

/* True also if the Canary is one of several owners. */
static bool is_of_canary(struct tick *tick, struct json_object *live)
{
    struct json_object *owners = json_at(live, "metadata", "ownerReferences", NULL);
    bool refers = edit_is_owned(tick, live);

    for (size_t i = 0; i < json_len(owners); i++)
        refers |= edit_refers(tick, json_elem(owners, i));
    return refers;
}

static void give(struct tick *tick, const struct kube_resource *resource, struct json_object *live)
{
    if (!is_of_canary(tick, live))
        return;
    struct json_object *to = edit_released(tick, live, false);
    struct json_object *annotations = json_sub(json_sub(to, "metadata"), "annotations");
    edit_put(tick->arena, annotations, APPLIED,
             json_at(live, "metadata", "annotations", APPLIED, NULL));
    json_set_str(annotations, HANDED_OVER_BY, tick->canary->name);
    if (plan_update(tick, resource, live, to))
        plan_why(tick, "handed over");
}

static void leave(struct tick *tick, const struct kube_resource *resource, struct json_object *live)
{
    if (edit_is_owned(tick, live) &&
        plan_update(tick, resource, live, edit_released(tick, live, false)))
        plan_why(tick, "left for others");
}

static bool is_canary(struct json_object *owner)
{
    const char *kind = json_str_at(owner, "kind", NULL);
    const char *version = json_str_at(owner, "apiVersion", NULL);

    return kind && version && strcmp(kind, "Canary") == 0 &&
           strncmp(version, "flagger.app/", strlen("flagger.app/")) == 0;
}

/* Owners that are not Canaries; *left: true if one was a Canary. */
static struct json_object *other_owners(struct tick *tick, struct json_object *live, bool *left)
{
    struct json_object *owners = json_at(live, "metadata", "ownerReferences", NULL);
    struct json_object *out = edit_array(tick->arena);

    *left = false;
    for (size_t i = 0; i < json_len(owners); i++) {
        struct json_object *owner = json_elem(owners, i);
        *left |= is_canary(owner);
        if (!is_canary(owner))
            edit_add(out, owner);
    }
    return out;
}

static void remove_mark(struct json_object *object)
{
    struct json_object *metadata = json_sub(object, "metadata");
    struct json_object *annotations = json_sub(metadata, "annotations");

    json_object_object_del(annotations, HANDED_OVER_BY);
    if (json_object_object_length(annotations) == 0)
        json_object_object_del(metadata, "annotations");
}

static void take_if(struct tick *tick, const struct kube_resource *resource,
                    struct json_object *live, bool also_left)
{
    struct json_object *mark = json_at(live, "metadata", "annotations", HANDED_OVER_BY, NULL);
    bool left;
    struct json_object *owners = other_owners(tick, live, &left);
    if (edit_is_owned(tick, live) || (!mark && !(left && also_left)))
        return;
    struct json_object *to = json_copy(tick->arena, live);
    if (mark)
        remove_mark(to);
    edit_own(tick, resource, to, owners);
    if (plan_update(tick, resource, live, to))
        plan_why(tick, "taken over");
}

/* Copies of configs may have other Canaries as owners, which continue to use them. */
static void take_copy(struct tick *tick, const struct kube_resource *resource,
                      struct json_object *live)
{
    if (!json_at(live, "metadata", "annotations", HANDED_OVER_BY, NULL))
        return;
    struct json_object *to = json_copy(tick->arena, live);
    remove_mark(to);
    configs_own_copy(tick, to);
    if (plan_update(tick, resource, live, to))
        plan_why(tick, "taken over");
}

/*
 * Adopts marked objects, and objects of a Canary that is gone: no Canary claims them, and the
 * garbage collector may not have run yet.
 */
static void take(struct tick *tick, const struct kube_resource *resource, struct json_object *live)
{
    take_if(tick, resource, live, true);
}

static void take_marked(struct tick *tick, const struct kube_resource *resource,
                        struct json_object *live)
{
    take_if(tick, resource, live, false);
}

/* --- all objects of a Canary */

/* False if the object is not known yet. */
static bool edit_one(struct release *r, const struct kube_resource *resource, const char *name,
                     edit_fn edit)
{
    struct json_object *live;

    if (!need_object(r->tick, resource, r->canary->namespace_, name, &live))
        return false;
    if (live)
        edit(r->tick, resource, live);
    return true;
}

static bool edit_services(struct release *r, edit_fn edit)
{
    const struct canary_service *service = &r->canary->service;
    const char *names[] = {service->name, service->primary_name, service->canary_name};
    bool known = true;

    for (int i = 0; i < 3; i++)
        known = edit_one(r, &kube_services, names[i], edit) && known;
    return known;
}

static bool edit_routes(struct release *r, edit_fn edit)
{
    bool known = true;

    if (!r->router)
        return true;
    for (const struct kube_resource *const *resource = r->router->resources; *resource;
         resource++) {
        const char *const *name =
            router_object_names(r->tick->arena, r->router, r->canary, *resource);
        for (; *name && !kube_resource_same(*resource, &kube_services); name++)
            known = edit_one(r, *resource, *name, edit) && known;
    }
    return known;
}

static bool edit_companions(struct release *r, edit_fn edit)
{
    struct companion sources[COMPANIONS_MAX];
    int count;
    bool known = companions_sources(r, sources, &count) == RULE_CONTINUE;

    for (int i = 0; i < count; i++) {
        const char *name = arena_printf(r->tick->arena, "%s-primary", sources[i].name);
        known = edit_one(r, sources[i].resource, name, edit) && known;
    }
    return known;
}

/* The primary, and the copies of its scaler, companions and configs. */
static bool edit_primary(struct release *r, edit_fn edit, edit_fn edit_copy)
{
    struct json_object *pods = json_at(r->info.primary, "spec", "template", "spec", NULL);
    bool known = configs_edit_copies(r->tick, pods, edit_copy) == RULE_CONTINUE;

    if (r->info.primary)
        edit(r->tick, r->target->resource, r->info.primary);
    known = edit_companions(r, edit) && known;
    if (!r->scaler)
        return known;
    const char *scaler = arena_printf(r->tick->arena, "%s-primary", r->canary->autoscaler.name);
    return edit_one(r, r->scaler->resource, scaler, edit) && known;
}

static void delete_uncollected(struct tick *tick, const struct kube_resource *resource,
                               struct json_object *live)
{
    const char *name = json_str_at(live, "metadata", "name", NULL);
    const char *namespace_ = resource->cluster_scoped ? "" : tick->canary->namespace_;

    if (!edit_can_own(tick, resource) && edit_is_owned(tick, live) &&
        !plan_writes(tick, resource, namespace_, name))
        plan_delete(tick, resource, live);
}

enum rule_result handover_delete_routes(struct release *r)
{
    return edit_routes(r, delete_uncollected) ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

enum rule_result handover_leave_primary(struct release *r)
{
    return edit_primary(r, leave, leave) ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

static enum rule_result edit_all(struct release *r, edit_fn edit, edit_fn edit_copy)
{
    bool known = edit_services(r, edit);

    known = edit_routes(r, edit) && known;
    known = edit_primary(r, edit, edit_copy) && known;
    return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

/* --- the deleted Canary */

static enum rule_result wait(struct release *r, enum requeue requeue)
{
    release_requeue(r, requeue);
    return RULE_DONE;
}

/*
 * A deletion that began before there was a successor has led the apex Service to the target, which
 * the successor scales to zero.
 */
static enum rule_result lead_home(struct release *r)
{
    enum rule_result verdict = serving_apex(r);

    if (verdict == RULE_CONTINUE)
        verdict = leftover_delete_routes(r);
    if (verdict == RULE_CONTINUE)
        verdict = leftover_lead(r, LEAVE_TO_HEIR);
    if (verdict != RULE_CONTINUE || !release_has_writes(r))
        return verdict;
    verdict = pause_begin(r, &brought_home);
    return verdict == RULE_CONTINUE ? wait(r, REQUEUE_NOW) : verdict;
}

/* Gives all traffic to the primary and waits for the mesh. *stuck: the wait may never end. */
static enum rule_result bring_home(struct release *r, bool *stuck)
{
    const char *why;
    enum rule_result verdict = lead_home(r);

    if (verdict == RULE_CONTINUE && r->router->weighted)
        verdict = release_read_routes(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (r->weights.canary > 0 || r->weights.mirrored) {
        *stuck = release_ready(r, SIDE_PRIMARY, &why) != READY;
        if (*stuck)
            return wait(r, REQUEUE_INTERVAL);
        verdict = release_route(r, 0);
        if (verdict == RULE_CONTINUE)
            verdict = pause_begin(r, &brought_home);
        status_weight(r, 0);
        return verdict == RULE_CONTINUE ? wait(r, REQUEUE_NOW) : verdict;
    }
    if (!condition_is_set(r, CONDITION_REVERTED))
        return RULE_CONTINUE;
    verdict = pause_pass(r, &brought_home);
    *stuck = verdict == RULE_DONE && release_routes_settled(r, &why) == RULE_DONE;
    return verdict;
}

/*
 * *whole: true if everything can be left unchanged, or returned to the primary; otherwise the
 * target is made to serve by itself.
 */
static enum rule_result is_whole(struct release *r, bool *whole)
{
    bool leads;

    *whole = r->info.primary && r->info.label && !r->target->own_services && r->router &&
             !r->router->check(r->tick->arena, r->canary);
    if (!*whole || release_serves(r, SIDE_PRIMARY))
        return RULE_CONTINUE;
    enum rule_result verdict = serving_leads(r, &leads);
    if (verdict == RULE_CONTINUE)
        *whole = leads;
    return verdict;
}

enum rule_result handover_run(struct release *r, bool late, bool *done)
{
    bool initialised = json_at(r->canary->status.json, "lastAppliedSpec", NULL) != NULL;
    enum rule_result verdict = RULE_CONTINUE;
    bool whole = false, stuck = false;

    *done = false;
    if (!r->tick->locked_out && r->tick->successor)
        verdict = is_whole(r, &whole);
    if (verdict != RULE_CONTINUE || (!r->tick->locked_out && !whole))
        return verdict;
    if (r->phase != PHASE_Terminating) {
        status_phase(r, PHASE_Terminating);
        event_normal(r, "Terminating canary %s", release_canary(r));
    }
    if (!r->tick->locked_out && initialised)
        verdict = bring_home(r, &stuck);
    if (stuck && late)
        return RULE_CONTINUE; /* no primary to return to */
    if (verdict == RULE_CONTINUE)
        verdict = edit_all(r, give, give);
    if (verdict == RULE_CONTINUE && !r->target->own_services)
        verdict = leftover_disown(r, LEAVE_TO_HEIR);
    if (verdict != RULE_CONTINUE)
        return verdict;
    /* The Canary is released in a tick of its own: a status written afterwards might find no
     * Canary. */
    if (release_has_writes(r) || r->status)
        return wait(r, REQUEUE_NOW);
    if (r->tick->successor)
        event_normal(r, "Canary %s goes on with %s", r->tick->successor, release_target(r));
    *done = true;
    return RULE_CONTINUE;
}

/* Objects given away that found no new owner would stay for ever. */
enum rule_result handover_take_back(struct release *r)
{
    enum rule_result verdict =
        r->target->own_services ? RULE_CONTINUE : edit_all(r, take_marked, take_copy);

    return verdict == RULE_CONTINUE && release_has_writes(r) ? wait(r, REQUEUE_NOW) : verdict;
}

/* --- the successor */

/* In a tick of its own: adopted objects are repaired by the next. */
static enum rule_result handover_take(struct release *r)
{
    int planned = r->tick->plan->count;
    enum rule_result verdict = edit_all(r, take, take_copy);
    bool takes = r->tick->plan->count > planned;

    return verdict == RULE_CONTINUE && takes ? wait(r, REQUEUE_NOW) : verdict;
}

/* A new Canary adopts the objects left by another one of its target. */

enum rule_result handover_adopt(struct release *r)
{
    return r->target->own_services ? RULE_CONTINUE : handover_take(r);
}

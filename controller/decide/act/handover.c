/*
 * Two Canaries of one target. Which of them is refused, the engine knows before either runs
 * (engine/claims.h); here is what happens when one of them goes: a Canary that is renamed, or made
 * anew by a GitOps tool under another name, must not cost a request.
 *
 * Who goes leaves what it owns to the other as it stands: primary, copies, Services and routes lose
 * the reference to it, so that no collector takes them, and get a mark. Nothing is scaled, nothing
 * is routed; only a canary that has a share gives it back to the primary first, and the mesh gets
 * its interval, for the other one begins with all traffic there. An object without owner is safe;
 * the other one takes what is marked and has its names when it begins, or when it is deleted before
 * that.
 */
#include "decide/act/handover.h"

#include <string.h>

#include "decide/act/companions.h"
#include "decide/act/leftover.h"
#include "decide/release/condition.h"
#include "decide/release/pause.h"
#include "decide/release/release.h"
#include "decide/release/serving.h"
#include "decide/release/status.h"
#include "target/common_configs.h"
#include "tick/applied.h"
#include "tick/edit.h"

enum { CLOCK_GRAIN_MS = 1000 }; /* of the times in a status */

/* After the canary's share, or what leads to the target, went back to the primary. */
static const struct pause brought_home = {
    .type = CONDITION_REVERTED,
    .reason = "PrimaryServes",
    .text = "All traffic goes to the primary.",
    .done = true,
    .more_ms = CLOCK_GRAIN_MS,
};

typedef void (*edit_fn)(struct tick *tick, const struct kube_resource *resource,
                        struct json_object *live);

/* Also as one of several owners. */
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

/* Those that are no Canary; *left: there was one. */
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

/* Copies of configs may have other Canaries as owners, which go on using them. */
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

/* What is marked; and what belongs to a Canary that is gone, for none that is there claims it: the
 * collector may not have come yet. */
static void take(struct tick *tick, const struct kube_resource *resource, struct json_object *live)
{
    take_if(tick, resource, live, true);
}

static void take_marked(struct tick *tick, const struct kube_resource *resource,
                        struct json_object *live)
{
    take_if(tick, resource, live, false);
}

/* --- all that a Canary owns */

/* False: the object is not known yet. */
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
    bool known = true;

    for (int i = 0; i < r->canary->n_companions; i++) {
        const struct canary_ref *ref = &r->canary->companions[i];
        const struct kube_resource *resource = companions_resource(ref->kind);
        const char *name = arena_printf(r->tick->arena, "%s-primary", ref->name);
        known = (!resource || edit_one(r, resource, name, edit)) && known;
    }
    return known;
}

/* The primary, the copies of its scaler and its companions, and those of its configs. */
static bool edit_primary(struct release *r, edit_fn edit, edit_fn edit_copy)
{
    struct json_object *pods = json_at(r->info.primary, "spec", "template", "spec", NULL);
    bool known = configs_edit_copies(r->tick, pods, edit_copy) == VERDICT_GO;

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

enum verdict handover_delete_routes(struct release *r)
{
    return edit_routes(r, delete_uncollected) ? VERDICT_GO : VERDICT_NEED_FACTS;
}

enum verdict handover_leave_primary(struct release *r)
{
    return edit_primary(r, leave, leave) ? VERDICT_GO : VERDICT_NEED_FACTS;
}

static enum verdict edit_all(struct release *r, edit_fn edit, edit_fn edit_copy)
{
    bool known = edit_services(r, edit);

    known = edit_routes(r, edit) && known;
    known = edit_primary(r, edit, edit_copy) && known;
    return known ? VERDICT_GO : VERDICT_NEED_FACTS;
}

/* --- who goes */

static enum verdict wait(struct release *r, enum again again)
{
    release_again(r, again);
    return VERDICT_STOP;
}

/* A deletion that was under way before there was anybody to go on has led the apex Service to the
 * target, which the other one takes to zero. */
static enum verdict lead_home(struct release *r)
{
    enum verdict verdict = serving_apex(r);

    if (verdict == VERDICT_GO)
        verdict = leftover_delete_routes(r);
    if (verdict == VERDICT_GO)
        verdict = leftover_lead(r, LEAVE_TO_HEIR);
    if (verdict != VERDICT_GO || !release_has_writes(r))
        return verdict;
    verdict = pause_begin(r, &brought_home);
    return verdict == VERDICT_GO ? wait(r, AGAIN_NOW) : verdict;
}

/* The primary has all traffic, and who routes knows it. *stuck: what it waits for may never come.
 */
static enum verdict bring_home(struct release *r, bool *stuck)
{
    const char *why;
    enum verdict verdict = lead_home(r);

    if (verdict == VERDICT_GO && r->router->weighted)
        verdict = release_read_routes(r);
    if (verdict != VERDICT_GO)
        return verdict;
    if (r->weights.canary > 0 || r->weights.mirrored) {
        *stuck = release_ready(r, SIDE_PRIMARY, &why) != READY;
        if (*stuck)
            return wait(r, AGAIN_INTERVAL);
        verdict = release_route(r, 0);
        if (verdict == VERDICT_GO)
            verdict = pause_begin(r, &brought_home);
        status_weight(r, 0);
        return verdict == VERDICT_GO ? wait(r, AGAIN_NOW) : verdict;
    }
    if (!condition_is_set(r, CONDITION_REVERTED))
        return VERDICT_GO;
    verdict = pause_pass(r, &brought_home);
    *stuck = verdict == VERDICT_STOP && release_look_settled(r, &why) == VERDICT_STOP;
    return verdict;
}

/* Whether all of it can be left as it stands, or brought to the primary; otherwise the target is
 * made to serve by itself. */
static enum verdict is_whole(struct release *r, bool *whole)
{
    bool leads;

    *whole = r->info.primary && r->info.label && !r->target->own_services && r->router &&
             !r->router->check(r->tick->arena, r->canary);
    if (!*whole || release_serves(r, SIDE_PRIMARY))
        return VERDICT_GO;
    enum verdict verdict = serving_leads(r, &leads);
    if (verdict == VERDICT_GO)
        *whole = leads;
    return verdict;
}

enum verdict handover_run(struct release *r, bool late, bool *done)
{
    bool initialised = json_at(r->canary->status.json, "lastAppliedSpec", NULL) != NULL;
    enum verdict verdict = VERDICT_GO;
    bool whole = false, stuck = false;

    *done = false;
    if (!r->tick->barred && r->tick->heir)
        verdict = is_whole(r, &whole);
    if (verdict != VERDICT_GO || (!r->tick->barred && !whole))
        return verdict;
    if (r->phase != PHASE_Terminating) {
        status_phase(r, PHASE_Terminating);
        release_say(r, "Terminating canary %s", release_canary(r));
    }
    if (!r->tick->barred && initialised)
        verdict = bring_home(r, &stuck);
    if (stuck && late)
        return VERDICT_GO; /* nobody to bring it home to */
    if (verdict == VERDICT_GO)
        verdict = edit_all(r, give, give);
    if (verdict == VERDICT_GO && !r->target->own_services)
        verdict = leftover_disown(r, LEAVE_TO_HEIR);
    if (verdict != VERDICT_GO)
        return verdict;
    /* The Canary goes with a tick of its own: a status behind that may find nobody. */
    if (release_has_writes(r) || r->status)
        return wait(r, AGAIN_NOW);
    if (r->tick->heir)
        release_say(r, "Canary %s goes on with %s", r->tick->heir, release_target(r));
    *done = true;
    return VERDICT_GO;
}

/* What was given away and has found no other owner would stay behind for ever. */
enum verdict handover_take_back(struct release *r)
{
    enum verdict verdict =
        r->target->own_services ? VERDICT_GO : edit_all(r, take_marked, take_copy);

    return verdict == VERDICT_GO && release_has_writes(r) ? wait(r, AGAIN_NOW) : verdict;
}

/* --- who stays */

/* In a tick of its own: what is taken over is then ours to repair. */
enum verdict handover_take(struct release *r)
{
    int planned = r->tick->plan->count;
    enum verdict verdict = edit_all(r, take, take_copy);
    bool takes = r->tick->plan->count > planned;

    return verdict == VERDICT_GO && takes ? wait(r, AGAIN_NOW) : verdict;
}

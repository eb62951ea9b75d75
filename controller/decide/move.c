/*
 * Edits that move a Canary to another target, provider, Service or autoscaler. The serving pods
 * keep serving: during a release, or while the canary has traffic, such an edit is refused until
 * that is over. Otherwise it is followed. A new target first gets a primary of its own, and
 * Services and routes move when that primary is ready: its release begins like that of a new
 * Canary. status.acceptedSpec holds the former values; without it, former_recall() detects another
 * target, and other moves go unnoticed.
 */
#include "decide/rules.h"

#include <string.h>

#include "decide/condition.h"
#include "decide/release.h"
#include "decide/revision.h"
#include "decide/status.h"
#include "decide/takeover.h"
#include "target/shared/primary.h"
#include "tick/edit.h"

/*
 * The former target, if status.acceptedSpec does not name it: Flagger's CRD drops that field, or
 * Flagger wrote the status. The Service of the primary reveals it as long as its name is unchanged:
 * it selects the pods of podinfo-primary, and such a workload, made for this Canary, was made from
 * podinfo. If the Services were renamed as well, nothing leads to the old ones; the lack of a
 * Service and a route with the new names only shows that they changed.
 */

#define PRIMARY_SUFFIX "-primary"

static bool is_forgotten(const struct release *r)
{
    return !r->canary->status.accepted_spec && !release_is_initialising(r) && !r->tick->mistake &&
           r->target && !r->target->own_services;
}

/* "podinfo" for a Service that selects app=podinfo-primary; NULL if it selects something else. */
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

/*
 * Treats the Canary as if its status recorded that this target was released under the name of its
 * Service.
 */
static enum rule_result recall(struct release *r, const char *target)
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
    return RULE_CONTINUE;
}

enum rule_result former_recall(struct release *r)
{
    struct json_object *service, *primary;

    if (!is_forgotten(r))
        return RULE_CONTINUE;
    if (!need_object(r->tick, &kube_services, r->canary->namespace_,
                     r->canary->service.primary_name, &service))
        return RULE_NEEDS_FACTS;
    const char *target = selected_target(r->tick->arena, service);
    if (!target || strcmp(target, r->canary->target.name) == 0)
        return RULE_CONTINUE;
    if (!need_object(r->tick, r->target->resource, r->canary->namespace_,
                     arena_printf(r->tick->arena, "%s" PRIMARY_SUFFIX, target), &primary))
        return RULE_NEEDS_FACTS;
    return primary && edit_is_owned(r->tick, primary) ? recall(r, target) : RULE_CONTINUE;
}

/*
 * *found: true if a Service or a route with the names of the spec was made for this Canary.
 * NEEDS_FACTS or CONTINUE.
 */
static enum rule_result find_names(struct release *r, bool *found)
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
    return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

/* *told: true if the status is about the revision of the target, whatever objects around it were
 * deleted. */
static enum rule_result is_told_of(struct release *r, bool *told)
{
    const struct canary_status *status = &r->canary->status;
    struct target_info info = {0};
    enum rule_result verdict = r->target->read(r->tick, &info);

    *told = strcmp(info.hash, status->last_applied_spec) == 0 ||
            strcmp(info.hash, status->last_promoted_spec) == 0;
    return verdict;
}

static enum rule_result former_check(struct release *r, enum former *out)
{
    struct target_info info = {0};
    bool found, told;

    *out = FORMER_SAME;
    if (!is_forgotten(r) || !r->router)
        return RULE_CONTINUE;
    enum rule_result verdict = r->target->find(r->tick, &info);
    if (find_names(r, &found) != RULE_CONTINUE)
        return RULE_NEEDS_FACTS;
    if (verdict != RULE_CONTINUE || found || !info.object)
        return verdict;
    *out = FORMER_SERVICE;
    if (info.primary)
        return RULE_CONTINUE;
    verdict = is_told_of(r, &told);
    *out = told ? FORMER_SAME : FORMER_TARGET;
    return verdict;
}

/* Kind and name in the accepted spec at `key`; name is NULL if there is none. */
static struct canary_ref accepted_ref(const struct release *r, const char *key)
{
    struct json_object *ref = json_at(r->canary->status.accepted_spec, key, NULL);
    const char *kind = json_str_at(ref, "kind", NULL);
    const char *version = json_str_at(ref, "apiVersion", NULL);

    return (struct canary_ref){.api_version = version ? version : "",
                               .kind = kind ? kind : "",
                               .name = json_str_at(ref, "name", NULL)};
}

static bool is_other(const struct canary_ref *before, const struct canary_ref *now)
{
    return before->name && (!now->name || strcmp(before->name, now->name) != 0 ||
                            strcmp(before->kind, now->kind) != 0);
}

/* The target of the accepted spec; name is NULL if unknown. */
static struct canary_ref move_before(const struct release *r)
{
    return accepted_ref(r, "targetRef");
}

bool move_has_begun(const struct release *r)
{
    struct canary_ref before = move_before(r);

    return is_other(&before, &r->canary->target);
}

bool move_is_pending(const struct release *r)
{
    const struct canary_status *status = &r->canary->status;

    return (status->service_name && strcmp(status->service_name, r->canary->service.name) != 0) ||
           (status->provider && r->tick->provider &&
            strcmp(status->provider, r->tick->provider) != 0);
}

/* True if something serves, or is analysed, under the accepted spec. */
static bool move_is_bound(const struct release *r)
{
    return release_is_analysing(r) || release_is_promoting(r) ||
           (r->canary->status.canary_weight > 0 && !release_is_initialising(r));
}

/* --- names of routes and of the autoscaler */

/*
 * Routes of another provider, or with another name, are out of reach: continuing would scale down
 * the pods behind them. Flagger's status does not name the provider.
 */
static const char *refuse_provider_move(struct release *r)
{
    const struct canary_status *status = &r->canary->status;
    const char *field = r->canary->provider ? "spec.provider" : "--mesh-provider";
    const char *before = status->provider ? status->provider : "another provider";

    if (status->provider ? strcmp(status->provider, r->tick->provider) == 0
                         : r->router->weighted || status->canary_weight == 0)
        return NULL;
    if (status->canary_weight == 0)
        return arena_printf(r->tick->arena,
                            "%s: changed from %s to %s in the middle of a release; restore it "
                            "until the release is over",
                            field, before, r->tick->provider);
    return arena_printf(r->tick->arena,
                        "%s: changed to %s while %s routes %s %% of the traffic to the canary; "
                        "restore it until the release is over",
                        field, r->tick->provider, before,
                        weight_text(r->tick->arena, status->canary_weight));
}

static const char *refuse_service_move(struct release *r)
{
    const struct canary_status *status = &r->canary->status;
    const char *name = status->service_name;

    if (!name || strcmp(name, r->canary->service.name) == 0 || move_has_begun(r))
        return NULL;
    if (status->canary_weight == 0)
        return arena_printf(r->tick->arena,
                            "spec.service.name: changed from %s to %s in the middle of a release; "
                            "restore it until the release is over",
                            name, r->canary->service.name);
    return arena_printf(
        r->tick->arena,
        "spec.service.name: changed from %s to %s while %s %% of the traffic goes to the canary by "
        "routes of the old name; restore it until the release is over",
        name, r->canary->service.name, weight_text(r->tick->arena, status->canary_weight));
}

/* The router would write other rules, and the share would stay in the former ones. */
static const char *refuse_refs_move(struct release *r)
{
    struct json_object *before = r->canary->status.accepted_spec;

    if (!before || json_same(json_at(before, "service", "routeRefs", NULL),
                             json_at(r->canary->service.json, "routeRefs", NULL)))
        return NULL;
    return "spec.service.routeRefs: changed in the middle of a release; restore it until the "
           "release is over";
}

/*
 * Two autoscalers would scale the same pods until the release is over; only then is the removed
 * one given up (leave_scaler).
 */
static const char *refuse_scaler_move(struct release *r)
{
    const struct canary_ref *now = &r->canary->autoscaler;
    struct canary_ref before = accepted_ref(r, "autoscalerRef");

    if (!now->name || !is_other(&before, now))
        return NULL;
    return arena_printf(r->tick->arena,
                        "spec.autoscalerRef: changed from %s %s to %s %s in the middle of a "
                        "release; restore it until the release is over",
                        before.kind, before.name, now->kind, now->name);
}

const char *move_refusal(struct release *r)
{
    const char *sentence = move_is_bound(r) ? refuse_provider_move(r) : NULL;

    if (!sentence && move_is_bound(r))
        sentence = refuse_service_move(r);
    if (!sentence && move_is_bound(r))
        sentence = refuse_refs_move(r);
    return sentence || !move_is_bound(r) ? sentence : refuse_scaler_move(r);
}

/* --- the target */

/* A new target that cannot replace the former one: it does not exist, or routes in another way. */
static const char *refuse_successor(struct release *r, const struct canary_ref *before,
                                    const struct target_info *info)
{
    const struct target *old = target_find(before->api_version, before->kind);
    const struct canary_ref *now = &r->canary->target;

    if (old && !old->own_services != !r->target->own_services)
        return arena_printf(
            r->tick->arena,
            "spec.targetRef: a %s cannot take the place of a %s, their Services are made in "
            "different ways; restore %s and make a Canary of its own for %s",
            now->kind, before->kind, before->name, now->name);
    if (info->object)
        return NULL;
    return arena_printf(
        r->tick->arena,
        "spec.targetRef: %s %s.%s does not exist; until it does, %s %s continues to be released",
        now->kind, now->name, r->canary->namespace_, before->kind, before->name);
}

/* --- the port of the pods */

/* The container port behind a Service with this spec: a number or a name. */
static struct json_object *pod_port(struct json_object *service)
{
    struct json_object *port = json_at(service, "targetPort", NULL);

    return port ? port : json_at(service, "port", NULL);
}

static bool declares(struct json_object *workload, struct json_object *port)
{
    struct json_object *containers =
        json_at(workload, "spec", "template", "spec", "containers", NULL);

    for (size_t i = 0; i < json_len(containers); i++) {
        struct json_object *ports = json_at(json_elem(containers, i), "ports", NULL);
        for (size_t j = 0; j < json_len(ports); j++) {
            struct json_object *number = json_at(json_elem(ports, j), "containerPort", NULL);
            struct json_object *name = json_at(json_elem(ports, j), "name", NULL);
            if ((number && json_same(number, port)) || (name && json_same(name, port)))
                return true;
        }
    }
    return false;
}

static struct json_object *accepted_port(const struct release *r)
{
    return pod_port(json_at(r->canary->status.accepted_spec, "service", NULL));
}

static bool has_other_port(const struct release *r)
{
    struct json_object *before = accepted_port(r), *now = pod_port(r->canary->service.json);

    return now && before && !json_same(now, before);
}

/* A sentence if the serving pods, as far as known, do not listen on the port; NULL otherwise. */
static const char *refuse_port(struct release *r, const struct target_info *info)
{
    struct json_object *before = accepted_port(r), *now = pod_port(r->canary->service.json);

    if (!info->template || !info->primary)
        return NULL;
    if (declares(info->primary, now) && (!move_is_bound(r) || declares(info->object, now)))
        return NULL;
    if (!json_object_is_type(now, json_type_string) && !declares(info->primary, before))
        return NULL; /* no container declares a port */
    return arena_printf(r->tick->arena,
                        "spec.service.%s: the pods of %s that serve declare no port %s; restore "
                        "it, release a revision that declares both, and change it then",
                        json_at(r->canary->service.json, "targetPort", NULL) ? "targetPort"
                                                                             : "port",
                        primary_name(r->tick), json_object_get_string(now));
}

/* During a release without a known accepted spec. */
static enum rule_result refuse_unknown_move(struct release *r, const char **sentence)
{
    enum former former = FORMER_SAME;
    enum rule_result verdict = move_is_bound(r) ? former_check(r, &former) : RULE_CONTINUE;

    if (former == FORMER_TARGET)
        *sentence = arena_printf(
            r->tick->arena,
            "spec.targetRef: changed to %s %s, which has neither a primary nor Services, in the "
            "middle of a release; restore it until the release is over",
            r->canary->target.kind, r->canary->target.name);
    if (former == FORMER_SERVICE && r->router->weighted)
        *sentence =
            arena_printf(r->tick->arena,
                         "spec.service.name: changed to %s, of which there is no Service and no "
                         "route, in the middle of a release; restore it until the release is over",
                         r->canary->service.name);
    return verdict == RULE_DONE ? RULE_CONTINUE : verdict;
}

/* Neither the target nor its primary exists any more: nothing serves, and nothing can be ended. */
static enum rule_result is_deserted(struct release *r, const struct canary_ref *before,
                                    bool *deserted)
{
    const struct target *old = target_find(before->api_version, before->kind);
    const char *primary = arena_printf(r->tick->arena, "%s-primary", before->name);
    struct json_object *objects[2];

    *deserted = false;
    if (!old)
        return RULE_CONTINUE;
    bool known =
        need_object(r->tick, old->resource, r->canary->namespace_, before->name, &objects[0]);
    if (!need_object(r->tick, old->resource, r->canary->namespace_, primary, &objects[1]) || !known)
        return RULE_NEEDS_FACTS;
    *deserted = !objects[0] && !objects[1];
    return RULE_CONTINUE;
}

enum rule_result move_refusal_of_target(struct release *r, const char **sentence)
{
    struct canary_ref before = move_before(r);
    struct target_info info = {0};
    bool moved = is_other(&before, &r->canary->target);

    *sentence = NULL;
    if (!moved && !has_other_port(r))
        return refuse_unknown_move(r, sentence);
    bool deserted = false;
    enum rule_result verdict =
        moved && move_is_bound(r) ? is_deserted(r, &before, &deserted) : RULE_CONTINUE;
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (moved && move_is_bound(r) && !deserted) {
        *sentence =
            arena_printf(r->tick->arena,
                         "spec.targetRef: changed from %s %s to %s %s in the middle of a release; "
                         "restore it until the release is over",
                         before.kind, before.name, r->canary->target.kind, r->canary->target.name);
        return RULE_CONTINUE;
    }
    verdict = r->target->find(r->tick, &info);
    if (verdict != RULE_CONTINUE)
        return verdict;
    *sentence = moved ? refuse_successor(r, &before, &info) : refuse_port(r, &info);
    return RULE_CONTINUE;
}

/* Moving to another target, which begins like that of a new Canary. */

/* The phase first: the Services made next would hide the change of target. */
static enum rule_result move_from_unknown(struct release *r)
{
    enum former former;
    enum rule_result verdict = former_check(r, &former);

    if (verdict == RULE_NEEDS_FACTS || former != FORMER_TARGET || move_is_bound(r))
        return verdict == RULE_DONE ? RULE_CONTINUE : verdict;
    event_normal(
        r,
        "spec.targetRef: changed to %s %s, which is initialised like that of a new Canary; "
        "what was released before stays as it is, delete it when nobody uses it",
        r->canary->target.kind, r->canary->target.name);
    status_forget_waits(r);
    status_phase(r, PHASE_Initializing);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/*
 * Initialises the new target from now on. Objects of the former one stay, since they may be in use,
 * and are reported once; it is unpinned, since nothing would release what waits for it.
 */
enum rule_result move_target(struct release *r)
{
    struct canary_ref before = move_before(r);

    if (!before.name)
        return move_from_unknown(r);
    if (!move_has_begun(r))
        return RULE_CONTINUE;
    if (revision_unpin_former(r, &before) == RULE_NEEDS_FACTS)
        return RULE_NEEDS_FACTS;
    event_normal(
        r,
        "spec.targetRef: changed from %s %s to %s %s, which takes over when its primary is "
        "ready; %s and %s-primary stay as they are, delete them when nobody uses them",
        before.kind, before.name, r->canary->target.kind, r->canary->target.name, before.name,
        before.name);
    status_forget_waits(r);
    /* the former target's pause does not apply to this one; its own begins with this plan */
    condition_clear(r, CONDITION_DRAINED);
    r->left = true;
    status_phase(r, PHASE_Initializing);
    takeover_note_names(r);
    return RULE_CONTINUE;
}

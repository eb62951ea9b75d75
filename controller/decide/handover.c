/*
 * Two Canaries on one target. The engine knows which of them is refused (engine/claims.h); this
 * file handles the deletion of one: renaming a Canary, or a GitOps tool recreating it under
 * another name, must not cost a request.
 *
 * The deleted Canary leaves its objects unchanged to the other one: primary, copies, Services and
 * routes lose their owner reference, so that they are not garbage collected, and get a mark.
 * Nothing is scaled or routed, except that a canary with a share returns it to the primary first,
 * and the mesh gets its interval, because the other Canary begins with all traffic there. Objects
 * without owner are safe; the other Canary adopts those with the mark and its names when it
 * begins, or when it is deleted before that.
 */
#include "decide/handover.h"

#include <string.h>

#include "decide/companions.h"
#include "decide/condition.h"
#include "decide/release.h"
#include "decide/rules.h"
#include "decide/serving.h"
#include "decide/status.h"
#include "router/shared/services.h"
#include "target/shared/configs.h"
#include "tick/applied.h"
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

/* True also if it is one of several owners. */
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

/* Owners that are not Canaries; *left: there was a Canary. */
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
 * Adopts marked objects, and those of a Canary that is gone: none claims them, and the garbage
 * collector may not have run yet.
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
    bool known = true;

    for (int i = 0; i < r->canary->n_companions; i++) {
        const struct canary_ref *ref = &r->canary->companions[i];
        const struct kube_resource *resource = companions_resource(ref->kind);
        const char *name = arena_printf(r->tick->arena, "%s-primary", ref->name);
        known = (!resource || edit_one(r, resource, name, edit)) && known;
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
 * the successor takes to zero.
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
 * True if everything can be left as it stands, or returned to the primary; otherwise the target is
 * made to serve by itself.
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
    /* The Canary is released in a tick of its own: a status written after that may find it gone. */
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

/*
 * Routes to the Services of a Canary that its router does not write any more: those of a former
 * provider or name, or left by another Canary with the Services taken over. A changed Canary keeps
 * them, since they may be in use, and an event reports them. So their destinations must not be
 * removed before they are:
 *
 *   - A port of a Service stays as long as such a route refers to it.
 *   - A Service that such a route names outlives the Canary. It selects the pods of the target, like
 *     the apex Service; or those of the primary if another Canary continues with the target. (A former
 *     target may be gone, with its primary, or hold anything.)
 *   - The routes lose their owner with it.
 *
 * Routes of a former name that the router manages serve the same hosts as the present one: they
 * are deleted, a pause before their Services. All routers are searched, in whatever version the
 * cluster serves, read only: a route leads to a Service if an object in it has the name of the
 * Service as a value, with or without its namespace.
 */

/* --- the routes of a namespace */

/* The lists of each kind. */
struct routes {
    struct routes *next;
    const struct kube_resource *kind;
    struct json_object *list;
};

static bool is_same_kind(const struct kube_resource *a, const struct kube_resource *b)
{
    return strcmp(a->group, b->group) == 0 && strcmp(a->plural, b->plural) == 0;
}

static bool has_kind(const struct routes *routes, const struct kube_resource *kind)
{
    for (; routes; routes = routes->next) {
        if (is_same_kind(routes->kind, kind))
            return true;
    }
    return false;
}

/* True if the router of the spec writes such objects. */
static bool is_of_router(struct release *r, const struct kube_resource *kind)
{
    if (!r->router || r->router->check(r->tick->arena, r->canary))
        return false;
    for (const struct kube_resource *const *resource = r->router->resources; *resource; resource++)
        if (is_same_kind(*resource, kind))
            return true;
    return false;
}

/* A version that the cluster does not serve has no list; nor has one that the role may not read. */
static bool read_kind(struct release *r, const struct kube_resource *kind, struct routes **routes)
{
    struct json_object *list;
    const char *denied;
    bool known =
        is_of_router(r, kind)
            ? need_objects(r->tick, kind, r->canary->namespace_, &list)
            : need_objects_if_allowed(r->tick, kind, r->canary->namespace_, &list, &denied);

    if (known && !list)
        return true;
    struct routes *read = ARENA_NEW(r->tick->arena, struct routes);
    *read = (struct routes){.next = *routes, .kind = kind, .list = list};
    *routes = read;
    return known;
}

static bool read_kinds(struct release *r, const struct kube_resource *const *kind,
                       struct routes **routes)
{
    bool known = true;

    for (; *kind; kind++)
        if (!kube_resource_same(*kind, &kube_services) && !has_kind(*routes, *kind))
            known = read_kind(r, *kind, routes) && known;
    return known;
}

/* Reads the routes of all routers that have routes of their own. False if not known yet. */
static bool read_routes(struct release *r, struct routes **routes)
{
    bool known = true;

    *routes = NULL;
    for (size_t i = 0; router_table[i]; i++)
        if (!router_table[i]->only_target)
            known = read_kinds(r, router_table[i]->resources, routes) && known;
    /* kinds that no router makes */
    if (r->router && r->router->ref_kinds)
        known = read_kinds(r, r->router->resources, routes) && known;
    return known;
}

static const char *name_of(struct json_object *object)
{
    const char *name = json_str_at(object, "metadata", "name", NULL);

    return name ? name : "";
}

/* True if the router writes this object of such a kind. */
static bool has_name(struct release *r, const struct kube_resource *kind, struct json_object *route)
{
    const char *const *name = router_object_names(r->tick->arena, r->router, r->canary, kind);

    while (*name && strcmp(*name, name_of(route)) != 0)
        name++;
    return *name;
}

/* True if the router redirects it, or has it deleted. */
static bool is_managed(struct release *r, const struct kube_resource *kind,
                       struct json_object *route)
{
    return is_of_router(r, kind) && (has_name(r, kind, route) || edit_is_owned(r->tick, route));
}

static bool is_going(struct json_object *object)
{
    return json_at(object, "metadata", "deletionTimestamp", NULL) != NULL;
}

/* --- destinations of a route */

static bool has_number(struct json_object *tree, int64_t number)
{
    if (json_object_is_type(tree, json_type_int))
        return json_object_get_int64(tree) == number;
    for (size_t i = 0; i < json_len(tree); i++) {
        if (has_number(json_elem(tree, i), number))
            return true;
    }
    if (!json_object_is_type(tree, json_type_object))
        return false;
    json_object_object_foreach(tree, key, value)
    {
        (void)key;
        if (has_number(value, number))
            return true;
    }
    return false;
}

/* A Service as routes name it: plain, by cluster DNS, or in Kuma's form. */
struct sought {
    const char *name;   /* "podinfo" */
    const char *dotted; /* "podinfo.test" */
    const char *tagged; /* "podinfo_test_svc_" */
};

static bool is_named(const struct sought *service, const char *text)
{
    size_t dotted = strlen(service->dotted);

    return strcmp(text, service->name) == 0 ||
           strncmp(text, service->tagged, strlen(service->tagged)) == 0 ||
           (strncmp(text, service->dotted, dotted) == 0 &&
            (text[dotted] == '\0' || text[dotted] == '.'));
}

/*
 * True if an object in the tree has such a name as a value and, unless port is 0, the port
 * somewhere below.
 */
static bool leads_to(struct json_object *tree, const struct sought *service, int64_t port)
{
    bool named = false, below = false;

    for (size_t i = 0; i < json_len(tree); i++)
        below = below || leads_to(json_elem(tree, i), service, port);
    if (!json_object_is_type(tree, json_type_object))
        return below;
    json_object_object_foreach(tree, key, value)
    {
        (void)key;
        if (json_object_is_type(value, json_type_string))
            named = named || is_named(service, json_object_get_string(value));
        else
            below = below || leads_to(value, service, port);
    }
    return below || (named && (port == 0 || has_number(tree, port)));
}

/* The first route that stays and leads there; object is NULL if none. */
struct route {
    const struct kube_resource *kind;
    struct json_object *object;
};

static struct route find_route(struct release *r, const struct routes *routes, const char *service,
                               int64_t port)
{
    const char *namespace_ = r->canary->namespace_;
    const struct sought sought = {
        .name = service,
        .dotted = arena_printf(r->tick->arena, "%s.%s", service, namespace_),
        .tagged = arena_printf(r->tick->arena, "%s_%s_svc_", service, namespace_),
    };

    for (; routes; routes = routes->next) {
        for (size_t i = 0; i < json_len(routes->list); i++) {
            const struct route route = {routes->kind, json_elem(routes->list, i)};
            if (!is_going(route.object) && !is_managed(r, route.kind, route.object) &&
                leads_to(json_at(route.object, "spec", NULL), &sought, port))
                return route;
        }
    }
    return (struct route){0};
}

static const char *print_route(struct release *r, const struct route *route)
{
    return arena_printf(r->tick->arena, "%s %s.%s", route->kind->kind, name_of(route->object),
                        r->canary->namespace_);
}

enum rule_result leftover_uses_ports(struct release *r, struct json_object *ports,
                                     const char **route)
{
    struct route found = {0};
    struct json_object *one;
    struct routes *routes;

    *route = NULL;
    if (!read_routes(r, &routes))
        return RULE_NEEDS_FACTS;
    for (size_t i = 0; !found.object && i < json_len(ports); i++)
        found = find_route(r, routes, json_str_at(json_elem(ports, i), "name", NULL),
                           json_int_at(json_elem(ports, i), 0, "port", NULL));
    if (!found.object)
        return RULE_CONTINUE;
    *route = print_route(r, &found);
    /* needed by name, it wakes the Canary when it changes */
    return need_object(r->tick, found.kind, r->canary->namespace_, name_of(found.object), &one)
               ? RULE_CONTINUE
               : RULE_NEEDS_FACTS;
}

/* --- deletion of the Canary */

enum rule_result leftover_delete_routes(struct release *r)
{
    struct routes *routes;

    if (!read_routes(r, &routes))
        return RULE_NEEDS_FACTS;
    for (; routes; routes = routes->next) {
        for (size_t i = 0; i < json_len(routes->list); i++) {
            struct json_object *route = json_elem(routes->list, i);
            if (is_going(route) || !edit_is_owned(r->tick, route) ||
                !is_of_router(r, routes->kind) || has_name(r, routes->kind, route))
                continue;
            plan_delete(r->tick, routes->kind, route);
            plan_why(r->tick, "of a former name");
        }
    }
    return RULE_CONTINUE;
}

/*
 * True if a Service stays that the caller does not handle itself; it handles the apex Service, and
 * all three for a successor. A Service older than the Canary always stays.
 */
static bool is_kept(struct release *r, struct json_object *service, const struct routes *routes,
                    enum leave leave)
{
    const struct canary_service *names = &r->canary->service;
    const char *name = name_of(service);
    bool is_side = strcmp(name, names->primary_name) == 0 || strcmp(name, names->canary_name) == 0;

    if (is_going(service) || strcmp(name, names->name) == 0 || (is_side && leave == LEAVE_TO_HEIR))
        return false;
    if (!edit_is_owned(r->tick, service))
        return is_side;
    return find_route(r, routes, name, 0).object != NULL;
}

static bool read_all(struct release *r, struct routes **routes, struct json_object **services)
{
    bool known = read_routes(r, routes);

    return need_objects(r->tick, &kube_services, r->canary->namespace_, services) && known;
}

enum rule_result leftover_lead(struct release *r, enum leave leave)
{
    bool to_heir = leave == LEAVE_TO_HEIR;
    struct service_pods pods = serving_pods(r);
    struct json_object *services;
    struct routes *routes;

    pods.answers = NULL; /* the steps of a deletion ensure that */
    if (!read_all(r, &routes, &services))
        return RULE_NEEDS_FACTS;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_elem(services, i);
        if (!is_kept(r, service, routes, leave))
            continue;
        struct json_object *to = json_copy(r->tick->arena, service);
        struct json_object *selector =
            services_selector(&pods, to_heir, json_at(service, "spec", "selector", NULL));
        json_set(json_sub(to, "spec"), "selector", selector);
        if (plan_update(r->tick, &kube_services, service, to))
            plan_why(r->tick, "-> %s", services_print(r->tick, selector));
    }
    return RULE_CONTINUE;
}

static bool disown(struct release *r, const struct kube_resource *kind, struct json_object *object)
{
    if (!edit_is_owned(r->tick, object) ||
        !plan_update(r->tick, kind, object, edit_released(r->tick, object, true)))
        return false;
    plan_why(r->tick, "outlives the canary");
    return true;
}

static void disown_routes(struct release *r, const struct routes *routes)
{
    for (; routes; routes = routes->next) {
        for (size_t i = 0; i < json_len(routes->list); i++) {
            struct json_object *route = json_elem(routes->list, i);
            if (!is_going(route) && !is_managed(r, routes->kind, route))
                disown(r, routes->kind, route);
        }
    }
}

enum rule_result leftover_disown(struct release *r, enum leave leave)
{
    struct json_object *services;
    struct routes *routes;

    if (!read_all(r, &routes, &services))
        return RULE_NEEDS_FACTS;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_elem(services, i);
        struct route route = find_route(r, routes, name_of(service), 0);
        if (!route.object || !is_kept(r, service, routes, leave) ||
            !disown(r, &kube_services, service))
            continue;
        event_warning(r,
                      "%s leads to Service %s.%s, which stays without its Canary; delete both when "
                      "nobody uses them",
                      print_route(r, &route), name_of(service), r->canary->namespace_);
    }
    disown_routes(r, routes);
    return RULE_CONTINUE;
}

/* --- reports */

static bool is_planned(struct release *r, enum effect_kind kind,
                       const struct kube_resource *resource, const char *name)
{
    for (const struct effect *effect = r->tick->plan->first; effect; effect = effect->next) {
        if (effect->kind == kind && effect->resource && is_same_kind(effect->resource, resource) &&
            strcmp(effect->name, name) == 0)
            return true;
    }
    return false;
}

/* True if it is not garbage collected: it is not ours, or this plan removes the owner. */
static bool outlives(struct release *r, const struct kube_resource *kind,
                     struct json_object *object)
{
    return !is_going(object) && !is_planned(r, EFFECT_DELETE, kind, name_of(object)) &&
           (!edit_is_owned(r->tick, object) || is_planned(r, EFFECT_PATCH, kind, name_of(object)));
}

static const char *add_name(struct release *r, const char *names, const char *kind,
                            struct json_object *object)
{
    return arena_printf(r->tick->arena, "%s%s%s %s", names, *names ? ", " : "", kind,
                        name_of(object));
}

/* The routes among them: a later route for the same host may get no requests because of them. */
static const char *routes_that_stay(struct release *r, const struct routes *routes)
{
    const char *apex = r->canary->service.name, *names = "";
    const struct sought sought = {
        .name = apex,
        .dotted = arena_printf(r->tick->arena, "%s.%s", apex, r->canary->namespace_),
        .tagged = arena_printf(r->tick->arena, "%s_%s_svc_", apex, r->canary->namespace_),
    };

    for (; routes; routes = routes->next) {
        for (size_t i = 0; i < json_len(routes->list); i++) {
            struct json_object *route = json_elem(routes->list, i);
            if (outlives(r, routes->kind, route) &&
                (leads_to(json_at(route, "spec", NULL), &sought, 0) ||
                 (is_of_router(r, routes->kind) && has_name(r, routes->kind, route))))
                names = add_name(r, names, routes->kind->kind, route);
        }
    }
    return names;
}

enum rule_result leftover_report(struct release *r)
{
    struct json_object *services;
    struct routes *routes;
    const char *service = "";

    if (!read_all(r, &routes, &services))
        return RULE_NEEDS_FACTS;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *one = json_elem(services, i);
        if (strcmp(name_of(one), r->canary->service.name) == 0 && outlives(r, &kube_services, one))
            service = add_name(r, "", "Service", one);
    }
    const char *names = routes_that_stay(r, routes);
    if (*names)
        event_normal(r,
                     "Without canary %s stay %s%s%s; delete what nobody uses, since a route that "
                     "stays takes the requests of a later one for the same host",
                     release_canary(r), service, *service ? ", " : "", names);
    else if (*service)
        event_normal(r, "Without canary %s stays %s; delete it when nobody uses it",
                     release_canary(r), service);
    return RULE_CONTINUE;
}

/* A new Canary adopts the objects left by another one of its target. */

enum rule_result handover_adopt(struct release *r)
{
    return r->target->own_services ? RULE_CONTINUE : handover_take(r);
}

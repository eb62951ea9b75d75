/*
 * Routes to the Services of a Canary that its router no longer writes: those of a former provider
 * or name, or those that another Canary left with the Services that this one adopted. A changed
 * Canary keeps them, since they may be in use, and an event reports them. So their destinations
 * must not be removed before they are:
 *
 *   - A port of a Service stays as long as such a route refers to it.
 *   - A Service that such a route names outlives the Canary. Like the apex Service, it then selects
 *     the pods of the target, or those of the primary if another Canary keeps the target. (A former
 *     target may be gone, with its primary, or hold any revision.)
 *   - The routes lose their owner when the Service does.
 *
 * Routes of a former name that the router manages serve the same hosts as the current one: they are
 * deleted, a pause before their Services. The routes of all routers are examined, in any version
 * that the cluster serves, and only read: a route leads to a Service if an object in it has the
 * name of the Service as a value, with or without its namespace.
 */
#include "decide/leftover.h"

#include <string.h>

#include "decide/condition.h"
#include "decide/release.h"
#include "decide/rules.h"
#include "decide/serving.h"
#include "router/shared/services.h"
#include "tick/edit.h"

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

/* A version that the cluster does not serve has no list; neither has one that the role may not
 * read. */
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

/* Reads the routes of all routers that have routes of their own. False if some are not known
 * yet. */
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

/* True if spec.service.routeRefs names it: it belongs to the user, whatever it was before. */
static bool is_referred(const struct release *r, const struct kube_resource *kind,
                        struct json_object *route)
{
    const struct canary_service *service = &r->canary->service;

    for (int i = 0; i < service->n_route_refs; i++)
        if (strcmp(service->route_refs[i].kind, kind->kind) == 0 &&
            strcmp(service->route_refs[i].name, name_of(route)) == 0)
            return true;
    return false;
}

/*
 * True for a route that is kept when spec.service.routeRefs is added: one that it names, or one of
 * ours to which the user's objects lead.
 */
static bool is_let_be(struct release *r, const struct kube_resource *kind,
                      struct json_object *route)
{
    const struct router *own = router_find(r->tick->provider);

    if (!r->router || !r->router->ref_kinds)
        return false;
    return is_referred(r, kind, route) ||
           (own->led_to && is_of_router(r, kind) && own->led_to(route));
}

/* True if the router redirects it, or has it deleted. */
static bool is_managed(struct release *r, const struct kube_resource *kind,
                       struct json_object *route)
{
    return is_of_router(r, kind) && !is_let_be(r, kind, route) &&
           (has_name(r, kind, route) || edit_is_owned(r->tick, route));
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

/* A Service in the forms in which routes name it: plain, by cluster DNS, or in Kuma's form. */
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

/* The first route that stays and leads to the Service; object is NULL if there is none. */
struct route {
    const struct kube_resource *kind;
    struct json_object *object;
};

static struct route find_route(struct release *r, const struct routes *routes, const char *service,
                               int64_t port, bool managed)
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
            if (!is_going(route.object) && is_managed(r, route.kind, route.object) == managed &&
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

static struct route find_route_to(struct release *r, const struct routes *routes,
                                  struct json_object *ports, bool managed)
{
    struct route found = {0};

    for (size_t i = 0; !found.object && i < json_len(ports); i++)
        found = find_route(r, routes, json_str_at(json_elem(ports, i), "name", NULL),
                           json_int_at(json_elem(ports, i), 0, "port", NULL), managed);
    return found;
}

enum rule_result leftover_uses_ports(struct release *r, struct json_object *ports,
                                     const char **route, bool *behind)
{
    struct json_object *one;
    struct routes *routes;

    *route = NULL;
    *behind = false;
    if (!read_routes(r, &routes))
        return RULE_NEEDS_FACTS;
    struct route found = find_route_to(r, routes, ports, true);
    *behind = found.object != NULL;
    if (!found.object)
        found = find_route_to(r, routes, ports, false);
    if (!found.object)
        return RULE_CONTINUE;
    *route = *behind ? NULL : print_route(r, &found);
    /* the route is needed by name, so that its change wakes the Canary */
    return need_object(r->tick, found.kind, r->canary->namespace_, name_of(found.object), &one)
               ? RULE_CONTINUE
               : RULE_NEEDS_FACTS;
}

/* --- spec.service.routeRefs has come */

static bool disown(struct release *r, const struct kube_resource *kind, struct json_object *object)
{
    if (!edit_is_owned(r->tick, object) ||
        !plan_update(r->tick, kind, object, edit_released(r->tick, object, true)))
        return false;
    plan_why(r->tick, "outlives the canary");
    return true;
}

/* The route that would be ours without routeRefs; object is NULL if there is none. */
static enum rule_result find_replaced(struct release *r, struct route *out)
{
    const struct router *own = router_find(r->tick->provider);
    bool known = true;

    *out = (struct route){0};
    for (const struct kube_resource *const *kind = own->resources; *kind; kind++) {
        const char *const *name = router_object_names(r->tick->arena, own, r->canary, *kind);
        for (; !kube_resource_same(*kind, &kube_services) && is_of_router(r, *kind) && *name;
             name++) {
            struct json_object *live = NULL;
            known = need_object(r->tick, *kind, r->canary->namespace_, *name, &live) && known;
            if (live && !is_going(live) && !out->object)
                *out = (struct route){*kind, live};
        }
    }
    return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

/* A route of ours that the spec names belongs to the user from now on, and outlives the Canary. */
static enum rule_result give_up_route(struct release *r, const struct route *route)
{
    if (!disown(r, route->kind, route->object))
        return RULE_CONTINUE;
    event_normal(r,
                 "spec.service.routeRefs: %s was made for %s and is the user's now, it stays when "
                 "the Canary is deleted",
                 print_route(r, route), release_canary(r));
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/* Reports a route that is kept when routeRefs is added. */
static void report_replaced(struct release *r, const struct route *route, bool owned)
{
    struct json_object *before = r->canary->status.accepted_spec;
    const char *name = print_route(r, route);

    if (!before || json_at(before, "service", "routeRefs", NULL))
        return;
    if (owned)
        event_normal(r,
                     "spec.service.routeRefs: %s, which was made for %s, is no longer written and "
                     "stays for objects that lead to it; delete it when there are none",
                     name, release_canary(r));
    else
        event_warning(r,
                      "spec.service.routeRefs: %s was there before %s and stays as it is; it may "
                      "take requests of the routes that are named, delete it when nobody uses it",
                      name, release_canary(r));
}

/* Deletes our route beside the user's: it may be older, and would get their requests. */
static enum rule_result delete_replaced(struct release *r, const struct route *route)
{
    const struct pause pause = {
        .type = CONDITION_REPLACED,
        .reason = "OldRouteServes",
        .text = arena_printf(r->tick->arena,
                             "%s, which was made before, stays until it is known everywhere that "
                             "the routes of spec.service.routeRefs serve",
                             print_route(r, route)),
    };
    enum rule_result verdict = pause_pass(r, &pause);

    if (verdict != RULE_CONTINUE) /* does not block repairs */
        return verdict == RULE_DONE ? RULE_CONTINUE : verdict;
    plan_delete(r->tick, route->kind, route->object);
    plan_why(r->tick, "routeRefs are in its place");
    event_normal(r,
                 "spec.service.routeRefs: %s, which was made for %s, is deleted; the routes that "
                 "are named take its requests",
                 print_route(r, route), release_canary(r));
    return RULE_CONTINUE;
}

enum rule_result leave_routes(struct release *r)
{
    struct route old = {0};
    enum rule_result verdict = RULE_CONTINUE;
    bool refers = r->router && r->router->ref_kinds && !r->target->own_services;

    if (refers)
        verdict = find_replaced(r, &old);
    if (verdict != RULE_CONTINUE)
        return verdict;
    bool owned = old.object && edit_is_owned(r->tick, old.object);
    bool named = old.object && is_referred(r, old.kind, old.object);
    if (owned && named)
        return give_up_route(r, &old);
    if (owned && !is_let_be(r, old.kind, old.object) && r->canary->status.canary_weight == 0)
        return delete_replaced(r, &old);
    if (old.object && !named)
        report_replaced(r, &old, owned);
    condition_clear(r, CONDITION_REPLACED);
    return RULE_CONTINUE;
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
                !is_of_router(r, routes->kind) || has_name(r, routes->kind, route) ||
                is_let_be(r, routes->kind, route))
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
    return find_route(r, routes, name, 0, false).object != NULL;
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
        struct route route = find_route(r, routes, name_of(service), 0, false);
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

/* True if the object is not garbage collected: it is not ours, or this plan removes its owner. */
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

/* The routes among the remaining objects: because of them, a later route for the same host may get
 * no requests. */
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

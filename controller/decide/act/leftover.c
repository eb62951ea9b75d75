/*
 * What leads to the Services of a Canary and is not its router's to write any more: the routes of a
 * provider or of a name that it had before, or that another Canary has left with the Services that
 * it took over. They stay when the Canary is changed, for others may use them, and an event says
 * so; nobody knows who does. So what they lead to must not go before they do:
 *
 *   - A port of a Service stays as long as such a route refers to it.
 *   - A Service that such a route names outlives the Canary. It selects the pods of the target, as
 *     the apex Service does; where another Canary goes on with the target, those of the primary.
 *     (A former target may be gone, with its primary, and may hold anything.)
 *   - The routes lose their owner with it.
 *
 * Routes of a former name that the router looks after are for the same hosts as the present one:
 * they are deleted, a pause before their Services go. Routes are those of every router, by whatever
 * version of their resource the cluster serves, and are only read: that a route leads to a Service
 * shows in that some object in it has the Service's name, alone or with its namespace.
 */
#include "decide/act/leftover.h"

#include <string.h>

#include "decide/release/serving.h"
#include "router/common_services.h"
#include "tick/edit.h"

/* --- the routes of a namespace */

/* Those of each kind, as they were listed. */
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

/* The router of the spec writes such objects. */
static bool is_of_router(struct release *r, const struct kube_resource *kind)
{
    if (!r->router || r->router->check(r->tick->arena, r->canary))
        return false;
    for (const struct kube_resource *const *resource = r->router->resources; *resource; resource++)
        if (is_same_kind(*resource, kind))
            return true;
    return false;
}

/* A version that the cluster does not serve has no list, not even an empty one; nor has one that a
 * role without other providers keeps from us. */
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

/* Of all routers but those whose routes are a target. False: not known yet. */
static bool read_routes(struct release *r, struct routes **routes)
{
    bool known = true;

    *routes = NULL;
    for (size_t i = 0; router_table[i]; i++) {
        const struct kube_resource *const *kind = router_table[i]->resources;
        for (; !router_table[i]->only_target && *kind; kind++)
            if (!kube_resource_same(*kind, &kube_services) && !has_kind(*routes, *kind))
                known = read_kind(r, *kind, routes) && known;
    }
    return known;
}

static const char *name_of(struct json_object *object)
{
    const char *name = json_str_at(object, "metadata", "name", NULL);

    return name ? name : "";
}

/* The router writes this object of such a kind. */
static bool has_name(struct release *r, const struct kube_resource *kind, struct json_object *route)
{
    const char *const *name = router_object_names(r->tick->arena, r->router, r->canary, kind);

    while (*name && strcmp(*name, name_of(route)) != 0)
        name++;
    return *name;
}

/* The router makes it lead elsewhere, or has it deleted. */
static bool is_looked_after(struct release *r, const struct kube_resource *kind,
                            struct json_object *route)
{
    return is_of_router(r, kind) && (has_name(r, kind, route) || edit_is_owned(r->tick, route));
}

static bool is_going(struct json_object *object)
{
    return json_at(object, "metadata", "deletionTimestamp", NULL) != NULL;
}

/* --- what a route leads to */

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

/* A Service as routes name it: by itself, in the DNS of the cluster, or in the words of Kuma. */
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

/* An object in it has such a name as a value, and, unless it is 0, the port somewhere below. */
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

/* The first route that stays and leads there; object NULL: there is none. */
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
            if (!is_going(route.object) && !is_looked_after(r, route.kind, route.object) &&
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

enum verdict leftover_uses_ports(struct release *r, struct json_object *ports, const char **route)
{
    struct route found = {0};
    struct json_object *one;
    struct routes *routes;

    *route = NULL;
    if (!read_routes(r, &routes))
        return VERDICT_NEED_FACTS;
    for (size_t i = 0; !found.object && i < json_len(ports); i++)
        found = find_route(r, routes, json_str_at(json_elem(ports, i), "name", NULL),
                           json_int_at(json_elem(ports, i), 0, "port", NULL));
    if (!found.object)
        return VERDICT_GO;
    *route = print_route(r, &found);
    /* asked for by its name, it wakes the Canary when it changes */
    return need_object(r->tick, found.kind, r->canary->namespace_, name_of(found.object), &one)
               ? VERDICT_GO
               : VERDICT_NEED_FACTS;
}

/* --- a Canary that goes */

enum verdict leftover_delete_routes(struct release *r)
{
    struct routes *routes;

    if (!read_routes(r, &routes))
        return VERDICT_NEED_FACTS;
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
    return VERDICT_GO;
}

/*
 * Whether a Service stays that the caller does not look after by itself, as it does after the apex
 * Service, and for an heir after all three. One that was there before the Canary stays in any case.
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

enum verdict leftover_lead(struct release *r, enum leave leave)
{
    bool to_heir = leave == LEAVE_TO_HEIR;
    struct service_pods pods = serving_pods(r);
    struct json_object *services;
    struct routes *routes;

    pods.answers = NULL; /* the steps of a deletion have seen to it */
    if (!read_all(r, &routes, &services))
        return VERDICT_NEED_FACTS;
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
    return VERDICT_GO;
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
            if (!is_going(route) && !is_looked_after(r, routes->kind, route))
                disown(r, routes->kind, route);
        }
    }
}

enum verdict leftover_disown(struct release *r, enum leave leave)
{
    struct json_object *services;
    struct routes *routes;

    if (!read_all(r, &routes, &services))
        return VERDICT_NEED_FACTS;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_elem(services, i);
        struct route route = find_route(r, routes, name_of(service), 0);
        if (!route.object || !is_kept(r, service, routes, leave) ||
            !disown(r, &kube_services, service))
            continue;
        release_warn(r,
                     "%s leads to Service %s.%s, which stays without its Canary; delete both when "
                     "nobody uses them",
                     print_route(r, &route), name_of(service), r->canary->namespace_);
    }
    disown_routes(r, routes);
    return VERDICT_GO;
}

/* --- what is told of it */

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

/* The collector does not take it: it is not ours, or this plan lets it go. */
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

/* The routes among them: a later one for the same host may get no request because of it. */
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

enum verdict leftover_report(struct release *r)
{
    struct json_object *services;
    struct routes *routes;
    const char *service = "";

    if (!read_all(r, &routes, &services))
        return VERDICT_NEED_FACTS;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *one = json_elem(services, i);
        if (strcmp(name_of(one), r->canary->service.name) == 0 && outlives(r, &kube_services, one))
            service = add_name(r, "", "Service", one);
    }
    const char *names = routes_that_stay(r, routes);
    if (*names)
        release_say(r,
                    "Without canary %s stay %s%s%s; delete what nobody uses, since a route that "
                    "stays takes the requests of a later one for the same host",
                    release_canary(r), service, *service ? ", " : "", names);
    else if (*service)
        release_say(r, "Without canary %s stays %s; delete it when nobody uses it",
                    release_canary(r), service);
    return VERDICT_GO;
}

/*
 * Of two routes for the same gateway, host and match a mesh gives the requests to the older one, and
 * the other gets none: a route that a deleted Canary has left behind, say. Nothing of the newer one
 * says so; its canary is measured by probes alone. So the routes of the namespace are looked at when
 * the Canary is initialised, when a release begins, and when it ends where one was in the way. They are
 * only read, and which of them are in the way the router knows (router->claims).
 */
#include "decide/act/contested.h"

#include <string.h>

#include "base/json.h"
#include "decide/release/condition.h"

static const char *text_at(struct json_object *object, const char *key)
{
    const char *text = json_str_at(object, "metadata", key, NULL);

    return text ? text : "";
}

/* The route that takes the requests of the Canary: the router's own, or of those that split the
 * traffic of an object of the user's, that one. */
static bool is_own(struct release *r, const struct kube_resource *kind, struct json_object *route)
{
    const char *const *name = router_object_names(r->tick->arena, r->router, r->canary, kind);
    const char *source = r->canary->ingress.name, *is = text_at(route, "name");

    if (r->router->source)
        return source && strcmp(source, is) == 0;
    while (*name && strcmp(*name, is) != 0)
        name++;
    return *name;
}

/* Meshes go by the time of creation, and then by the name. */
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

/* The first claim that both have; NULL: none. */
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

/* A sentence about the first route that is in the way; NULL: there is none. */
static const char *find_older(struct release *r, const struct kube_resource *kind,
                              struct json_object *list)
{
    struct json_object *own = NULL;

    for (size_t i = 0; i < json_len(list); i++) {
        if (is_own(r, kind, json_elem(list, i)))
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

enum verdict contested_look(struct release *r)
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
        return VERDICT_NEED_FACTS;
    if (!text)
        condition_clear(r, CONDITION_FIRST);
    else if (condition_set(r, CONDITION_FIRST, "OlderRoute", text))
        release_warn(r, "%s", text);
    return VERDICT_GO;
}

/*
 * Routers of Canaries with spec.service.routeRefs: routes of the user, in which nothing is written
 * but the weights of two backends, the Services of primary and canary, in the rules that are named
 * (router/OBJECTS.md). No route is made or owned. A variant has a table of such kinds of routes
 * (router.h's ref_kinds); the functions are the same for all of them.
 */
#ifndef ROUTER_SHARED_ROUTE_REFS_H
#define ROUTER_SHARED_ROUTE_REFS_H

#include "router/router.h"

struct route_refs_kind {
    const struct kube_resource *resource;
    const char *rules;    /* key of the rules in the spec: "rules" */
    const char *backends; /* key of the backends in a rule: "backendRefs" */
    int missing;          /* weight of a backend without one */
    bool single;          /* the key holds one rule and no list: a route has no others to name */
    bool unnamed;         /* rules have no names, the spec has their indices */
    /* Name of the Service of the Canary's namespace to which the backend leads, owned by the arena;
     * NULL if it leads elsewhere. */
    const char *(*service)(struct arena *arena, const struct canary *canary,
                           struct json_object *backend);
    /* As router.h's settled() for this live route. NULL: a mesh without status. */
    enum rule_result (*settled)(struct tick *tick, const struct kube_resource *resource,
                                struct json_object *live, const char **why);
};

/* A kind of the router by its name, NULL if it has none of it. */
const struct route_refs_kind *route_refs_kind_of(const struct router *router, const char *kind);
/* Why the weights of this one of spec.service.routeRefs cannot be written; NULL if they can. A
 * sentence owned by the arena that begins with the path of a field and ": ". `live` may be NULL. */
const char *route_refs_mistake(struct tick *tick, int index, struct json_object *live);

/* No objects are made under names of the Canary. */
const char *const *route_refs_names(struct arena *arena, const struct canary *canary,
                                    const struct kube_resource *resource);
/* Refuses kinds that the provider lacks, routes named twice, and what needs a route of ours. */
const char *route_refs_check(struct arena *arena, const struct canary *canary,
                             const struct router *router);
/* Fields of spec.service that a route of ours would have. */
const char *route_refs_ignored(struct arena *arena, const struct canary *canary);
/* Before a Canary has served: everything to the primary. Later nothing, the rules of a release
 * write the weights. */
enum rule_result route_refs_reconcile(struct tick *tick);
enum rule_result route_refs_get(struct tick *tick, struct weights *out);
/* Writes the rules that can be written; others are what route_refs_settled() waits for. */
enum rule_result route_refs_set(struct tick *tick, const struct weights *weights);
/* DONE also if a route or rule is missing, or cannot be split: *why begins with the field's path
 * and says what was expected. */
enum rule_result route_refs_settled(struct tick *tick, const char **why);
/* Everything to the primary: its Service stays, since the route leads there, and leads to the
 * target (decide/leftover.c). */
enum rule_result route_refs_revert(struct tick *tick, bool recreate);
/* CONTINUE: the routes were never ours. */
enum rule_result route_refs_disown(struct tick *tick);

/* The members of a router of users' routes that are the same for every mesh. */
#define ROUTE_REFS_ROUTER                                                                          \
    .names = route_refs_names, .weighted = true, .finest = 1, .ignored = route_refs_ignored,       \
    .reconcile = route_refs_reconcile, .get = route_refs_get, .settled = route_refs_settled,       \
    .set = route_refs_set, .revert = route_refs_revert, .disown = route_refs_disown

#endif

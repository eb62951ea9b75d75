/*
 * Routers for Canaries with spec.service.routeRefs: in these routes of the user, only the weights
 * of two backends, the Services of primary and canary, are written, and only in the named rules
 * (router/OBJECTS.md). No route is created or owned. A variant has a table of the kinds of routes
 * that it supports (router.h's ref_kinds); the functions are the same for all of them.
 */
#ifndef ROUTER_SHARED_ROUTE_REFS_H
#define ROUTER_SHARED_ROUTE_REFS_H

#include "router/router.h"

struct route_refs_kind {
    const struct kube_resource *resource;
    const char *rules;    /* key of the rules in the spec: "rules" */
    const char *backends; /* key of the backends in a rule: "backendRefs" */
    int missing;          /* weight of a backend without one */
    bool single; /* the key holds a single rule, not a list: the route has no other rules to name */
    bool unnamed; /* rules have no names; the spec refers to them by index */
    /* Name of the Service in the Canary's namespace that the backend leads to, owned by the arena;
     * NULL if it leads elsewhere. */
    const char *(*service)(struct arena *arena, const struct canary *canary,
                           struct json_object *backend);
    /* As router.h's settled() for this live route. NULL: a mesh without status. */
    enum rule_result (*settled)(struct tick *tick, const struct kube_resource *resource,
                                struct json_object *live, const char **why);
};

/* The router's kind with this name, NULL if it has none. */
const struct route_refs_kind *route_refs_kind_of(const struct router *router, const char *kind);
/* Why the weights of the route at this index of spec.service.routeRefs cannot be written; NULL if
 * they can. A sentence owned by the arena that begins with the path of a field and ": ". `live` may
 * be NULL. */
const char *route_refs_mistake(struct tick *tick, int index, struct json_object *live);

/* No objects are created under names derived from the Canary. */
const char *const *route_refs_names(struct arena *arena, const struct canary *canary,
                                    const struct kube_resource *resource);
/* Refuses kinds that the provider lacks, routes that are named twice, and settings that need a
 * route of ours. */
const char *route_refs_check(struct arena *arena, const struct canary *canary,
                             const struct router *router);
/* Fields of spec.service that a route of ours would have. */
const char *route_refs_ignored(struct arena *arena, const struct canary *canary);
/* Before the Canary has served for the first time: sends everything to the primary. Later does
 * nothing, since the rules of a release write the weights. */
enum rule_result route_refs_reconcile(struct tick *tick);
enum rule_result route_refs_get(struct tick *tick, struct weights *out);
/* Writes the rules that can be written; route_refs_settled() waits for the others. */
enum rule_result route_refs_set(struct tick *tick, const struct weights *weights);
/* DONE also if a route or rule is missing or cannot be split: *why begins with the field's path and
 * says what was expected. */
enum rule_result route_refs_settled(struct tick *tick, const char **why);
/* Sends everything to the primary: its Service stays, since the route leads to it, and selects the
 * target's pods (decide/leftover.c). */
enum rule_result route_refs_revert(struct tick *tick, bool recreate);
/* CONTINUE: the routes were never ours. */
enum rule_result route_refs_disown(struct tick *tick);

/* The members that all routers of users' routes have in common, whatever the mesh. */
#define ROUTE_REFS_ROUTER                                                                          \
    .names = route_refs_names, .weighted = true, .finest = 1, .ignored = route_refs_ignored,       \
    .reconcile = route_refs_reconcile, .get = route_refs_get, .settled = route_refs_settled,       \
    .set = route_refs_set, .revert = route_refs_revert, .disown = route_refs_disown

#endif

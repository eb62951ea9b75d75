/*
 * A mesh router: how one kind of mesh or ingress splits traffic. One file per variant, pure: it
 * says which objects it needs and which patches it wants. The build collects the folder into
 * router_table.
 */
#ifndef ROUTER_ROUTER_H
#define ROUTER_ROUTER_H

#include "tick/tick.h"

/*
 * Session affinity, each "NAME=VALUE" without attributes, NULL: none. The rules make them
 * (decide/release/affinity.c); a router writes them into its routes, with the attributes that
 * spec.analysis.sessionAffinity gives, and reads them back.
 */
struct cookies {
    const char *canary;   /* given to who reaches the canary, and leads there again */
    const char *primary;  /* the same for the primary; only while both sides have a share */
    const char *previous; /* of a release that is over: taken back from who still sends it */
};

/* What is routed. The canary's share is of all requests, or of those that are matched. */
struct weights {
    int primary; /* percent; primary + canary is 100 */
    int canary;
    bool mirrored; /* the canary gets a copy of the primary's requests; canary is 0 then */
    bool matched;  /* only requests that spec.analysis.match names are split, the others all go to
                    * the primary; false when every request is split */
    bool mirrors_all; /* told by get(): mirrored, but the mesh copies every request, as it does not
                       * know the share that spec.analysis.mirrorWeight asks for */
    struct cookies cookies; /* canary only with a share above 0, previous only with 0 */
};

struct route;
struct source_ingress;

struct router {
    const char *const
        *providers;    /* NULL-ended names it serves; one that ends with '*' is a prefix */
    const char *about; /* one line for --help and errors */
    const struct kube_resource *const
        *resources; /* NULL-ended: what it reads and writes, for watches and RBAC */
    /* Of a router whose functions are those of common_route.h: what its route looks like. NULL: it
     * has functions of its own. */
    const struct route *route;
    /* Of one whose functions are those of common_source.h, for Ingresses; else NULL. */
    const struct source_ingress *source;
    /* The names of the objects of this kind that it writes for a Canary, NULL-ended and owned by
     * the arena. NULL: one object, which has the name of the apex Service. */
    const char *const *(*names)(struct arena *arena, const struct canary *canary,
                                const struct kube_resource *resource);
    /* The only target that it can release, and no other router can; NULL: all that have Services.
     */
    const struct kube_resource *only_target;
    const char *metric_family; /* of the built-in queries: "http" */
    bool weighted; /* shifts traffic by percent; false: only all or nothing (iterations) */
    bool matches;  /* A/B testing: set() knows weights.matched */
    /* Requests that match go to the canary all or none: with weights, each step is an iteration. */
    bool matches_whole;
    bool mirrors; /* set() knows weights.mirrored, and get() reports it; the share to copy is
                    * spec.analysis.mirrorWeight, all if 0 */
    bool session_affinity; /* set() knows weights.cookies, and get() reports them */
    /* What the variant asks of a spec: NULL, or one sentence with the field's path. */
    const char *(*check)(struct arena *arena, const struct canary *canary);
    /* What the spec asks for and the variant cannot express, so that it has no effect: the fields'
     * paths, "a.b, a.c", or NULL. Where nothing is named, a NULL pointer. (What must not be ignored
     * is refused by check().) */
    const char *(*ignored)(struct arena *arena, const struct canary *canary);
    /* Where a route object takes requests, one text each ("Gateway infra/gateway, host app.test, path
     * /"), as an array that the arena owns: of two objects with one in common the mesh gives the
     * requests to the older one. NULL function: its objects name no hosts. */
    struct json_object *(*claims)(struct arena *arena, struct json_object *route);
    /* What must be there before pods of the primary are made: a mesh may look it up when it puts its
     * proxy into a pod. Asked in each tick behind the Services of both sides, whose selectors it may
     * use, and before reconcile(). NULL: nothing. GO or NEED_FACTS. */
    enum verdict (*prepare)(struct tick *tick);
    /* The objects are there and as the spec says; weights, mirroring and cookies are kept as they
     * are routed. Plans what differs. */
    enum verdict (*reconcile)(struct tick *tick);
    /* What is routed now, all fields. */
    enum verdict (*get)(struct tick *tick, struct weights *out);
    /* GO when the mesh has taken over the routes, as they are written and as this plan writes
     * them; STOP and *why, one sentence, when it says that it has not. A mesh that says nothing is
     * not waited for. */
    enum verdict (*settled)(struct tick *tick, const char **why);
    /* Plans nothing when just this is routed already. */
    enum verdict (*set)(struct tick *tick, const struct weights *weights);
    /*
     * The Canary is being deleted, and the target is ready to carry everything: the mesh sends all
     * traffic to the apex Service alone, as the spec's service says and without anything of the
     * analysis. Nothing may refer to `-primary` and `-canary` any more, which go with the Canary.
     * An object that was there before the Canary gets back what it said then, where that is known.
     * `anew`: what we made and is gone is made again, without owner; otherwise what is missing
     * stays missing. Plans nothing where it is so already. GO or NEED_FACTS.
     */
    enum verdict (*revert)(struct tick *tick, bool anew);
    /* The last word before the Canary goes: what must outlive it does not refer to it any more
     * (edit_released()), and what it leaves in objects of others is taken away. GO or NEED_FACTS.
     */
    enum verdict (*disown)(struct tick *tick);
};

extern const struct router *const router_table[];
/* The one that a target's resource needs; NULL: any that asks for no other target. */
const struct router *router_of_target(const struct kube_resource *target);
/* The names of the objects of this kind that it writes for a Canary: NULL-ended, owned by the arena.
 */
const char *const *router_object_names(struct arena *arena, const struct router *router,
                                       const struct canary *canary,
                                       const struct kube_resource *resource);
/* NULL when no variant serves the provider. */
const struct router *router_find(const char *provider);
/* "gatewayapi:v1, kubernetes", for errors; owned by the arena. */
const char *router_names(struct arena *arena);
/* The same of those for which `can` holds, one name each. */
const char *router_names_that(struct arena *arena, bool (*can)(const struct router *router));

/* The Services `-canary`, `-primary` and apex are the same for every router: see
 * router/common_services.h. */

#endif

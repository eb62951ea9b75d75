/*
 * A mesh router: the traffic split of one kind of mesh or ingress. One file per variant, pure: it
 * asks for objects and plans patches. The build collects the folder into router_table. Code for
 * several variants is in shared/.
 */
#ifndef ROUTER_ROUTER_H
#define ROUTER_ROUTER_H

#include "base/arena.h"
#include "proto/canary.h"
#include "tick/tick.h"

/*
 * Session affinity, each "NAME=VALUE" without attributes, NULL if none. The rules create them
 * (decide/release.c); a router writes them into its routes, with the attributes of
 * spec.analysis.sessionAffinity, and reads them back.
 */
struct cookies {
    const char *canary;   /* set for clients of the canary, and routes them there again */
    const char *primary;  /* the same for the primary; only while both sides have a share */
    const char *previous; /* of an earlier release: deleted from clients that still send it */
};

/* The routing. The canary's share is of all requests, or of matched ones. */
struct weights {
    int primary; /* hundredths of a percent (proto/weight.h); primary + canary is WEIGHT_ALL */
    int canary;
    bool mirrored; /* the canary gets a copy of the primary's requests; canary is 0 then */
    /* Only requests of spec.analysis.match are split, all others go to the primary; false if every
     * request is split. */
    bool matched;
    /* Set by get(): mirrored, but the mesh copies every request, since it does not support
     * spec.analysis.mirrorWeight, or the percentage of a step. */
    bool mirrors_all;
    /* Set by get(): not all of several rules have this routing. The canary has the share in at least
     * one of them and in none more, and set() is needed for every routing. */
    bool uneven;
    struct cookies cookies; /* canary only with a share above 0, previous only with 0 */
    /* For set() of a router with `by_apex`: what the apex Service selects then; NULL: as before. */
    struct json_object *selector;
};

struct route;
struct route_refs_kind;
struct source_ingress;

struct router {
    const char *const
        *providers;    /* NULL-ended names that it serves; one that ends with '*' is a prefix */
    const char *about; /* one line for --help and errors */
    const struct kube_resource *const
        *resources; /* NULL-ended kinds that it reads and writes, for watches and RBAC */
    /* For a router with the functions of shared/route.h: its route. NULL if it has functions of its
     * own. */
    const struct route *route;
    /* For a router with the functions of shared/source.h, for Ingresses; else NULL. */
    const struct source_ingress *source;
    /* The router of Canaries with spec.service.routeRefs, with its kinds of routes
     * (shared/route_refs.h), NULL-ended. NULL: those are refused. */
    const struct router *refs;
    const struct route_refs_kind *const *ref_kinds;
    /* Of a router with `refs`: true if requests come to this route of ours only by objects of the user
     * that refer to it. NULL: they come by its hosts. */
    bool (*led_to)(struct json_object *route);
    /* The router of Canaries with spec.analysis.steps, where a share is one of pods, and the one of
     * those with spec.analysis.bake, which gives all traffic or none. NULL: this one. */
    const struct router *stepped, *baked;
    /* Names of the objects of this kind that it writes for a Canary, NULL-ended and owned by the
     * arena. NULL: one object, with the name of the apex Service. */
    const char *const *(*names)(struct arena *arena, const struct canary *canary,
                                const struct kube_resource *resource);
    /* The only kind of target that it can release, and only this router can; NULL: all with
     * Services. */
    const struct kube_resource *only_target;
    const char *metric_family; /* of the built-in queries: "http" */
    bool weighted;             /* shifts traffic by weights; false: all or nothing (iterations) */
    /* The finest weight that set() can write, in hundredths of a percent: its multiples are possible.
     * 0: whole percents. */
    int finest;
    /* "the NGINX ingress controller 1.7 takes; an older one ...": the version from which on the mesh
     * takes parts of a percent, for a warning; NULL: each does. */
    const char *finest_since;
    /* The selector of the apex Service is the route: set() writes it (weights.selector). */
    bool by_apex;
    /* It selects the pods of both sides, and the share is the ratio of their numbers, which the rules
     * see to (decide/share.c). Only with by_apex. */
    bool by_pods;
    bool whole;   /* weighted, but set() takes no part of the traffic: all or nothing */
    bool matches; /* A/B testing: set() supports weights.matched */
    /* Matched requests go to the canary all or none: each step is an iteration. */
    bool matches_whole;
    /* Set() supports weights.mirrored, and get() reports it; the share to copy is
     * spec.analysis.mirrorWeight, all if 0. */
    bool mirrors;
    bool session_affinity; /* set() supports weights.cookies, and get() reports them */
    /* Checks a spec: NULL, or a sentence with the field's path. */
    const char *(*check)(struct arena *arena, const struct canary *canary);
    /* Fields of the spec without effect, since the variant cannot express them: "a.b, a.c", or
     * NULL. NULL function: there are none. (Fields that must not be ignored are refused by
     * check().) */
    const char *(*ignored)(struct arena *arena, const struct canary *canary);
    /* Requests that a route object takes, a string each ("Gateway infra/gateway, host app.test,
     * path /"), as an array owned by the arena: of two objects with a common one the mesh prefers
     * the older. NULL function: its objects name no hosts. */
    struct json_object *(*claims)(struct arena *arena, struct json_object *route);
    /* Creates objects needed before pods of the primary: a mesh may look them up when it injects
     * its proxy. Called in each tick after the Services of both sides, whose selectors it may use,
     * and before reconcile(). NULL if none. CONTINUE or NEEDS_FACTS. */
    enum rule_result (*prepare)(struct tick *tick);
    /* Plans differences between the objects and the spec; keeps weights, mirroring and cookies. */
    enum rule_result (*reconcile)(struct tick *tick);
    /* The current routing, all fields. */
    enum rule_result (*get)(struct tick *tick, struct weights *out);
    /* CONTINUE if the routes are in effect, as written and as this plan writes them; DONE and *why,
     * a sentence, if the mesh reports that they are not, or if a route of the user cannot be
     * written: then it begins with the path of the field. A mesh without status counts as settled.
     */
    enum rule_result (*settled)(struct tick *tick, const char **why);
    /* Plans nothing if this is the routing already. */
    enum rule_result (*set)(struct tick *tick, const struct weights *weights);
    /*
     * The Canary is being deleted, and the target is ready for all traffic: the mesh sends
     * everything to the apex Service, as in spec.service and without the analysis. No reference to
     * `-primary` and `-canary` may remain, which are deleted with the Canary. An object that
     * existed before the Canary gets its old content back, if known. `recreate`: objects of ours
     * that are missing are created without owner; otherwise they stay missing. Plans nothing if it
     * is done. CONTINUE or NEEDS_FACTS.
     */
    enum rule_result (*revert)(struct tick *tick, bool recreate);
    /* Last step before the Canary is deleted: objects that outlive it no longer refer to it
     * (edit_released()), and its traces in other objects are removed. CONTINUE or NEEDS_FACTS. */
    enum rule_result (*disown)(struct tick *tick);
};

extern const struct router *const router_table[];
/* The router that a target's resource needs; NULL: any without only_target. */
const struct router *router_of_target(const struct kube_resource *target);
/* Names of the objects of this kind that it writes for a Canary: NULL-ended, owned by the arena. */
const char *const *router_object_names(struct arena *arena, const struct router *router,
                                       const struct canary *canary,
                                       const struct kube_resource *resource);
/* NULL if no variant serves the provider. */
const struct router *router_find(const char *provider);
/* The router of a Canary with this provider: the one for its routeRefs, for its steps or for its
 * bake, if it has any and the variant has such a router. NULL if no variant serves the provider. */
const struct router *router_of(const char *provider, const struct canary *canary);
/* True if it can give the canary a part of the traffic. */
bool router_splits(const struct router *router);
/* The finest weight that it can write, in hundredths of a percent. */
int router_finest(const struct router *router);
/* "gatewayapi:v1, kubernetes", for errors; owned by the arena. */
const char *router_names(struct arena *arena);
/* The same for routers with the property `can`, one name each. */
const char *router_names_that(struct arena *arena, bool (*can)(const struct router *router));

/* The Services `-canary`, `-primary` and apex are the same for every router: see
 * router/shared/services.h. */

/*
 * --- for the variants: checks of a spec against the capabilities of a mesh.
 *
 * Ignored fields: paths of fields in a spec that a mesh cannot express, for router.h's ignored().
 */

struct ignored {
    struct arena *arena;
    const char *text; /* "a.b, a.c", owned by the arena; NULL if empty */
};

/* Adds "AT.KEY" for each of the keys (NULL-ended) in `from` (an object or NULL). */
void ignored_add(struct ignored *list, struct json_object *from, const char *at,
                 const char *const keys[]);
/* The same for each element of an array (or NULL), "AT[0].KEY". */
void ignored_add_each(struct ignored *list, struct json_object *array, const char *at,
                      const char *const keys[]);
/* These keys of spec.service, and these of the elements of its match, if present; either list may
 * be NULL. */
const char *ignored_of_service(struct arena *arena, const struct canary *canary,
                               const char *const keys[], const char *const match_keys[]);
/* The same for a mesh that uses only Services and weights of spec.service. */
const char *ignored_but_weights(struct arena *arena, const struct canary *canary);

/*
 * Regular expressions of a spec are checked before they go into routes. A gateway that cannot
 * compile one rejects the whole route, and with it every request: an invalid expression is refused
 * while the old route still serves.
 *
 * Each gateway has a dialect of its own (RE2, PCRE, ECMAScript). The check uses the widest, PCRE2:
 * no gateway accepts an expression that PCRE2 rejects. Features that a gateway lacks are not found
 * here.
 */

/* NULL if valid. Otherwise the mistake and its position, "missing closing parenthesis at character
 * 2"; owned by the arena. */
const char *regex_mistake(struct arena *arena, const char *pattern);

/*
 * --- for the variants: headers of A/B tests, and cookies of session affinity.
 *
 * Headers are for meshes that match nothing else of a request. All of spec.analysis.match must
 * hold, in whichever of its elements it is, as in Flagger.
 */

struct header_match {
    const char *name;
    const char *how; /* "exact", "prefix", "suffix" or "regex" */
    const char *value;
};

/* In the order of the elements, sorted by name within each; owned by the arena. Returns their
 * number. */
size_t headers_of_test(struct arena *arena, const struct canary *canary, struct header_match **out);
/* NULL, or the part of spec.analysis.match that `mesh` (a name for people) cannot match: a sentence
 * with the field's path, owned by the arena. The mesh supports these ways (NULL-ended), and at most
 * `max` headers. */
const char *headers_mistake(struct arena *arena, const struct canary *canary, const char *mesh,
                            const char *const ways[], size_t max);

/* Cookies of session affinity as HTTP headers, for all routers that support them. Strings are owned
 * by the arena. */

/* Values of Set-Cookie that set the cookie "NAME=VALUE" for this time, and delete it, with the
 * attributes of spec.analysis.sessionAffinity. NULL if cookie is NULL. */
const char *cookie_given(struct tick *tick, const char *cookie, int64_t max_age_s);
const char *cookie_taken_back(struct tick *tick, const char *cookie);
/* The cookie in such a value; NULL if it is of the other kind, or missing. */
const char *cookie_read(struct arena *arena, const char *value, bool taken_back);
/* A regular expression for a Cookie header that contains it; name and value are matched
 * literally. */
const char *cookie_pattern(struct arena *arena, const char *cookie);

#endif

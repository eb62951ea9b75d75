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
    const char *previous; /* from an earlier release: deleted from clients that still send it */
};

/* The routing. The canary's share is a share of all requests, or of the matched ones. */
struct weights {
    int primary; /* hundredths of a percent (proto/weight.h); primary + canary is WEIGHT_ALL */
    int canary;
    bool mirrored; /* the canary gets a copy of the primary's requests; canary is 0 then */
    /* Only requests that match spec.analysis.match are split, and all others go to the primary;
     * false if every request is split. */
    bool matched;
    /* Set by get(): mirrored, but the mesh copies every request, since it supports neither
     * spec.analysis.mirrorWeight nor the percentage of a step. */
    bool mirrors_all;
    /* Set by get(): the route has several rules, and not all of them have this routing. The canary
     * has this share in at least one of them and a larger share in none; set() is needed whatever
     * the routing. */
    bool uneven;
    struct cookies cookies; /* canary only with a share above 0, previous only with 0 */
    /* For set() of a router with `by_apex`: the new selector of the apex Service; NULL:
     * unchanged. */
    struct json_object *selector;
};

struct route;
struct route_refs_kind;
struct source_ingress;

struct router {
    const char *const
        *providers;    /* NULL-terminated names that it serves; a final '*' makes a name a prefix */
    const char *about; /* one line for --help and errors */
    const struct kube_resource *const
        *resources; /* kinds that it reads and writes, NULL-terminated; for watches and RBAC */
    /* The route of a router that uses the functions of shared/route.h. NULL if it has its own
     * functions. */
    const struct route *route;
    /* For a router that uses the functions of shared/source.h for Ingresses; else NULL. */
    const struct source_ingress *source;
    /* The router for Canaries with spec.service.routeRefs, and the kinds of routes that it supports
     * (shared/route_refs.h), NULL-terminated. NULL: such Canaries are refused. */
    const struct router *refs;
    const struct route_refs_kind *const *ref_kinds;
    /* For a router with `refs`: true if requests reach this route of ours only through objects of
     * the user that refer to it. NULL: they reach it by its hosts. */
    bool (*led_to)(struct json_object *route);
    /* The routers for Canaries with spec.analysis.steps, where a share is a share of the pods, and
     * for Canaries with spec.analysis.bake, which gets all of the traffic or none. NULL: this
     * router. */
    const struct router *stepped, *baked;
    /* Names of the objects of this kind that it writes for a Canary, NULL-terminated and owned by
     * the arena. NULL: one object, with the name of the apex Service. */
    const char *const *(*names)(struct arena *arena, const struct canary *canary,
                                const struct kube_resource *resource);
    /* The only kind of target that it can release; no other router can release it. NULL: every kind
     * that has Services. */
    const struct kube_resource *only_target;
    const char *metric_family; /* of the built-in queries: "http" */
    bool weighted;             /* shifts traffic by weights; false: all or nothing (iterations) */
    /* The finest weight that set() can write, in hundredths of a percent; it can write every
     * multiple. 0: whole percents. */
    int finest;
    /* The first version of the mesh that accepts fractions of a percent, for a warning: "the NGINX
     * ingress controller 1.7 takes; an older one ...". NULL: every version accepts them. */
    const char *finest_since;
    /* The selector of the apex Service is the route, and set() writes it (weights.selector). */
    bool by_apex;
    /* The apex Service selects the pods of both sides, and the share is the ratio of their numbers,
     * which the rules maintain (decide/share.c). Only with by_apex. */
    bool by_pods;
    bool whole;   /* weighted, but set() cannot split the traffic: all or nothing */
    bool matches; /* A/B testing: set() supports weights.matched */
    /* Either all matched requests go to the canary or none: each step is an iteration. */
    bool matches_whole;
    /* set() supports weights.mirrored, and get() reports it; the share to copy is
     * spec.analysis.mirrorWeight, or everything if that is 0. */
    bool mirrors;
    bool session_affinity; /* set() supports weights.cookies, and get() reports them */
    /* Checks a spec: NULL, or a sentence with the field's path. */
    const char *(*check)(struct arena *arena, const struct canary *canary);
    /* Fields of the spec that have no effect, since the variant cannot express them: "a.b, a.c", or
     * NULL. The function is NULL if there are no such fields. (check() refuses fields that must not
     * be ignored.) */
    const char *(*ignored)(struct arena *arena, const struct canary *canary);
    /* Requests that a route object takes, one string each ("Gateway infra/gateway, host app.test,
     * path /"), as an array owned by the arena. If two objects share a string, the mesh prefers the
     * older object. The function is NULL if its objects name no hosts. */
    struct json_object *(*claims)(struct arena *arena, struct json_object *route);
    /* Creates objects that must exist before the pods of the primary: a mesh may look them up when
     * it injects its proxy. Called in each tick, after the Services of both sides are planned (it
     * may use their selectors) and before reconcile(). NULL if there are none. CONTINUE or
     * NEEDS_FACTS. */
    enum rule_result (*prepare)(struct tick *tick);
    /* Plans the changes that make the objects match the spec; keeps weights, mirroring and
     * cookies. */
    enum rule_result (*reconcile)(struct tick *tick);
    /* The current routing, with all fields set. */
    enum rule_result (*get)(struct tick *tick, struct weights *out);
    /* CONTINUE if the routes are in effect, both as written and as this plan writes them. DONE and
     * *why, a sentence, if the mesh reports that they are not in effect, or if a route of the user
     * cannot be written; in the latter case the sentence begins with the path of the field. A mesh
     * without a status counts as settled. */
    enum rule_result (*settled)(struct tick *tick, const char **why);
    /* Plans nothing if the routing is already this one. */
    enum rule_result (*set)(struct tick *tick, const struct weights *weights);
    /*
     * The Canary is being deleted, and the target is ready for all traffic: the mesh sends
     * everything to the apex Service, as spec.service describes and without the analysis. No
     * reference to `-primary` and `-canary` may remain, since they are deleted with the Canary. An
     * object that existed before the Canary gets its old content back, if it is known. `recreate`:
     * objects of ours that are missing are created without an owner; otherwise they stay missing.
     * Plans nothing if this is already done. CONTINUE or NEEDS_FACTS.
     */
    enum rule_result (*revert)(struct tick *tick, bool recreate);
    /* Last step before the Canary is deleted: objects that outlive it no longer refer to it
     * (edit_released()), and its traces in other objects are removed. CONTINUE or NEEDS_FACTS. */
    enum rule_result (*disown)(struct tick *tick);
};

extern const struct router *const router_table[];
/* The router that a target's resource needs; NULL: any router without only_target. */
const struct router *router_of_target(const struct kube_resource *target);
/* Names of the objects of this kind that it writes for a Canary: NULL-terminated, owned by the
 * arena. */
const char *const *router_object_names(struct arena *arena, const struct router *router,
                                       const struct canary *canary,
                                       const struct kube_resource *resource);
/* NULL if no variant serves the provider. */
const struct router *router_find(const char *provider);
/* The router of a Canary with this provider: the one for its routeRefs, its steps or its bake, if
 * the Canary has any and the variant has such a router. NULL if no variant serves the provider. */
const struct router *router_of(const char *provider, const struct canary *canary);
/* True if it can send a part of the traffic to the canary. */
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

/* Adds "AT.KEY" for each of the keys (NULL-terminated) that `from` (an object or NULL) has. */
void ignored_add(struct ignored *list, struct json_object *from, const char *at,
                 const char *const keys[]);
/* The same for each element of an array (or NULL), "AT[0].KEY". */
void ignored_add_each(struct ignored *list, struct json_object *array, const char *at,
                      const char *const keys[]);
/* These keys of spec.service, and these keys of the elements of its match, if present; either list
 * may be NULL. */
const char *ignored_of_service(struct arena *arena, const struct canary *canary,
                               const char *const keys[], const char *const match_keys[]);
/* The same for a mesh that uses only the Services and weights of spec.service. */
const char *ignored_but_weights(struct arena *arena, const struct canary *canary);

/*
 * Regular expressions of a spec are checked before they go into routes. A gateway that cannot
 * compile an expression rejects the whole route, and with it every request: an invalid expression
 * is refused while the old route still serves.
 *
 * Each gateway has its own dialect (RE2, PCRE, ECMAScript). The check uses the widest, PCRE2: no
 * gateway accepts an expression that PCRE2 rejects. Features that a gateway lacks are not detected
 * here.
 */

/* NULL if valid. Otherwise the mistake and its position, "missing closing parenthesis at character
 * 2"; owned by the arena. */
const char *regex_mistake(struct arena *arena, const char *pattern);

/*
 * --- for the variants: headers of A/B tests, and cookies of session affinity.
 *
 * Headers are for meshes that can match nothing else in a request. All headers in
 * spec.analysis.match must match, whichever element they are in, as in Flagger.
 */

struct header_match {
    const char *name;
    const char *how; /* "exact", "prefix", "suffix" or "regex" */
    const char *value;
};

/* In the order of the elements, sorted by name within each; owned by the arena. Returns their
 * number. */
size_t headers_of_test(struct arena *arena, const struct canary *canary, struct header_match **out);
/* NULL, or the part of spec.analysis.match that `mesh` (its name in messages) cannot match: a
 * sentence with the field's path, owned by the arena. The mesh supports the kinds of match in
 * `ways` (NULL-terminated), and at most `max` headers. */
const char *headers_mistake(struct arena *arena, const struct canary *canary, const char *mesh,
                            const char *const ways[], size_t max);

/* Cookies of session affinity as HTTP headers, for all routers that support them. Strings are owned
 * by the arena. */

/* Values of Set-Cookie that set the cookie "NAME=VALUE" for this time, or delete it, with the
 * attributes of spec.analysis.sessionAffinity. NULL if cookie is NULL. */
const char *cookie_given(struct tick *tick, const char *cookie, int64_t max_age_s);
const char *cookie_taken_back(struct tick *tick, const char *cookie);
/* The cookie in such a value; NULL if the value is of the other kind, or missing. */
const char *cookie_read(struct arena *arena, const char *value, bool taken_back);
/* A regular expression for a Cookie header that contains this cookie; name and value are matched
 * literally. */
const char *cookie_pattern(struct arena *arena, const char *cookie);

#endif

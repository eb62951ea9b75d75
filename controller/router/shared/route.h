/*
 * Routers with one route object: reconcile, get, set, revert and disown for all meshes. A variant
 * describes in a struct route the position of the weights, what else is read, and the wanted
 * content; router.h has the duties.
 *
 * A route that existed before the Canary keeps fields that we do not write. Its spec is saved in
 * the annotation ORIGINAL_SPEC at the first write, unless kubectl has saved it already, and is
 * restored when the Canary is deleted.
 */
#ifndef ROUTER_SHARED_ROUTE_H
#define ROUTER_SHARED_ROUTE_H

#include "router/router.h"

/*
 * --- The weights in a route. All meshes have rules, each with backends that have a name and a
 * weight; only the keys differ. Read here for every router; objects are borrowed.
 */

enum { SPLIT_KEYS = 4 };

struct split_format {
    /* Keys to the list of rules, or to the only rule; "0" is the first of a list. */
    const char *rules[SPLIT_KEYS];
    const char *backends[SPLIT_KEYS]; /* ... from a rule to its list of backends */
    const char *name[SPLIT_KEYS];     /* ... from a backend to its name */
    int missing;                      /* weight of a backend without one */
    /* The split is the first rule with both sides, not the last; the last rule is for all other
     * requests. */
    bool first;
    bool may_leave_out; /* a rule with only the primary as backend gives the canary weight 0 */
    bool leaves_either; /* a rule with only the canary as backend gives it weight 100 */
};

/* The names of the two backends. A final '*' matches any rest, since in some meshes names end in a
 * port, which the spec may have changed. */
struct split_sides {
    const char *primary, *canary;
};
/* True if the text matches the name. */
bool split_is_name(const char *name, const char *text);

/* The rules of a live route, NULL if missing. */
struct split {
    struct json_object *sticky[2]; /* before the split */
    struct json_object *split;     /* has both sides as backends */
    struct json_object *rest;      /* in an A/B test: all other requests */
    struct json_object *primary;   /* the backends of the split */
    struct json_object *canary;
};

/* Finds the split of a route (may be NULL). */
struct split split_find(const struct split_format *format, const struct split_sides *sides,
                        struct json_object *route);
/* The first backend of a rule with this name, NULL if there is none. */
struct json_object *split_backend(const struct split_format *format, struct json_object *rule,
                                  const char *name);
/* Route `from` with each backend of `to` that it does not have (compared by name), added to its
 * first rule without a share; NULL if there is no backend to add, or no rule. */
struct json_object *split_introduced(struct arena *arena, const struct split_format *format,
                                     struct json_object *from, struct json_object *to);
/* True if `from` has weighted backends and none of them is in `to`. */
bool split_is_elsewhere(const struct split_format *format, struct json_object *from,
                        struct json_object *to);
/* Sets primary and canary; the weights in the route may have any sum, and a share is the part of
 * that sum. Everything goes to the primary if the route is unusable. Sets nothing else. */
void split_weights(const struct split_format *format, const struct split *split,
                   struct weights *out);

/* --- the route of a variant */

/* Flagger's annotation. Written only once: a value written by Flagger may refer to -primary. */
#define ORIGINAL_SPEC "flagger.kubernetes.io/original-configuration"

struct route {
    const struct kube_resource *resource;
    const struct split_format *(*format)(const struct canary *canary);
    /* Names of the backends; NULL: those of the Services. */
    struct split_sides (*sides)(struct arena *arena, const struct canary *canary);
    /* Reads the other fields of the split: mirrored, mirrors_all, cookies. NULL if there are
     * none. */
    void (*read)(struct arena *arena, const struct canary *canary, const struct split *split,
                 struct weights *out);
    /*
     * The spec's part of the route (metadata and spec), as an overlay for the live route; its rules
     * and backends are paired with those of the live one (`split`). CONTINUE; NEEDS_FACTS; DONE if
     * it has planned to stop.
     */
    enum rule_result (*wanted)(struct tick *tick, const struct weights *weights,
                               const struct split *split, struct json_object *live,
                               struct json_object **out);
    /* The same, but everything goes to the apex Service and the analysis is left out. NULL if the
     * router has its own revert(). */
    enum rule_result (*plain)(struct tick *tick, struct json_object *live,
                              struct json_object **out);
    /* Selects one of several kinds of route; it returns NULL if that is not known yet. NULL: this
     * is the only kind. */
    const struct route *(*choose)(struct tick *tick);
    /* Name of the object; it returns NULL if that is not known yet. NULL: the name is in the
     * router's names. */
    const char *(*name)(struct tick *tick);
    bool bare; /* without annotations for GitOps tools */
    /* Proxies may receive a route before they know the Services that are new in it, and respond
     * with 503 until then: such backends are in the route for an interval, without a share, before
     * requests are sent to them. */
    bool introduces;
    const void *more; /* private to the variant */
};

/* Requires a port for the Services. */
const char *route_check(struct arena *arena, const struct canary *canary);
enum rule_result route_reconcile(struct tick *tick);
enum rule_result route_get(struct tick *tick, struct weights *out);
enum rule_result route_set(struct tick *tick, const struct weights *weights);
enum rule_result route_revert(struct tick *tick, bool recreate);
enum rule_result route_disown(struct tick *tick);
/* CONTINUE, for a mesh without status. */
enum rule_result route_settled(struct tick *tick, const char **why);

/* --- for the files of routers */

/* The live route in this tick. Returns false if it is not known yet. */
bool route_need(struct tick *tick, struct json_object **out);
/* The routing to keep, given the current one. If a route that should have a split (`splits`: it has
 * one) lost it while the canary serves everything, the canary gets everything back at once: the
 * primary may be broken. Missing cookies are taken from the status. */
struct weights route_kept(struct tick *tick, struct weights weights, bool splits);
/* "weights 90/10", and other parts of the routing. */
const char *route_describe(struct tick *tick, const struct weights *weights);
/* The labels and annotations of spec.service.apex, {metadata: ...}. */
struct json_object *route_metadata(struct tick *tick);
/*
 * Another object of the router besides the route: plans to create it, or to apply `wanted` (its
 * metadata and spec, or a part of them) to the live object, which is NULL if there is none.
 * managed: annotated for GitOps tools.
 */
void route_beside(struct tick *tick, const struct kube_resource *resource, const char *name,
                  struct json_object *live, struct json_object *wanted, bool managed);
/* The same for an object that outlives the Canary, as for revert(): values that were applied and
 * are no longer wanted are removed. A missing object is created without an owner if `recreate`;
 * otherwise it stays missing. */
void route_leave(struct tick *tick, const struct kube_resource *resource, const char *name,
                 struct json_object *live, struct json_object *wanted, bool recreate);
/* Releases the object, as for disown(): it no longer has an owner or any of our annotations. */
void route_let_go(struct tick *tick, const struct kube_resource *resource,
                  struct json_object *live);
/* The labels of the pods that a Service selects, now or by this plan; NULL if there is no such
 * Service. Returns false if they are not known yet. */
bool route_selector(struct tick *tick, const char *service, struct json_object **out);
/* `wanted` (an object or NULL) as a value that is ours entirely: with a null for each additional
 * key of `live`, at every depth. NULL removes the key. */
struct json_object *route_whole(struct arena *arena, struct json_object *wanted,
                                struct json_object *live);

/* A rule of a mesh with matches and cookies. */
struct route_rule {
    const char *cookie;  /* matches requests with this "NAME=VALUE" only, or NULL */
    bool matched;        /* matches requests of spec.analysis.match only */
    bool mirrored;       /* copies them to the canary */
    int primary, canary; /* as written, out of a total (weight_relative()); -1: not a backend */
    const char *primary_cookie; /* Set-Cookie in answers of each backend, NULL if none */
    const char *canary_cookie;
    bool takes_back;          /* primary_cookie deletes a cookie */
    struct json_object *live; /* the live rule that it is merged into, may be NULL */
};
enum { ROUTE_MAX_RULES = 4 };
/*
 * The wanted rules in order; a mesh uses the first that matches:
 *
 *   requests with the canary's cookie              to the canary
 *   requests with the primary's cookie             to the primary
 *   requests with the last release's cookie        to the primary, and the cookie is deleted
 *   every request, in an A/B test the matched ones split by weight; cookies are set
 *   in an A/B test all others                      to the primary
 *
 * Returns their number.
 */
int route_rules(struct tick *tick, const struct weights *weights, const struct split *live,
                struct route_rule out[ROUTE_MAX_RULES]);

#endif

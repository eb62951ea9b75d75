/*
 * A router that writes one route object: what reconcile, get, set, revert and disown have in common,
 * whatever the mesh. Its file says in a struct route where the object keeps its weights, what else
 * it reads there, and what the spec wants of it; router.h has the duties.
 *
 * A route that was there before the Canary keeps what nobody asks for. What its spec said is noted
 * in the annotation ORIGINAL_SPEC when it is first written, unless kubectl has noted it already, and
 * is put back when the Canary is deleted.
 */
#ifndef ROUTER_COMMON_ROUTE_H
#define ROUTER_COMMON_ROUTE_H

#include "router/common_split.h"

/* Flagger's name. Written once: what Flagger itself has put there may speak of -primary. */
#define ORIGINAL_SPEC "flagger.kubernetes.io/original-configuration"

struct route {
    const struct kube_resource *resource;
    const struct split_format *(*format)(const struct canary *canary);
    /* What the backends are called; NULL: as the Services. */
    struct split_sides (*sides)(struct arena *arena, const struct canary *canary);
    /* What the split says beside its weights: mirrored, mirrors_all, cookies. NULL: nothing. */
    void (*read)(struct arena *arena, const struct canary *canary, const struct split *split,
                 struct weights *out);
    /*
     * The spec's part of the route, metadata and spec, to be laid over the live one, with whose
     * rules and backends (`split`) it is paired. GO; NEED_FACTS; STOP when it has planned to.
     */
    enum verdict (*wanted)(struct tick *tick, const struct weights *weights,
                           const struct split *split, struct json_object *live,
                           struct json_object **out);
    /* The same with everything to the apex Service and nothing of an analysis. NULL: the router has
     * a revert() of its own. */
    enum verdict (*plain)(struct tick *tick, struct json_object *live, struct json_object **out);
    /* Which of several kinds of route is meant, NULL: not known yet. NULL function: this one. */
    const struct route *(*choose)(struct tick *tick);
    /* What the object is called, NULL: not known yet. NULL function: as the router's names say. */
    const char *(*name)(struct tick *tick);
    bool bare; /* GitOps tools are not told to leave it alone */
    /* Its proxies may hear of a route before they hear of the Services that it leads to for the first
     * time, and answer 503 meanwhile: these stand in it without a share for an interval, before any
     * request is led to them. */
    bool introduces;
    const void *more; /* for the file that made it */
};

/* The Services need a port. */
const char *route_check(struct arena *arena, const struct canary *canary);
enum verdict route_reconcile(struct tick *tick);
enum verdict route_get(struct tick *tick, struct weights *out);
enum verdict route_set(struct tick *tick, const struct weights *weights);
enum verdict route_revert(struct tick *tick, bool anew);
enum verdict route_disown(struct tick *tick);
/* For a mesh that says nothing: GO. */
enum verdict route_settled(struct tick *tick, const char **why);

/* --- for the files of the routers */

/* The live route of this tick. False: not known yet. */
bool route_need(struct tick *tick, struct json_object **out);
/* What is routed now, `weights`, and is to stay. A route that lost its split (`splits`: it has one)
 * while the canary serves everything gets it back at once: the primary may be broken. Cookies that
 * are missing are those of the status. */
struct weights route_kept(struct tick *tick, struct weights weights, bool splits);
/* "weights 90/10", and what else is routed. */
const char *route_describe(struct tick *tick, const struct weights *weights);
/* The labels and annotations of spec.service.apex, {metadata: ...}. */
struct json_object *route_metadata(struct tick *tick);
/*
 * Another object of the router's, beside the route: plans that it is made, or that `wanted` (its
 * metadata and spec, or a part) is laid over the live one, NULL for none. managed: GitOps tools are
 * told to leave it alone.
 */
void route_beside(struct tick *tick, const struct kube_resource *resource, const char *name,
                  struct json_object *live, struct json_object *wanted, bool managed);
/* The same of one that outlives the Canary, as revert() wants it: without what was applied and is not
 * wanted any more. One that is gone is made `anew`, without owner, or stays missing. */
void route_leave(struct tick *tick, const struct kube_resource *resource, const char *name,
                 struct json_object *live, struct json_object *wanted, bool anew);
/* Its last word, as of disown(): it has no owner any more, and none of our annotations. */
void route_let_go(struct tick *tick, const struct kube_resource *resource,
                  struct json_object *live);
/* The labels of the pods that a Service selects, as it is or as this plan makes it; NULL where there
 * is no such Service. False: not known yet. */
bool route_selector(struct tick *tick, const char *service, struct json_object **out);
/* `wanted` (an object or NULL) that is ours as a whole: with a null for each key that `live` has
 * beside it, at every depth. NULL removes the key. */
struct json_object *route_whole(struct arena *arena, struct json_object *wanted,
                                struct json_object *live);

/* A rule of a mesh that knows matches and cookies. */
struct route_rule {
    const char *cookie;         /* takes requests that carry this "NAME=VALUE" only, or NULL */
    bool matched;               /* ... that spec.analysis.match names only */
    bool mirrored;              /* copies them to the canary */
    int primary, canary;        /* weights; canary -1: is no backend of it */
    const char *primary_cookie; /* Set-Cookie of the answers of each backend, NULL: none */
    const char *canary_cookie;
    bool takes_back;          /* primary_cookie takes a cookie back */
    struct json_object *live; /* over which it is laid, may be NULL */
};
enum { ROUTE_MAX_RULES = 4 };
/*
 * The rules that are wanted, in this order, of which a mesh takes the first that holds:
 *
 *   who has the canary's cookie              to the canary
 *   who has the primary's cookie             to the primary
 *   who has the last release's cookie        to the primary, and the cookie is taken back
 *   every request, in an A/B test the matched ones     split by weight; cookies are given
 *   in an A/B test all others                to the primary
 *
 * Returns how many.
 */
int route_rules(struct tick *tick, const struct weights *weights, const struct split *live,
                struct route_rule out[ROUTE_MAX_RULES]);

#endif

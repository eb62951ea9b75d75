/*
 * HTTPRoute and GRPCRoute of the Gateway API (router/OBJECTS.md), for each version that is served.
 *
 *   common_httproute.c         what a router does beside common_route.h: check, settled
 *   common_httproute_read.c    what a live route says
 *   common_httproute_rule.c    the rules that are wanted
 *   common_httproute_match.c   ... which requests they take
 *   common_httproute_call.c    ... of a GRPCRoute: which calls
 *   common_httproute_filter.c  ... what they do to a request and its answer
 *   common_httproute_ignored.c ... and what of the spec a route has no word for
 *   common_httproute_revert.c  what is left of it when the Canary is deleted
 */
#ifndef ROUTER_COMMON_HTTPROUTE_H
#define ROUTER_COMMON_HTTPROUTE_H

#include "router/common_route.h"

enum { HTTPROUTE_MAX_MATCHES = 64 }; /* of a rule, in the API */

struct httproute_version {
    const struct kube_resource *resource;
    bool rich; /* knows timeouts and the CORS filter */
    bool
        calls; /* a GRPCRoute: a match has the method that is called in place of path, verb and query,
                 * and nothing is rewritten */
};

/* Of a router, whose route is a HTTPROUTE_ROUTE. */
const char *httproute_check(struct arena *arena, const struct canary *canary,
                            const struct httproute_version *version);
const char *httproute_ignored(struct arena *arena, const struct canary *canary,
                              const struct httproute_version *version);
enum verdict httproute_settled(struct tick *tick, const char **why);
enum verdict httproute_revert(struct tick *tick, bool anew);

/* The route of a version, and the row of a router with such a route. */
#define HTTPROUTE_ROUTE(kind, version)                                                             \
    {                                                                                              \
        .resource = (kind), .format = httproute_format, .read = httproute_read,                    \
        .wanted = httproute_wanted, .more = (version)                                              \
    }
#define HTTPROUTE_ROUTER(names, kinds, version_route, checks, ignores, cookies, family, line)      \
    {                                                                                              \
        .providers = (names), .about = (line), .resources = (kinds), .metric_family = (family),    \
        .route = (version_route), .weighted = true, .matches = true, .mirrors = true,              \
        .session_affinity = (cookies), .check = (checks), .ignored = (ignores),                    \
        .claims = httproute_claims, .reconcile = route_reconcile, .get = route_get,                \
        .settled = httproute_settled, .set = route_set, .revert = httproute_revert,                \
        .disown = route_disown                                                                     \
    }

/* Of a struct route, whose `more` is the version. */
const struct split_format *httproute_format(const struct canary *canary);
void httproute_read(struct arena *arena, const struct canary *canary, const struct split *split,
                    struct weights *out);
enum verdict httproute_wanted(struct tick *tick, const struct weights *weights,
                              const struct split *split, struct json_object *live,
                              struct json_object **out);

/* router.h's claims(): parents, hosts and matches. */
struct json_object *httproute_claims(struct arena *arena, struct json_object *route);
/* The spec's part of the route: metadata, parents and hosts, without rules. To be laid over the
 * live one. */
struct json_object *httproute_frame(struct tick *tick);
/* A reference to the Service, weight included. */
struct json_object *httproute_backend(struct tick *tick, const char *name, int weight);

/* --- between the files of this variant */

const struct httproute_version *httproute_version_of(const struct tick *tick);
/* The share of the requests that is copied, 0: all. */
#define HTTPROUTE_MIRROR_PERCENT(canary) ((canary)->analysis.mirror_weight % 100)

/* The requestMirror of a rule that copies to the canary, NULL if it does not. */
struct json_object *httproute_mirror(const struct canary *canary, struct json_object *rule);
/* To be laid over the rules of the live route, with which they are paired. */
struct json_object *httproute_wanted_rules(struct tick *tick,
                                           const struct httproute_version *version,
                                           const struct weights *weights, const struct split *live);

/* NULL in *why, or what cannot be expressed. */
struct json_object *httproute_matches(struct arena *arena, const struct canary_service *service,
                                      const struct httproute_version *version, const char **why);
/* Those of spec.analysis.match, each joined with each of the service's. */
struct json_object *httproute_test_matches(struct arena *arena, const struct canary *canary,
                                           const struct httproute_version *version,
                                           const char **why);
/* Requests that carry the cookie "NAME=VALUE". */
struct json_object *httproute_cookie_matches(struct arena *arena,
                                             const struct canary_service *service,
                                             const struct httproute_version *version,
                                             const char *cookie);
/* The method that calls of this element of spec.service.match have, at the path `at` of the spec;
 * NULL where all have. *why is set to what a GRPCRoute has no word for. */
struct json_object *httproute_call(struct arena *arena, struct json_object *given, const char *at,
                                   const char **why);
/* NULL when there are none. */
struct json_object *httproute_filters(struct arena *arena, const struct canary_service *service,
                                      const struct httproute_version *version);
struct json_object *httproute_timeouts(struct arena *arena, const struct canary_service *service);

#endif

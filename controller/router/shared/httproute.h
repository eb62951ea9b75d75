/*
 * The rules of an HTTPRoute or a GRPCRoute of the Gateway API for given weights: matches, filters
 * and backends.
 */
#ifndef ROUTER_SHARED_HTTPROUTE_H
#define ROUTER_SHARED_HTTPROUTE_H

#include "router/shared/route.h"

enum { HTTPROUTE_MAX_MATCHES = 64 }; /* per rule, limit of the API */

struct httproute_version {
    const struct kube_resource *resource;
    bool rich; /* has timeouts and the CORS filter */
    /* A GRPCRoute: a match has the called method instead of path, verb and query, and nothing is
     * rewritten. */
    bool calls;
};

/* router.h's claims(): parents, hosts and matches. */
struct json_object *httproute_claims(struct arena *arena, struct json_object *route);
/* A reference to the Service, with its weight. */
struct json_object *httproute_backend(struct tick *tick, const char *name, int weight);

/* The percentage of requests to copy, 0 for all. */
#define HTTPROUTE_MIRROR_PERCENT(canary) ((canary)->analysis.mirror_weight % 100)

/* The requestMirror filter of a rule that copies requests to the canary, NULL if there is none. */
struct json_object *httproute_mirror(const struct canary *canary, struct json_object *rule);
/* An overlay for the rules of the live route, with which they are paired. */
struct json_object *httproute_wanted_rules(struct tick *tick,
                                           const struct httproute_version *version,
                                           const struct weights *weights, const struct split *live);

/* *why is NULL, or names the part that cannot be expressed. */
struct json_object *httproute_matches(struct arena *arena, const struct canary_service *service,
                                      const struct httproute_version *version, const char **why);
/* Matches of spec.analysis.match, each combined with each match of the service. */
struct json_object *httproute_test_matches(struct arena *arena, const struct canary *canary,
                                           const struct httproute_version *version,
                                           const char **why);
/* NULL if there are none. */
struct json_object *httproute_filters(struct arena *arena, const struct canary_service *service,
                                      const struct httproute_version *version);
struct json_object *httproute_timeouts(struct arena *arena, const struct canary_service *service);

#endif

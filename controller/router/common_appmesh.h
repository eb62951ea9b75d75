/*
 * AWS App Mesh (router/OBJECTS.md). Its two API versions say the same in different words:
 *
 *   appmesh_v1beta2.c   the route is a VirtualRouter; who calls finds it by a VirtualService
 *   appmesh.c           v1beta1: the VirtualService has the routes
 *   common_appmesh.c    virtual nodes and routes of both
 */
#ifndef ROUTER_COMMON_APPMESH_H
#define ROUTER_COMMON_APPMESH_H

#include "router/common_route.h"

/* The words of a version. */
struct appmesh {
    const struct split_format *format;
    const char *route;    /* key of a route for HTTP */
    const char *hostname; /* ... of a node's name in the DNS */
    /* Writes the node into a weighted target; a called service into a backend; the retries of
     * spec.service into a route. */
    void (*target)(struct json_object *target, const char *node);
    void (*backend)(struct json_object *backend, const char *service);
    void (*retries)(struct json_object *policy, int64_t timeout_ms, int64_t attempts);
    bool times_out; /* a route may have a timeout */
};

/* NULL, or what of a spec is a mistake. */
const char *appmesh_check(struct arena *arena, const struct canary *canary);
const char *appmesh_ignored(struct arena *arena, const struct canary *canary);

/* [{portMapping}] */
struct json_object *appmesh_listeners(struct tick *tick, int64_t port);
/* {unit: ms, value}, or NULL without spec.service.timeout. */
struct json_object *appmesh_timeout(struct tick *tick);
/*
 * The node of a side: metadata, listeners, name in the DNS, called services, access log. Of one
 * listener, which the caller may edit.
 */
struct json_object *appmesh_node(struct tick *tick, const struct appmesh *words, int64_t port,
                                 const char *hostname);
/* Routes as `weights` want them, of which those of an A/B test are called NAME-a and NAME-b; weights
 * NULL: everything to the node `plain`. */
struct json_object *appmesh_routes(struct tick *tick, const struct appmesh *words, const char *name,
                                   const struct weights *weights, const struct split *split,
                                   const char *plain);
/* What the ingress gateway is to do with this VirtualService, as its annotations. */
void appmesh_gateway(struct tick *tick, struct json_object *wanted);

#endif

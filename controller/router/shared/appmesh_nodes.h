/*
 * AWS App Mesh (router/OBJECTS.md). Two API versions with the same content in different formats:
 *
 *   appmesh_v1beta2.c       the route is a VirtualRouter; clients call its VirtualService
 *   appmesh.c               v1beta1: the VirtualService has the routes
 *   shared/appmesh_nodes.c  virtual nodes and routes of both
 */
#ifndef ROUTER_SHARED_APPMESH_NODES_H
#define ROUTER_SHARED_APPMESH_NODES_H

#include "router/shared/route.h"

/* The format of a version. */
struct appmesh {
    const struct split_format *format;
    const char *route;    /* key of a route for HTTP */
    const char *hostname; /* key of a node's DNS name */
    /* Writes the node into a weighted target; a called service into a backend; the retries of
     * spec.service into a route. */
    void (*target)(struct json_object *target, const char *node);
    void (*backend)(struct json_object *backend, const char *service);
    void (*retries)(struct json_object *policy, int64_t timeout_ms, int64_t attempts);
    bool times_out; /* routes support a timeout */
};

/* NULL, or the mistake in a spec. */
const char *appmesh_check(struct arena *arena, const struct canary *canary);
const char *appmesh_ignored(struct arena *arena, const struct canary *canary);

/* [{portMapping}] */
struct json_object *appmesh_listeners(struct tick *tick, int64_t port);
/* {unit: ms, value}, or NULL without spec.service.timeout. */
struct json_object *appmesh_timeout(struct tick *tick);
/*
 * The node of a side: metadata, listeners, DNS name, called services, access log. The listener
 * given may be edited by the caller.
 */
struct json_object *appmesh_node(struct tick *tick, const struct appmesh *words, int64_t port,
                                 const char *hostname);
/* Routes for `weights`; those of an A/B test are named NAME-a and NAME-b. weights NULL: everything
 * to the node `plain`. */
struct json_object *appmesh_routes(struct tick *tick, const struct appmesh *words, const char *name,
                                   const struct weights *weights, const struct split *split,
                                   const char *plain);
/* Sets the annotations for the ingress gateway of this VirtualService. */
void appmesh_gateway(struct tick *tick, struct json_object *wanted);

#endif

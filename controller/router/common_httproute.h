/* HTTPRoute of the Gateway API (contract/objects.md §3.11), for each version that is served. */
#ifndef ROUTER_COMMON_HTTPROUTE_H
#define ROUTER_COMMON_HTTPROUTE_H

#include "router/router.h"

struct httproute_version {
    const struct kube_resource *resource;
    bool rich; /* knows timeouts and the CORS filter */
};

const char *httproute_check(struct arena *arena, const struct canary *canary);
enum verdict httproute_reconcile(struct tick *tick, const struct httproute_version *version);
enum verdict httproute_get(struct tick *tick, const struct httproute_version *version,
                           struct weights *out);
enum verdict httproute_settled(struct tick *tick, const struct httproute_version *version);
enum verdict httproute_set(struct tick *tick, const struct httproute_version *version,
                           const struct weights *weights);
/* In common_httproute_revert.c. */
enum verdict httproute_revert(struct tick *tick, const struct httproute_version *version,
                              bool anew);
enum verdict httproute_disown(struct tick *tick, const struct httproute_version *version);

/* The spec's part of the route: metadata, parents and hosts, without rules. To be laid over the
 * live one. */
struct json_object *httproute_frame(struct tick *tick);
/* A reference to the Service, weight included. */
struct json_object *httproute_backend(struct tick *tick, const char *name, int weight);

/* The rule's parts that the spec gives, in common_httproute_rule.c. NULL in *why, or what cannot be
 * expressed. */
struct json_object *httproute_matches(struct arena *arena, const struct canary_service *service,
                                      const char **why);
struct json_object *httproute_filters(struct arena *arena, const struct canary_service *service,
                                      bool rich);
struct json_object *httproute_timeouts(struct arena *arena, const struct canary_service *service);

#endif

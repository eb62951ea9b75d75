/* A kube_request as it goes over the wire. Pure: everything made lives in the arena. */
#ifndef KUBE_REQUEST_H
#define KUBE_REQUEST_H

#include "kube/client.h"

struct request_wire {
    const char *method;
    const char *url;
    const char *label;           /* "PATCH deployments/status test/podinfo", for people */
    const char *verb, *resource; /* for /metrics: "PATCH", "deployments/status"; "" of a raw path */
    const char *accept;
    const char *content_type; /* NULL without a body */
    const char *body;
    size_t body_len;
};

/* ERR_INVALID: a name is missing, or would change the path. The label is filled in any case. */
enum err request_build(struct arena *arena, const char *server, const struct kube_request *request,
                       struct request_wire *out, struct errinfo *ei) MUST_USE;
/* The same in each version of the resource (kube_resource.also), its own first: what is asked of is
 * borrowed only for this call. *count is at least 1. */
enum err request_build_all(struct arena *arena, const char *server,
                           const struct kube_request *request, struct request_wire **out,
                           int *count, struct errinfo *ei) MUST_USE;

#endif

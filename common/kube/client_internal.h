/* Private to common/kube and its tests. */
#ifndef KUBE_CLIENT_INTERNAL_H
#define KUBE_CLIENT_INTERNAL_H

#include "kube/client.h"

/* Limits how many watches of a client list at once; see watch.c. */
struct list_limiter {
    int listing;
    struct watch *first, *last;
};

struct list_limiter *kube_client_list_limiter(struct kube_client *client);

/* Opens when many requests in a row got no answer for some seconds; any answer closes it, errors
 * too. Pure. */
struct circuit_breaker {
    int failures;     /* in a row */
    int64_t since_ms; /* the first of them */
    bool open;
};

/* Records a request at a monotonic time. Returns true if the breaker has opened or closed. */
bool circuit_breaker_record(struct circuit_breaker *breaker, bool answered, int64_t now_ms);
bool circuit_breaker_is_answer(int status);

/* request.c: the HTTP request of a kube_request. Pure: results live in the arena. */
struct request_wire {
    const char *method;
    const char *url;
    const char *label;           /* "PATCH deployments/status test/podinfo", for messages */
    const char *verb, *resource; /* for /metrics: "PATCH", "deployments/status"; "" for a raw
                                  * path */
    const char *accept;
    const char *content_type; /* NULL without a body */
    const char *body;
    size_t body_len;
};

/* ERR_INVALID if a name is missing, or would change the path. Sets the label in any case. */
enum err request_build(struct arena *arena, const char *server, const struct kube_request *request,
                       struct request_wire *out, struct errinfo *ei) MUST_USE;
/* Builds it in each version of the resource (kube_resource.also), its own first. The resource is
 * borrowed only for this call. *count is at least 1. */
enum err request_build_all(struct arena *arena, const char *server,
                           const struct kube_request *request, struct request_wire **out,
                           int *count, struct errinfo *ei) MUST_USE;

#endif

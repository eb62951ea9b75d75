/*
 * One question to a metric server: its request, the redirects that are the answer to it, and what
 * the last answer means. At most 10 redirects are followed, as in Flagger. To another host, and
 * from https to http, they take no header of the question with them: a credential is meant for
 * one host.
 */
#ifndef ENGINE_METRICS_METRIC_CALL_H
#define ENGINE_METRICS_METRIC_CALL_H

#include "engine/metrics/metric_kept.h"
#include "kube/client.h"
#include "net/client.h"
#include "tick/tick.h"

/* How metric servers are reached. */
struct metric_ways {
    struct loop *loop;
    struct http_client *http;
    const char *
        own_address; /* of --metrics-server, which --tenant-addresses does not bound; may be NULL */
    struct kube_client *kube; /* for what the API server knows */
    struct metric_kept *kept; /* NULL: nothing is kept */
    /* Asked before the API server is to write something; NULL: it always may. */
    bool (*may_write)(void *arg);
    void *may_write_arg;
};

struct metric_call;
/* answer->text lives in the arena of the call. Exactly once, never before metric_call_start() has
 * returned, not after metric_call_free(). */
typedef void (*metric_done_fn)(void *arg, const struct metric_answer *answer);

/* NULL: nothing can be sent, and *at_once says why. arena and question must live until the call has
 * ended or is freed. */
struct metric_call *metric_call_start(const struct metric_ways *ways, struct arena *arena,
                                      const struct metric_question *question, int64_t now_ms,
                                      metric_done_fn done, void *arg,
                                      struct metric_answer *at_once);
void metric_call_free(struct metric_call *call); /* NULL is allowed */

#endif

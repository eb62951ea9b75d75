/*
 * One query to a metric server: its request, redirects, and the meaning of the final answer. At
 * most 10 redirects are followed, as in Flagger. A redirect to another host, or from https to
 * http, carries no headers of the query: a credential is meant for one host.
 */
#ifndef ENGINE_METRIC_CALL_H
#define ENGINE_METRIC_CALL_H

#include "kube/kube_client.h"
#include "net/client.h"
#include "tick/need.h"
#include "tick/tick.h"

/* Connections to metric servers. */
struct metric_ways {
    struct loop *loop;
    struct http_client *http;
    /* Of --metrics-server, which --tenant-addresses does not restrict; may be NULL. */
    const char *own_address;
    struct kube_client *kube; /* for metrics of the API server */
    struct metric_kept *kept; /* NULL disables the cache */
    /* Called before a write to the API server; NULL: always allowed. */
    bool (*may_write)(void *arg);
    void *may_write_arg;
};

struct metric_call;
/*
 * answer->text lives in the arena of the call. Called exactly once, never before
 * metric_call_start() has returned, never after metric_call_free().
 */
typedef void (*metric_done_fn)(void *arg, const struct metric_answer *answer);

/*
 * NULL if nothing can be sent; *at_once says why. arena and question must live until the call has
 * ended or is freed.
 */
struct metric_call *metric_call_start(const struct metric_ways *ways, struct arena *arena,
                                      const struct metric_question *question, int64_t now_ms,
                                      metric_done_fn done, void *arg,
                                      struct metric_answer *at_once);
void metric_call_free(struct metric_call *call); /* NULL is allowed */

/*
 * Credentials issued to a metric backend (an OAuth token, the keys of a role), cached until
 * shortly before they expire: issuing them takes up to three requests.
 */

struct metric_kept;
struct metric_kept *metric_kept_new(void);
void metric_kept_free(struct metric_kept *kept); /* NULL is allowed */

/* A reply, and the URL that it came from. */
struct metric_kept_reply {
    const char *url, *body;
};

#endif

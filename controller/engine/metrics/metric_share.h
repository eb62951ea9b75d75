/*
 * Shared queries to metric servers: a query equal to one sent less than a tenth of the interval
 * ago (same server, text and credentials) shares its answer, as do equal queries while one is
 * under way. An answer is always newer than the step that it judges. A server that sends Retry-
 * After is not queried until then.
 *
 * With groups, a built-in Prometheus query is sent once for all workloads of its family that are
 * due within that tenth (metric/family.h). If the group query fails, each is sent by itself.
 */
#ifndef ENGINE_METRIC_SHARE_H
#define ENGINE_METRIC_SHARE_H

#include "kube/kube_client.h"
#include "net/client.h"
#include "tick/need.h"
#include "tick/tick.h"

/*
 * --- metric_call.c: one query to a metric server: its request, redirects, and the meaning of the
 * final answer. At most 10 redirects are followed, as in Flagger. A redirect to another host, or
 * from https to http, carries no headers of the query: a credential is meant for one host.
 */

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

/* --- shared queries */

struct metric_share;
struct metric_share *metric_share_new(const struct metric_ways *ways);
void metric_share_free(struct metric_share *share); /* no waiter may be left */

/*
 * Like metric_call_start(). interval_ms: how often the Canary asks. The question and the arena
 * must live until `done` or metric_wait_free().
 */
struct metric_wait;
struct metric_wait *metric_share_ask(struct metric_share *share, struct arena *arena,
                                     const struct metric_question *question, int64_t now_ms,
                                     int64_t interval_ms, metric_done_fn done, void *arg,
                                     struct metric_answer *at_once);
void metric_wait_free(struct metric_wait *wait); /* NULL is allowed */

/*
 * Built-in queries for many workloads at once: workloads that are queried repeatedly are
 * remembered, and one query covers all that are due soon. The caller knows which of them have an
 * answer already.
 */

struct metric_groups;
/* The answer for one member, by the key that the caller gave. */
typedef void (*metric_member_fn)(void *arg, const char *key, const struct metric_answer *answer);
/* A member is due: returns false if it need not be queried. keep_ms: how long its answer is valid.
 */
typedef bool (*metric_due_fn)(void *arg, const char *key, int64_t keep_ms);

#endif

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

#include "engine/metrics/metric_call.h"

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

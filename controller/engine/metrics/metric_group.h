/*
 * Built-in queries for many workloads at once: who asks such a question again and again is
 * remembered, and a query is for all of them that are due soon. Which of them know an answer already
 * is the caller's business (engine/metrics/metric_share.h).
 */
#ifndef ENGINE_METRICS_METRIC_GROUP_H
#define ENGINE_METRICS_METRIC_GROUP_H

#include "engine/metrics/metric_call.h"

struct metric_groups;
/* The answer of one that was asked for, by the key that the caller gave it. */
typedef void (*metric_member_fn)(void *arg, const char *key, const struct metric_answer *answer);
/* One is due: false when it need not be asked for. keep_ms: how long its answer is good. */
typedef bool (*metric_due_fn)(void *arg, const char *key, int64_t keep_ms);

struct metric_groups *metric_groups_new(const struct metric_ways *ways, metric_member_fn answered,
                                        metric_due_fn due, void *arg);
void metric_groups_free(struct metric_groups *groups);

/*
 * Asks for the workload of the question, and for those that are due within ahead_ms. `answered` is
 * called once for each of them, never before this has returned. False: it is to be asked by itself.
 */
bool metric_groups_ask(struct metric_groups *groups, const struct metric_question *question,
                       const char *key, int64_t now_ms, int64_t interval_ms,
                       int64_t ahead_ms) MUST_USE;

#endif

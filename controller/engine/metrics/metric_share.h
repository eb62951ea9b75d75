/*
 * Questions to metric servers that are asked once for many: what one Canary asks within a tenth of
 * its interval after another has asked just the same (server, query, credentials) gets that answer,
 * and so gets who asks in the meantime. An answer is then always of after the step that it judges.
 * What a server does not want to be asked again for a while (Retry-After) is not asked so long.
 *
 * With groups, a built-in query of Prometheus is asked for all workloads of its family at once that
 * are due within that tenth (metric/family.h). Where such a query fails, each asks by itself.
 */
#ifndef ENGINE_METRICS_METRIC_SHARE_H
#define ENGINE_METRICS_METRIC_SHARE_H

#include "engine/metrics/metric_call.h"

struct metric_share;
struct metric_share *metric_share_new(const struct metric_ways *ways);
void metric_share_free(struct metric_share *share); /* nobody waits any more */

/*
 * As metric_call_start(). interval_ms: how often the Canary asks. The question and the arena must
 * live until `done` or metric_wait_free().
 */
struct metric_wait;
struct metric_wait *metric_share_ask(struct metric_share *share, struct arena *arena,
                                     const struct metric_question *question, int64_t now_ms,
                                     int64_t interval_ms, metric_done_fn done, void *arg,
                                     struct metric_answer *at_once);
void metric_wait_free(struct metric_wait *wait); /* NULL is allowed */

#endif

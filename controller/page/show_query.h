/* What the metrics of a Canary ask, and where a person can ask the same. */
#ifndef PAGE_SHOW_QUERY_H
#define PAGE_SHOW_QUERY_H

#include "proto/canary.h"
#include "tick/tick.h"

/*
 * [{name, query, link}], a metric each. query and link (to the graph of Prometheus) only of those
 * that Prometheus is asked for by their name or their own query; what a MetricTemplate asks stands
 * there. Owned by the arena.
 */
struct json_object *show_queries(struct arena *arena, const struct settings *settings,
                                 const struct canary *canary);

#endif

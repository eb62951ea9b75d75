/* What a MetricTemplate and its Secrets say about whom to ask, and how. */
#ifndef DECIDE_METRICS_TEMPLATE_H
#define DECIDE_METRICS_TEMPLATE_H

#include "decide/release/release.h"

/* The namespace of the metric's template. */
const char *metrics_template_namespace(const struct release *r, const struct canary_metric *metric);
/* Fills the question of this metric but for the query. STOP: *why says what is missing. */
enum verdict metrics_template_question(struct release *r, int index, struct metric_question *out,
                                       struct json_object **template, const char **why);
/* With what queries are rendered: one budget for all of this round. */
const struct template_means *metrics_means(const struct release *r);

#endif

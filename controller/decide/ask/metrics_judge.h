/* Whether a value of a metric is within its bounds. */
#ifndef DECIDE_METRICS_JUDGE_H
#define DECIDE_METRICS_JUDGE_H

#include "decide/release/release.h"

/* Whom one metric of the spec asks; it may name several. */
enum metric_source { SOURCE_SUCCESS_RATE, SOURCE_DURATION, SOURCE_QUERY, SOURCE_TEMPLATE };
/* STOP: the value is out of bounds, which was told. A duration is in ms. */
enum verdict metrics_judge(struct release *r, const struct canary_metric *metric,
                           enum metric_source source, double value);

#endif

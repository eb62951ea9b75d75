/* What one metric of the spec asks, whether its value is within its bounds, and how both are told. */
#ifndef DECIDE_METRICS_JUDGE_H
#define DECIDE_METRICS_JUDGE_H

#include "decide/release/release.h"

/* Whom one metric of the spec asks; it may name several. */
enum metric_source { SOURCE_SUCCESS_RATE, SOURCE_DURATION, SOURCE_QUERY, SOURCE_TEMPLATE };
struct metric_check {
    const struct canary_metric *metric;
    enum metric_source source;
    struct metric_question question;
    const struct metric_answer *answer; /* NULL: none was asked for */
};
/* The interval that its query is made with: 1m where a metric that is not a template has none; "". */
const char *metrics_interval(const struct metric_check *check);
/* " (NaN; errors over 1m, expected at most 1, from prometheus at http://p:9090)": what a sentence
 * about it says in the end, whatever its beginning. */
const char *metrics_about(struct release *r, const struct metric_check *check);
/* The gauges of a value, and of its bounds. A duration is in ms. */
void metrics_show(struct release *r, const struct metric_check *check, double value);
/* A duration is in ms. The question and the answer of the check are not looked at. */
bool metrics_within(const struct metric_check *check, double value);
/* STOP: the value is out of bounds, which was told. A duration is in ms. */
enum verdict metrics_judge(struct release *r, const struct metric_check *check, double value);

#endif

/* The metrics of an analysis. */
#ifndef DECIDE_METRICS_H
#define DECIDE_METRICS_H

#include "decide/release.h"

/*
 * Probes the metric servers before a release, and checks the metrics of a step: DONE if a check
 * failed and was reported. CONTINUE with r->held: none failed, but some could not be queried.
 */
enum rule_result metrics_probe(struct release *r);
enum rule_result metrics_check(struct release *r);
/*
 * Sets a sentence if a MetricTemplate refers to something missing, or the judge to a metric that
 * cannot be counted.
 */
enum rule_result metrics_refusal(struct release *r, const char **sentence);

/* The query of one metric, its bounds, and the messages about both. */

/* The sources of one metric of the spec; it may have several. */
enum metric_source {
    SOURCE_SUCCESS_RATE,
    SOURCE_DURATION,
    SOURCE_QUERY,
    SOURCE_TEMPLATE,
    SOURCE_LOAD_TEST
};
struct metric_check {
    const struct canary_metric *metric;
    enum metric_source source;
    struct metric_question question;
    const struct metric_answer *answer; /* NULL if none was requested */
    const char *native; /* of a built-in metric: the query of its native histogram; NULL: none */
};
/* For a duration, value is in ms. Question and answer of the check are not used. */
bool metrics_within(const struct metric_check *check, double value);

/* The canary's own requests, checked before its promotion. */

#endif

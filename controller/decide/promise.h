/*
 * The smallest regression that a judged release detects, and the number of requests and minutes
 * that it needs: the power of its policy (judge/power.h) under the traffic that it will have, in
 * the words of `kubectl canary plan` and of the release page. Pure.
 */
#ifndef DECIDE_PROMISE_H
#define DECIDE_PROMISE_H

#include "judge/power.h"
#include "proto/canary.h"

struct traffic {
    double per_second; /* requests of both sides together; 0 if unknown */
    double bad;        /* share of requests that the primary answers badly, 0 to 1 */
    double clump;      /* number of bad requests that come together; 1: each comes alone */
};

/* The parts of a release in which the canary has requests besides the primary. */
struct stretches {
    struct power_stretch *list;
    int n;
};

/* The promise for one judged metric. */
struct promise {
    struct promise *next;
    const char *metric;
    const char *bad;        /* the fault of a bad request: "fail" */
    struct traffic traffic; /* per_second 0: it is unknown, and the rest is empty */
    double least; /* share of bad requests that is detected in 9 of 10 releases; NAN if none is */
    struct power_found found; /* for a canary with that share, and for one that always fails */
};

/*
 * What was counted in a release, whose first sample began begin_s before the zero of their times.
 * per_second is 0 if it counted none. before: what was known of the primary; NULL if nothing.
 */
struct traffic traffic_of_samples(const struct judge_sample *samples, int n, int64_t begin_s,
                                  struct json_object *before);
/* With the shares of the requests in these samples; at most `most` stretches. */
struct stretches stretches_of_samples(struct arena *arena, const struct judge_sample *samples,
                                      int n, int64_t begin_s, int most);

/* Number of the metrics that share the rate of false alarms. A template counts if the policy says
 * that it is judged. */
int promise_metrics(const struct canary_analysis *analysis);
/* True if the metric is judged by counts, so that there is a promise. */
bool promise_is_made(const struct canary_analysis *analysis, const struct canary_metric *metric);
/* One without its results. */
struct promise *promise_new(struct arena *arena, const struct canary_metric *metric,
                            const struct traffic *traffic);
/*
 * The search for the results: power_search_least() and power_search_found() are those of the
 * promise. The traffic must be known. The caller frees it.
 */
struct power_search *promise_search(const struct canary_analysis *analysis,
                                    const struct canary_metric *metric,
                                    const struct stretches *stretches,
                                    const struct traffic *traffic);

/*
 *     request-success-rate: with 50 requests a second of which 0.5% fail, a canary of which 2.1%
 *     fail is rolled back in 9 of 10 releases, in half of them within 2m10s and 320 requests to it,
 *     in 9 of 10 within 4m0s and 800
 */
const char *promise_sentence(struct arena *arena, const struct promise *promise);

#endif

/*
 * How small a regression a judged release finds, and after how many requests and minutes: the power
 * of its policy (judge/power.h) under the traffic that it will have. Pure.
 */
#ifndef BACKTEST_PROMISE_H
#define BACKTEST_PROMISE_H

#include "ctl/backtest/replay.h"
#include "ctl/simulate/simulate.h"
#include "judge/power.h"

struct traffic {
    double per_second; /* requests of both sides together; 0: unknown */
    double bad;        /* share of them that the primary answers badly, 0 to 1 */
    double clump;      /* bad requests that come together; 1: each alone */
};

/* The promise about a judged metric. */
struct promise {
    struct promise *next;
    const char *metric;
    const char *bad;        /* what a bad request did, "fail" */
    struct traffic traffic; /* per_second 0: nothing is known of it, and the rest is empty */
    double least; /* share of bad requests that is found in nine of ten releases; NAN if none is */
    struct power_found found; /* of a canary with that share, or of one that fails always */
};

/* The traffic that the metric has counted in a past release; per_second 0 if it has not. */
struct traffic traffic_of(const struct past *past, const char *metric);

/* The parts of a release in which the canary has requests beside the primary. */
struct stretches {
    struct power_stretch *list;
    int n;
};
struct stretches stretches_of_plan(struct arena *arena, const struct canary_analysis *analysis,
                                   const struct simulation *plan);
/* As the requests were shared in a past release. */
struct stretches stretches_of_past(struct arena *arena, const struct past *past);

/*
 * One for each metric that the judge compares by counts, in their order; NULL if there is none, or without
 * stretches. `given`, or with per_second 0 the traffic of `past`, which may be NULL.
 */
const struct promise *promises_of(struct arena *arena, const struct canary_analysis *analysis,
                                  const struct stretches *stretches, const struct traffic *given,
                                  const struct past *past);

/*
 *     request-success-rate: with 50 requests a second of which 0.5% fail, a canary of which 2.1%
 *     fail is rolled back in 9 of 10 releases, in half of them within 2m10s and 320 requests to it,
 *     in 9 of 10 within 4m0s and 800
 */
const char *promise_sentence(struct arena *arena, const struct promise *promise);

#endif

/*
 * The smallest regression that a judged release detects, and the number of requests and minutes
 * that it needs: the power of its policy (judge/power.h) under the traffic that it will have. Pure.
 */
#ifndef BACKTEST_PROMISE_H
#define BACKTEST_PROMISE_H

#include "ctl/backtest/replay.h"
#include "ctl/simulate/simulate.h"
#include "judge/power.h"

struct traffic {
    double per_second; /* requests of both sides together; 0 if unknown */
    double bad;        /* share of requests that the primary answers badly, 0 to 1 */
    double clump;      /* number of bad requests that come together; 1: each comes alone */
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

/* The traffic that the metric counted in a past release; per_second is 0 if it counted none. */
struct traffic traffic_of(const struct past *past, const char *metric);

/* The parts of a release in which the canary has requests besides the primary. */
struct stretches {
    struct power_stretch *list;
    int n;
};
struct stretches stretches_of_plan(struct arena *arena, const struct canary_analysis *analysis,
                                   const struct simulation *plan);
/* With the shares of the requests in a past release; none without one. */
struct stretches stretches_of_past(struct arena *arena, const struct past *past);

/*
 * One for each metric that the judge compares by counts, in their order; NULL if there is none, or
 * if there are no stretches. `given` is the traffic or, if its per_second is 0, the traffic of
 * `past` is used, which may be NULL.
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

/* --- a judge for a Canary, from its past releases */

/* Tolerances under which no promoted release would have been rolled back, as small as that
 * allows. */
struct proposal {
    const char *text; /* YAML, for use in spec.analysis */
    /* Number of promoted and of failed releases, and how many of each it would have rolled back. */
    int promoted, failed, promoted_back, failed_back;
    const struct promise *promises; /* based on the traffic of the last release */
};

/*
 * ERR_NOT_FOUND: no release has counts of request-success-rate or request-duration. ERR_INVALID:
 * the releases belong to several Canaries. In both cases the message is one sentence.
 */
enum err propose(struct arena *arena, const struct pasts *pasts, struct proposal *out,
                 struct errinfo *ei) MUST_USE;

#endif

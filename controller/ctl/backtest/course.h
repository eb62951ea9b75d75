/*
 * The promises (decide/promise.h) of the course of a planned release, and of a proposed judge, with
 * the traffic of a past release or of an option. Pure.
 */
#ifndef BACKTEST_COURSE_H
#define BACKTEST_COURSE_H

#include "ctl/backtest/replay.h"
#include "ctl/simulate/simulate.h"
#include "decide/promise.h"

/* The traffic that the metric counted in a past release; per_second is 0 if it counted none. */
struct traffic traffic_of(const struct past *past, const char *metric);

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

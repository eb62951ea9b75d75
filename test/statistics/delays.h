/* The latency of canary and primary in worlds, and what the judge of histograms says of it. */
#ifndef JUDGE_DELAYS_H
#define JUDGE_DELAYS_H

#include <stdbool.h>

#include "judge/dice.h"
#include "judge/latency.h"
#include "test/statistics/lies.h"

struct delay_world {
    const char *name;
    double per_second;
    double shift;    /* all requests of the canary take longer by this part */
    double tail;     /* those beyond p90 more and more, so that p99 is longer by this part */
    double clump;    /* so many requests take equally long; 0: each by itself */
    double drift;    /* both take that many times as long in the end; 0: no drift */
    double tolerate; /* the shift that is tolerated */
    bool fine;       /* bounds as of a native histogram, a twelfth of a doubling apart */
    /* Native histograms, with eight bounds for each doubling, of which only those of buckets with
     * requests are known; halved: the canary's have four; falls: the primary's do in the second half.
     */
    bool native, halved, falls;
    bool bad; /* it is to be found */
    bool few; /* a broken judge shows here */
};

extern const struct delay_world delay_worlds[];
extern const int delay_worlds_count;

struct delay_outcome {
    bool worse;
    double requests, seconds; /* of the canary until then */
};

/* Ten minutes, in which the canary's weight grows to a half. lie: LIE_NONE, or a judge that is
 * broken like that. */
struct delay_outcome delay_release(const struct delay_world *world, double rate, enum lie lie,
                                   struct dice *dice);

#endif

/* One release under the judge, under a judge by ranks, or under a threshold: was it rolled back, and who met the canary? */
#ifndef JUDGE_RELEASE_H
#define JUDGE_RELEASE_H

#include <stdbool.h>

#include "test/statistics/lies.h"
#include "test/statistics/world.h"

struct judging {
    struct judge_policy policy; /* of one metric: the share is set */
    int metrics;
    int before; /* looks at the primary alone */
    enum lie lie;
};

struct outcome {
    bool worse;     /* it was rolled back */
    bool not_worse; /* some metric was ever called not worse */
    double requests, seconds;
};

struct outcome release_judged(const struct scene *scene, const struct judging *judging,
                              struct dice *dice);
/* By ranks of all looks so far, at the end of each step: the first alarm is the end. */
struct outcome release_ranked(const struct scene *scene, struct dice *dice);
/* At most 1 % of a minute's requests may be bad, and at the fifth check that fails it is over. */
struct outcome release_checked(const struct scene *scene, struct dice *dice);

#endif

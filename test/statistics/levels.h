/* A number of canary and primary (memory, a queue) in worlds, and what the judge of numbers says of it. */
#ifndef JUDGE_LEVELS_H
#define JUDGE_LEVELS_H

#include <stdbool.h>

#include "judge/dice.h"
#include "judge/numbers.h"
#include "test/statistics/lies.h"

/* LEVELS_LOOKS: of a release, an hour; LEVELS_BEFORE: windows of the primary before it. */
enum { LEVELS_SECONDS = 10, LEVELS_LOOKS = 360, LEVELS_BEFORE = 180 };

struct level_world {
    const char *name;
    double level, noise; /* noise: a standard deviation, of each side alone */
    double memory;       /* the noise is this times the one before, and the rest new */
    double drift;        /* of both, in a minute */
    double day;          /* both go up and down by this part of themselves */
    double outliers;     /* chance of a look of a side with five times the value */
    bool counted;        /* the value is how many come by chance, with that mean */
    double more;         /* the canary's is more by this part */
    double start, fades; /* and by this part at its start, which fades in so many seconds */
    double grows, from;  /* and by so much each minute, from this minute on */
    struct judge_tolerance tolerate;
    bool lower;   /* lower is worse */
    bool unknown; /* nothing is known of the primary before */
    bool bad;     /* it is to be found */
    bool few;     /* a broken judge shows here */
};

extern const struct level_world level_worlds[];
extern const int level_worlds_count;

struct level_outcome {
    bool worse;
    int looks; /* of the release until then */
};

/* lie: LIE_NONE, or a judge that is broken like that. */
struct level_outcome level_release(const struct level_world *world, double rate, enum lie lie,
                                   struct dice *dice);

#endif

/* A number of one side in worlds of days (a queue, failures), and what the judge of the past says
 * of the release of today. */
#ifndef JUDGE_DAYS_H
#define JUDGE_DAYS_H

#include <stdbool.h>

#include "judge/dice.h"
#include "judge/past.h"

/* DAYS_LOOKS: of a release, 2 h 50 min. */
enum { DAYS_SECONDS = 10, DAYS_LOOKS = 1024 };

/* How the judge of a table is broken, to see that the table finds it. */
enum day_lie {
    DAY_LIE_NONE,
    DAY_LIE_MEAN, /* compares today with the error of the days' mean, as if it were no day itself */
    DAY_LIE_EACH, /* gives the whole rate to each comparison */
    DAY_LIE_NORMAL, /* takes the deviation of seven days for that of all days */
};

struct day_world {
    const char *name;
    double level, noise; /* noise: standard deviation of a look, a part of the level */
    double memory;       /* of a look: the noise is this times the one before, and the rest new */
    double days;         /* standard deviation of a whole day, a part of the level */
    double far;          /* degrees of freedom of that; 0: normal */
    bool skewed;         /* days are the logarithm of the factor of a day */
    double apart;        /* like days, of the hours after the release alone */
    double cycle;        /* each day goes up and down by this part */
    double weekend;      /* Saturday and Sunday have this part more */
    double growth;       /* of each day, a part */
    double outage;       /* one of the past days has this part more */
    double missing;      /* chance that a day has no values, and that a look has none */
    bool counted;        /* a look is the number of events since the last, with that mean */
    int overlap;         /* a look shows those of so many looks; 0: of its own */
    double more, from;   /* today has this part more from this minute on */
    double grows;        /* and this part more each minute */
    double start, fades; /* and this part at its start, which fades in so many seconds */
    double seldom;       /* chance of a day with five times the level */
    struct judge_tolerance tolerate;
    bool lower; /* lower is worse */
    bool bad;   /* it is to be found */
    bool limit; /* days cannot show it: no bound */
    bool few;   /* lies are found here, and most kinds of faults */
};

extern const struct day_world day_worlds[];
extern const int day_worlds_count;

struct day_outcome {
    bool worse;
    int looks; /* of the release until then */
};

struct day_outcome day_release(const struct day_world *world, double rate, enum day_lie lie,
                               struct dice *dice);

#endif

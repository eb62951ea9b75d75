/* The judge of the past in worlds of days: seldom wrong, and in time. */
#include "test/statistics/days.h"

#include "test/statistics/bounds.h"
#include "test/unit.h"

enum { RUNS = 100 };
static const double RATE = 0.01, SURELY = 0.001;

static double worse_of(const struct day_world *world, enum day_lie lie, double *looks)
{
    double worse = 0;

    *looks = 0;
    for (int i = 0; i < RUNS; i++) {
        struct dice dice = dice_of((uint64_t)i * 7919 + (uint64_t)(world - day_worlds));
        struct day_outcome outcome = day_release(world, RATE, lie, &dice);
        worse += outcome.worse;
        *looks += outcome.looks / (double)RUNS;
    }
    return worse;
}

/* More false alarms than the rate allows would come by chance once in a thousand times. */
CASE(a_day_like_the_others_is_called_worse_no_more_often_than_stated)
{
    double looks;

    for (int i = 0; i < day_worlds_count; i++) {
        const struct day_world *world = &day_worlds[i];
        if (!world->few || world->bad)
            continue;
        double worse = worse_of(world, DAY_LIE_NONE, &looks);
        if (bounds_lower(worse, RUNS, SURELY) > RATE)
            fail_msg("%s: %g of %d", world->name, worse, RUNS);
    }
}

CASE(a_bad_day_is_found)
{
    static const int MOST_LOOKS = 300;
    double looks;

    for (int i = 0; i < day_worlds_count; i++) {
        const struct day_world *world = &day_worlds[i];
        if (!world->few || !world->bad)
            continue;
        double worse = worse_of(world, DAY_LIE_NONE, &looks);
        if (worse < 0.9 * RUNS || looks > MOST_LOOKS)
            fail_msg("%s: %g of %d, after %g looks", world->name, worse, RUNS, looks);
    }
}

CASE(a_broken_judge_is_seen)
{
    double looks, worse = 0;

    for (int i = 0; i < day_worlds_count; i++) {
        if (day_worlds[i].few && !day_worlds[i].bad)
            worse += worse_of(&day_worlds[i], DAY_LIE_MEAN, &looks);
    }
    assert_true(worse > 10);
}

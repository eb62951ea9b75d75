/* The judge of numbers in all worlds: seldom wrong, and in time. */
#include "test/statistics/levels.h"

#include <math.h>

#include "test/statistics/bounds.h"
#include "test/unit.h"

enum { RUNS = 400 };
static const double RATE = 0.01, SURELY = 0.001;

static double worse_of(const struct level_world *world, double *looks)
{
    double worse = 0;

    *looks = 0;
    for (int i = 0; i < RUNS; i++) {
        struct dice dice = dice_of((uint64_t)i * 7919 + (uint64_t)(world - level_worlds));
        struct level_outcome outcome = level_release(world, RATE, LIE_NONE, &dice);
        worse += outcome.worse;
        *looks += outcome.looks / (double)RUNS;
    }
    return worse;
}

/* More false alarms than the rate allows would come by chance once in a thousand times. */
CASE(a_good_number_is_called_worse_no_more_often_than_stated)
{
    double looks;

    for (int i = 0; i < level_worlds_count; i++) {
        double worse = level_worlds[i].bad ? 0 : worse_of(&level_worlds[i], &looks);
        if (bounds_lower(worse, RUNS, SURELY) > RATE)
            fail_msg("%s: %g of %d", level_worlds[i].name, worse, RUNS);
    }
}

CASE(a_bad_one_is_found)
{
    static const int MOST_LOOKS = 240;
    double looks;

    for (int i = 0; i < level_worlds_count; i++) {
        if (!level_worlds[i].bad)
            continue;
        double worse = worse_of(&level_worlds[i], &looks);
        if (worse < 0.98 * RUNS || looks > MOST_LOOKS)
            fail_msg("%s: %g of %d, after %g looks", level_worlds[i].name, worse, RUNS, looks);
    }
}

/* Nothing but the tolerance and what is known of the primary makes the difference. */
CASE(the_unit_does_not_matter)
{
    struct level_world in_kilobytes = level_worlds[0], less = level_worlds[0];

    in_kilobytes.level *= 1024;
    in_kilobytes.noise *= 1024;
    less.more = in_kilobytes.more = 0.3;
    for (int i = 0; i < 50; i++) {
        struct dice one = dice_of((uint64_t)i), same = one;
        struct level_outcome a = level_release(&less, RATE, LIE_NONE, &one);
        struct level_outcome b = level_release(&in_kilobytes, RATE, LIE_NONE, &same);
        assert_true(a.worse && b.worse);
        assert_int_equal(a.looks, b.looks);
    }
}

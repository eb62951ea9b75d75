/* The judge of latency in all worlds: seldom wrong, and in time. */
#include "test/statistics/delays.h"

#include "test/statistics/bounds.h"
#include "test/unit.h"

enum { RUNS = 30 };
static const double RATE = 0.01, SURELY = 0.001;

CASE(latency_is_called_worse_where_it_is)
{
    for (int i = 0; i < delay_worlds_count; i++) {
        double worse = 0;
        for (int j = 0; j < RUNS; j++) {
            struct dice dice = dice_of((uint64_t)j * 7919 + (uint64_t)i);
            worse += delay_release(&delay_worlds[i], RATE, LIE_NONE, &dice).worse;
        }
        if (delay_worlds[i].bad ? worse < 0.9 * RUNS : bounds_lower(worse, RUNS, SURELY) > RATE)
            fail_msg("%s: %g of %d", delay_worlds[i].name, worse, RUNS);
    }
}

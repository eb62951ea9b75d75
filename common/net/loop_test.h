/* For tests only: runs a loop until a condition holds, with a deadline. */
#ifndef NET_LOOP_TEST_H
#define NET_LOOP_TEST_H

#include "net/loop.h"
#include "test/unit.h"

/* Longer than a busy machine needs with a sanitizer. */
enum { LOOP_DEADLINE_MS = 60000 };

UNIT_HELPER void loop_is_late(void *arg)
{
    *(bool *)arg = true;
}

#define LOOP_UNTIL(loop, condition)                                                                \
    do {                                                                                           \
        bool late_ = false;                                                                        \
        struct timer *deadline_ = timer_start(loop, LOOP_DEADLINE_MS, 0, loop_is_late, &late_);    \
        while (!(condition) && !late_)                                                             \
            uv_run(loop_uv(loop), UV_RUN_ONCE);                                                    \
        if (late_)                                                                                 \
            fail_msg("waited in vain for %s", #condition);                                         \
        timer_stop(deadline_);                                                                     \
    } while (0)

/* Runs the loop for a time in which nothing may happen. */
#define LOOP_FOR(loop, ms)                                                                         \
    do {                                                                                           \
        bool over_ = false;                                                                        \
        timer_start(loop, ms, 0, loop_is_late, &over_);                                            \
        while (!over_)                                                                             \
            uv_run(loop_uv(loop), UV_RUN_ONCE);                                                    \
    } while (0)

/* The same for a fixture. */
#define RUN_UNTIL(f, condition) LOOP_UNTIL((f)->loop, condition)

#endif

#include "kube/limiter.h"

#include <string.h>

#include "base/arena.h"
#include "test/unit.h"

struct taker {
    struct limiter_place place;
    char name;
    char *log; /* of all */
};

static void note(void *arg)
{
    struct taker *taker = arg;

    strncat(taker->log, &taker->name, 1);
}

static bool enter(struct limiter *limiter, struct taker *taker)
{
    return limiter_enter(limiter, &taker->place, note, taker);
}

CASE(in_order_and_who_leaves_does_not)
{
    struct loop *loop = loop_new(1000);
    struct limiter limiter;
    char log[16] = "";
    struct taker a = {.name = 'a', .log = log}, b = {.name = 'b', .log = log},
                 c = {.name = 'c', .log = log}, d = {.name = 'd', .log = log};

    limiter_init(&limiter, loop, 100, 1);
    assert_true(enter(&limiter, &a));
    assert_false(enter(&limiter, &b));
    assert_false(enter(&limiter, &c));
    assert_false(enter(&limiter, &d));
    assert_int_equal(limiter.waiting, 3);
    limiter_leave(&limiter, &c.place);
    assert_int_equal(limiter.waiting, 2);
    while (strlen(log) < 2)
        uv_run(loop_uv(loop), UV_RUN_ONCE);
    assert_string_equal(log, "bd");
    assert_int_equal(limiter.waiting, 0);
    limiter_fini(&limiter);
    loop_drain(loop);
    loop_run(loop);
    loop_free(loop);
}

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

static bool enter(struct limiter *limiter, struct taker *taker, enum limiter_urgency urgency)
{
    return limiter_enter(limiter, &taker->place, urgency, note, taker);
}

CASE(the_most_urgent_goes_first_and_who_leaves_does_not)
{
    struct loop *loop = loop_new(1000);
    struct limiter limiter;
    char log[16] = "";
    struct taker a = {.name = 'a', .log = log}, b = {.name = 'b', .log = log},
                 c = {.name = 'c', .log = log}, d = {.name = 'd', .log = log},
                 e = {.name = 'e', .log = log}, f = {.name = 'f', .log = log};

    limiter_init(&limiter, loop, 100, 1);
    assert_true(enter(&limiter, &a, LIMITER_TELL));
    assert_false(enter(&limiter, &b, LIMITER_TELL));
    assert_false(enter(&limiter, &c, LIMITER_READ));
    assert_false(enter(&limiter, &d, LIMITER_WRITE));
    assert_false(enter(&limiter, &e, LIMITER_WRITE));
    assert_false(enter(&limiter, &f, LIMITER_WRITE));
    assert_int_equal(limiter.waiting[LIMITER_WRITE], 3);
    limiter_leave(&limiter, &e.place);
    assert_int_equal(limiter.waiting[LIMITER_WRITE], 2);
    assert_int_equal(limiter.waiting[LIMITER_TELL], 1);
    while (strlen(log) < 4)
        uv_run(loop_uv(loop), UV_RUN_ONCE);
    assert_string_equal(log, "dfcb");
    for (int i = 0; i < LIMITER_URGENCIES; i++)
        assert_int_equal(limiter.waiting[i], 0);
    limiter_fini(&limiter);
    loop_drain(loop);
    loop_run(loop);
    loop_free(loop);
}

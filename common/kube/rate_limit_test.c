#include <string.h>

#include "base/arena.h"
#include "kube/rate_limit.h"
#include "test/unit.h"

CASE(burst_then_pace)
{
    struct rate_limit limit;
    rate_limit_init(&limit, 10, 3, 1000);
    for (int i = 0; i < 3; i++)
        assert_true(rate_limit_try(&limit, 1000));
    assert_false(rate_limit_try(&limit, 1000));
    assert_int_equal(rate_limit_wait(&limit, 1000), 100);
    assert_int_equal(rate_limit_wait(&limit, 1060), 40);
    assert_true(rate_limit_try(&limit, 1100));
    assert_false(rate_limit_try(&limit, 1199));
    assert_int_equal(rate_limit_wait(&limit, 1200), 0);
    assert_true(rate_limit_try(&limit, 1200));
}

CASE(never_more_than_the_burst)
{
    struct rate_limit limit;
    rate_limit_init(&limit, 1000, 2, 0);
    assert_true(rate_limit_try(&limit, 1000000));
    assert_true(rate_limit_try(&limit, 1000000));
    assert_false(rate_limit_try(&limit, 1000000));
    assert_int_equal(rate_limit_wait(&limit, 1000000), 1);
}

CASE(trying_reserves_nothing)
{
    struct rate_limit limit;
    rate_limit_init(&limit, 0.1, 1, 0);
    assert_true(rate_limit_try(&limit, 0));
    for (int64_t now = 0; now < 10000; now += 500)
        assert_false(rate_limit_try(&limit, now));
    assert_true(rate_limit_try(&limit, 10001));
}

CASE(a_clock_that_stands_still_gives_nothing)
{
    struct rate_limit limit;
    rate_limit_init(&limit, 10, 1, 500);
    assert_true(rate_limit_try(&limit, 500));
    assert_false(rate_limit_try(&limit, 400));
    assert_int_equal(rate_limit_wait(&limit, 400), 100);
}

CASE(held_back_it_gives_one_a_second)
{
    struct rate_limit limit;
    rate_limit_init(&limit, 100, 250, 0);
    rate_limit_throttle(&limit, 0);
    assert_false(rate_limit_try(&limit, 0));
    assert_int_equal(rate_limit_wait(&limit, 0), 1000);
    int given = 0;
    for (int64_t now = 0; now <= 600000; now += 10)
        given += rate_limit_try(&limit, now);
    assert_int_equal(given, 600);
    /* nothing is saved */
    assert_true(rate_limit_try(&limit, 700000));
    assert_false(rate_limit_try(&limit, 700000));
    /* a slower limit keeps its rate */
    rate_limit_init(&limit, 0.1, 1, 0);
    rate_limit_throttle(&limit, 0);
    assert_int_equal(rate_limit_wait(&limit, 0), 10000);
}

/* Tokens gained in the second after `from`. */
static int second_of(struct rate_limit *limit, int64_t from)
{
    int given = 0;
    for (int64_t now = from; now < from + 1000; now++)
        while (rate_limit_try(limit, now))
            given++;
    return given;
}

CASE(it_comes_back_by_degrees)
{
    struct rate_limit limit;
    rate_limit_init(&limit, 160, 1000, 0);
    rate_limit_throttle(&limit, 0);
    rate_limit_recover(&limit, 600000);
    static const int paces[] = {10, 20, 40, 80, 160, 160};
    for (int i = 0; i < 6; i++)
        assert_in_range(second_of(&limit, 600000 + 1000 * i), paces[i] - 1, paces[i] + 1);
    /* after a pause, the burst is saved */
    for (int i = 0; i < 1000; i++)
        assert_true(rate_limit_try(&limit, 700000));
    assert_false(rate_limit_try(&limit, 700000));
    /* after a pause while recovering, one second's tokens are saved */
    rate_limit_throttle(&limit, 800000);
    rate_limit_recover(&limit, 800000);
    int given = 0;
    while (rate_limit_try(&limit, 801500))
        given++;
    assert_int_equal(given, 20);
}

struct taker {
    struct limiter_waiter place;
    const char *namespace_;
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
    return limiter_acquire(limiter, taker->namespace_, &taker->place, note, taker);
}

CASE(in_order_and_who_leaves_does_not)
{
    struct loop *loop = loop_new(10000);
    struct limiter limiter;
    char log[16] = "";
    struct taker a = {.name = 'a', .log = log}, b = {.name = 'b', .log = log},
                 c = {.name = 'c', .log = log}, d = {.name = 'd', .log = log};

    limiter_init(&limiter, loop, 100, 1);
    assert_true(enter(&limiter, &a));
    assert_false(enter(&limiter, &b));
    assert_false(enter(&limiter, &c));
    assert_false(enter(&limiter, &d));
    assert_int_equal(limiter.queue.count, 3);
    limiter_cancel(&c.place);
    assert_int_equal(limiter.queue.count, 2);
    while (strlen(log) < 2)
        uv_run(loop_uv(loop), UV_RUN_ONCE);
    assert_string_equal(log, "bd");
    assert_int_equal(limiter.queue.count, 0);
    limiter_fini(&limiter);
    loop_drain(loop);
    loop_run(loop);
    loop_free(loop);
}

/* A namespace with many waiting requests delays a request of another namespace by only one of
 * its own. */
CASE(each_namespace_has_its_turn)
{
    static const char names[] = "gggggmn";
    struct loop *loop = loop_new(10000);
    struct limiter limiter;
    char log[16] = "";
    struct taker takers[sizeof(names) - 1];

    limiter_init(&limiter, loop, 200, 1);
    for (size_t i = 0; i < sizeof(names) - 1; i++) {
        takers[i] = (struct taker){
            .namespace_ = names[i] == 'g'   ? "greedy"
                          : names[i] == 'm' ? "modest"
                                            : NULL,
            .name = names[i],
            .log = log,
        };
        assert_int_equal(enter(&limiter, &takers[i]), i == 0);
    }
    while (strlen(log) < 6)
        uv_run(loop_uv(loop), UV_RUN_ONCE);
    assert_string_equal(log, "gmnggg");
    limiter_fini(&limiter);
    loop_drain(loop);
    loop_run(loop);
    loop_free(loop);
}

CASE(grows_to_the_maximum_within_its_upper_half)
{
    static const int64_t full[] = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000};
    for (int round = 0; round < 50; round++) {
        struct backoff backoff = {.min_ms = 500, .max_ms = 30000};
        EACH_ROW (row, full) {
            int64_t wait = backoff_next(&backoff, 0);
            assert_in_range(wait, *row / 2, *row);
        }
        backoff_reset(&backoff);
        assert_in_range(backoff_next(&backoff, 0), 250, 500);
    }
}

CASE(is_spread)
{
    struct backoff a = {.min_ms = 1000000, .max_ms = 1000000};
    int64_t first = backoff_next(&a, 0);
    int different = 0;
    for (int i = 0; i < 20; i++)
        different += backoff_next(&a, 0) != first;
    assert_true(different > 0);
}

CASE(what_was_asked_is_a_floor_with_a_ceiling)
{
    struct backoff backoff = {.min_ms = 100, .max_ms = 1000};
    int64_t wait = backoff_next(&backoff, 7000);
    assert_in_range(wait, 7000, 7100);
    wait = backoff_next(&backoff, INT64_C(1) << 60);
    assert_in_range(wait, BACKOFF_MAX_ASKED_MS, BACKOFF_MAX_ASKED_MS + 1000);
}

CASE(never_overflows)
{
    struct backoff backoff = {.min_ms = 1, .max_ms = 50};
    for (int i = 0; i < 2000; i++)
        assert_in_range(backoff_next(&backoff, 0), 1, 50);
    assert_int_equal(backoff_random(0), 0);
    assert_int_equal(backoff_random(1), 0);
}

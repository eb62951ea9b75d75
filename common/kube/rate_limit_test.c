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
    rate_limit_hold(&limit, 0);
    assert_false(rate_limit_try(&limit, 0));
    assert_int_equal(rate_limit_wait(&limit, 0), 1000);
    int given = 0;
    for (int64_t now = 0; now <= 600000; now += 10)
        given += rate_limit_try(&limit, now);
    assert_int_equal(given, 600);
    /* nor is anything saved */
    assert_true(rate_limit_try(&limit, 700000));
    assert_false(rate_limit_try(&limit, 700000));
    /* one that is slower itself stays so */
    rate_limit_init(&limit, 0.1, 1, 0);
    rate_limit_hold(&limit, 0);
    assert_int_equal(rate_limit_wait(&limit, 0), 10000);
}

/* How many the second after `from` gives. */
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
    rate_limit_hold(&limit, 0);
    rate_limit_recover(&limit, 600000);
    static const int paces[] = {10, 20, 40, 80, 160, 160};
    for (int i = 0; i < 6; i++)
        assert_in_range(second_of(&limit, 600000 + 1000 * i), paces[i] - 1, paces[i] + 1);
    /* nobody asked for a while: all that may be saved is */
    for (int i = 0; i < 1000; i++)
        assert_true(rate_limit_try(&limit, 700000));
    assert_false(rate_limit_try(&limit, 700000));
    /* nobody asks while it comes back: then a second's worth */
    rate_limit_hold(&limit, 800000);
    rate_limit_recover(&limit, 800000);
    int given = 0;
    while (rate_limit_try(&limit, 801500))
        given++;
    assert_int_equal(given, 20);
}

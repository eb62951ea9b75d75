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

#include "kube/rate_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void burst_then_pace(void **state)
{
    (void)state;
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

static void never_more_than_the_burst(void **state)
{
    (void)state;
    struct rate_limit limit;
    rate_limit_init(&limit, 1000, 2, 0);
    assert_true(rate_limit_try(&limit, 1000000));
    assert_true(rate_limit_try(&limit, 1000000));
    assert_false(rate_limit_try(&limit, 1000000));
    assert_int_equal(rate_limit_wait(&limit, 1000000), 1);
}

static void trying_reserves_nothing(void **state)
{
    (void)state;
    struct rate_limit limit;
    rate_limit_init(&limit, 0.1, 1, 0);
    assert_true(rate_limit_try(&limit, 0));
    for (int64_t now = 0; now < 10000; now += 500)
        assert_false(rate_limit_try(&limit, now));
    assert_true(rate_limit_try(&limit, 10001));
}

static void a_clock_that_stands_still_gives_nothing(void **state)
{
    (void)state;
    struct rate_limit limit;
    rate_limit_init(&limit, 10, 1, 500);
    assert_true(rate_limit_try(&limit, 500));
    assert_false(rate_limit_try(&limit, 400));
    assert_int_equal(rate_limit_wait(&limit, 400), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(burst_then_pace),
        cmocka_unit_test(never_more_than_the_burst),
        cmocka_unit_test(trying_reserves_nothing),
        cmocka_unit_test(a_clock_that_stands_still_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

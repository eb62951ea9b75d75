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
        assert_int_equal(rate_limit_take(&limit, 1000), 0);
    assert_int_equal(rate_limit_take(&limit, 1000), 100);
    assert_int_equal(rate_limit_take(&limit, 1000), 200);
    assert_int_equal(rate_limit_take(&limit, 1000), 300);
    /* the three reserved places are spent by 1300 */
    assert_int_equal(rate_limit_take(&limit, 1300), 100);
    assert_int_equal(rate_limit_take(&limit, 1600), 0);
}

static void never_more_than_the_burst(void **state)
{
    (void)state;
    struct rate_limit limit;
    rate_limit_init(&limit, 1000, 2, 0);
    assert_int_equal(rate_limit_take(&limit, 1000000), 0);
    assert_int_equal(rate_limit_take(&limit, 1000000), 0);
    assert_int_equal(rate_limit_take(&limit, 1000000), 1);
    for (int i = 0; i < 10; i++)
        rate_limit_give(&limit);
    assert_int_equal(rate_limit_take(&limit, 1000000), 0);
    assert_int_equal(rate_limit_take(&limit, 1000000), 0);
    assert_int_equal(rate_limit_take(&limit, 1000000), 1);
}

static void a_place_given_back_is_used(void **state)
{
    (void)state;
    struct rate_limit limit;
    rate_limit_init(&limit, 10, 1, 0);
    assert_int_equal(rate_limit_take(&limit, 0), 0);
    assert_int_equal(rate_limit_take(&limit, 0), 100);
    rate_limit_give(&limit);
    assert_int_equal(rate_limit_take(&limit, 0), 100);
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
    assert_int_equal(rate_limit_take(&limit, 500), 0);
    assert_int_equal(rate_limit_take(&limit, 400), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(burst_then_pace),
        cmocka_unit_test(never_more_than_the_burst),
        cmocka_unit_test(a_place_given_back_is_used),
        cmocka_unit_test(trying_reserves_nothing),
        cmocka_unit_test(a_clock_that_stands_still_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

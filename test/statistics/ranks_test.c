#include "test/statistics/ranks.h"

#include "test/unit.h"

CASE(test_ranks)
{
    const double low[] = {1, 2, 3, 4, 5, 6}, high[] = {7, 8, 9, 10, 11, 12};
    const double mixed[] = {1, 7, 3, 9, 5, 11}, same[] = {2, 2, 2, 2, 2, 2};

    (void)arena;
    assert_true(ranks_higher(high, 6, low, 6));
    assert_false(ranks_higher(low, 6, high, 6));
    assert_false(ranks_higher(mixed, 6, low, 6));
    assert_false(ranks_higher(same, 6, same, 6));
    assert_false(ranks_higher(high, 2, low, 6)); /* too few */
}

/* The interval of 98 % of the difference of 10 and 10 measurements leaves out 19 of 100 (tables of the
 * test: 19 is the greatest number for 1 % on each side). */
CASE(test_interval)
{
    double canary[10], primary[10];

    (void)arena;
    for (int i = 0; i < 10; i++) {
        primary[i] = i;
        canary[i] = i + 0.25;
    }
    assert_false(ranks_higher(canary, 10, primary, 10));
    for (int i = 0; i < 10; i++)
        canary[i] = i + 9;
    assert_true(ranks_higher(canary, 10, primary, 10));
}

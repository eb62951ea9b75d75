#include "kube/backoff.h"
#include "test/unit.h"

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

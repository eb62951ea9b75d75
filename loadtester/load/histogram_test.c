/* histogram: merged percentiles are those of all samples, within one bucket. */
#include <math.h>
#include <stdlib.h>

#include "loadtester/load/results.h"
#include "test/unit.h"

enum { MAX_SAMPLES = 5000, MAX_PARTS = 16, ROUNDS = 300 };

/* A generator of its own: the same samples on every machine. */
static uint64_t seed = 88172645463325252ull;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static double uniform(void)
{
    return (double)(next_random() >> 11) / 9007199254740992.0;
}

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return (one > other) - (one < other);
}

/* Durations of several distributions: uniform, heavy-tailed, with two modes, all equal. */
static double sample(int form)
{
    switch (form) {
    case 0:
        return uniform() * 0.2;
    case 1:
        return 0.001 * pow(1 - uniform(), -1.3);
    case 2:
        return uniform() < 0.9 ? 0.005 + uniform() * 0.002 : 1 + uniform();
    case 3:
        return 0.0421;
    default:
        return exp(uniform() * 26 - 15); /* 0.3 us to 16 h */
    }
}

static void check_percentile(const struct histogram *merged, const double *sorted, int n,
                             double percent)
{
    int rank = (int)ceil(percent / 100 * n);
    double exact = sorted[(rank > 0 ? rank : 1) - 1];
    double found = histogram_percentile(merged, percent);

    if (histogram_bucket(found) != histogram_bucket(exact) || found < exact * (1 - 1e-9))
        fail_msg("p%g of %d samples: %.9g, exactly %.9g", percent, n, found, exact);
    if (exact > 1e-6 && exact < 3600 && found > exact * HISTOGRAM_WIDTH * (1 + 1e-9))
        fail_msg("p%g of %d samples: %.9g is too far from %.9g", percent, n, found, exact);
}

CASE(merged_percentiles_are_those_of_all_samples)
{
    static const double percents[] = {0, 1, 50, 90, 95, 99, 99.9, 100};
    static struct histogram parts[MAX_PARTS], merged;
    static double samples[MAX_SAMPLES];

    for (int round = 0; round < ROUNDS; round++) {
        int n = 1 + (int)(next_random() % (round % 3 ? 200 : MAX_SAMPLES));
        int n_parts = 1 + (int)(next_random() % MAX_PARTS);
        for (int i = 0; i < MAX_PARTS; i++)
            parts[i] = (struct histogram){0};
        merged = (struct histogram){0};
        for (int i = 0; i < n; i++) {
            samples[i] = sample(round % 5);
            histogram_add(&parts[next_random() % (uint64_t)n_parts], samples[i], 1);
        }
        for (int i = 0; i < n_parts; i++)
            histogram_merge(&merged, &parts[i]);
        qsort(samples, (size_t)n, sizeof(*samples), by_size);
        assert_int_equal(merged.total, n);
        assert_true(merged.min_s == samples[0] && merged.max_s == samples[n - 1]);
        for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
            check_percentile(&merged, samples, n, percents[i]);
    }
}

/* Two pods, one of which is slow: the mean of their 99th percentiles would hide it. */
CASE(a_slow_pod_is_not_averaged_away)
{
    static struct histogram fast, slow;

    histogram_add(&fast, 0.01, 990);
    histogram_add(&slow, 2, 10);
    histogram_merge(&fast, &slow);
    assert_true(histogram_percentile(&fast, 99) < 0.011);
    assert_true(histogram_percentile(&fast, 99.5) == 2);
}

CASE(odd_values_are_counted)
{
    static struct histogram odd;

    assert_true(histogram_percentile(&odd, 50) < 0);
    histogram_add(&odd, NAN, 1);
    histogram_add(&odd, -1, 1);
    histogram_add(&odd, 1e9, 1);
    histogram_add(&odd, 1, 0);
    histogram_add(&odd, 1, -5);
    assert_int_equal(odd.total, 3);
    assert_true(histogram_percentile(&odd, 50) >= 0 && histogram_percentile(&odd, 50) <= 1e-6);
    assert_true(histogram_percentile(&odd, 100) == 1e9);
}

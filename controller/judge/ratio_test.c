/*
 * The guarantee for one look, by counting: over all outcomes of small looks, the expectation of S
 * is at most 1 at each point of the null, for each alternative and tolerance of a grid.
 */
#include "judge/bets.h"

#include <math.h>

#include "test/unit.h"

enum { MOST = 12 };

static const double shares[] = {0, 1e-9, 0.001, 0.02, 0.1, 0.3, 0.5, 0.8, 0.97, 1};
static const double guesses[] = {1e-9, 0.003, 0.05, 0.2, 0.6, 0.999};
static const struct judge_tolerance tolerances[] = {
    {0, 0}, {0.002, 0}, {0, 0.1}, {0.05, 0.5}, {0.4, 0}, {0, 3},
};

/* The probability of k of n, for all k. */
static void binomial(int n, double share, double chance[MOST + 1])
{
    chance[0] = 1;
    for (int done = 0; done < n; done++) {
        chance[done + 1] = 0;
        for (int k = done + 1; k > 0; k--)
            chance[k] = chance[k] * (1 - share) + chance[k - 1] * share;
        chance[0] *= 1 - share;
    }
}

static double expectation(const struct judge_null *null, struct judge_shares alternative, int na,
                          int np, struct judge_shares truth)
{
    double canary[MOST + 1], primary[MOST + 1], sum = 0;

    binomial(na, truth.canary, canary);
    binomial(np, truth.primary, primary);
    for (int i = 0; i <= na; i++) {
        for (int j = 0; j <= np; j++)
            sum += canary[i] * primary[j] *
                   exp(judge_log_ratio(null, alternative, (struct judge_counts){na, i},
                                       (struct judge_counts){np, j}));
    }
    return sum;
}

/* One null and alternative: at all points of the null in the grid, and at its edge. */
static void expect_at_most_one(const struct judge_null *null, struct judge_shares alternative,
                               int na, int np)
{
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        double limit = fmin(judge_limit(null, shares[i]), 1);
        struct judge_shares edge = {limit, shares[i]};
        if (judge_null_has(null, edge) && expectation(null, alternative, na, np, edge) > 1 + 1e-9)
            fail_msg("%d and %d requests, at the edge over %g: above 1", na, np, shares[i]);
        for (size_t j = 0; j < sizeof(shares) / sizeof(shares[0]); j++) {
            struct judge_shares truth = {shares[j], shares[i]};
            if (judge_null_has(null, truth) &&
                expectation(null, alternative, na, np, truth) > 1 + 1e-9)
                fail_msg("%d and %d requests, %g beside %g: above 1", na, np, shares[j], shares[i]);
        }
    }
}

static void all_alternatives(const struct judge_null *null, int na, int np)
{
    for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++) {
        for (size_t j = 0; j < sizeof(guesses) / sizeof(guesses[0]); j++)
            expect_at_most_one(null, (struct judge_shares){guesses[i], guesses[j]}, na, np);
    }
}

CASE(no_point_of_the_null_wins_on_average)
{
    static const int sizes[] = {1, 2, 5, 12};

    EACH_ROW (tolerance, tolerances) {
        for (int above = 0; above <= 1; above++) {
            struct judge_null null = judge_null_of(*tolerance, above);
            EACH_ROW (na, sizes) {
                for (size_t np = 0; np < sizeof(sizes) / sizeof(sizes[0]); np++)
                    all_alternatives(&null, *na, sizes[np]);
            }
        }
    }
}

/* All sizes, for one alternative each. */
CASE(nor_for_any_sizes)
{
    struct judge_null null = judge_null_of((struct judge_tolerance){0.002, 0.1}, false);

    for (int na = 1; na <= MOST; na++) {
        for (int np = 1; np <= MOST; np++) {
            expect_at_most_one(&null, (struct judge_shares){0.2, 0.05}, na, np);
            expect_at_most_one(&null, (struct judge_shares){0.9, 0.4}, na, np);
        }
    }
}

/* Requests of one look need not have one share: it is enough that their means satisfy the null. */
CASE(nor_when_shares_change_within_a_look)
{
    struct judge_null null = judge_null_of((struct judge_tolerance){0, 0}, false);
    struct judge_shares alternative = {0.4, 0.1};
    const double share[2] = {0.05, 0.75};
    double sum = 0;

    for (int outcome = 0; outcome < 16; outcome++) {
        double chance = 1;
        for (int i = 0; i < 4; i++)
            chance *= outcome >> i & 1 ? share[i % 2] : 1 - share[i % 2];
        struct judge_counts canary = {2, (outcome & 1) + (outcome >> 1 & 1)};
        struct judge_counts primary = {2, (outcome >> 2 & 1) + (outcome >> 3 & 1)};
        sum += chance * exp(judge_log_ratio(&null, alternative, canary, primary));
    }
    assert_true(sum <= 1 + 1e-12);
}

CASE(it_wins_where_the_alternative_is_true)
{
    struct judge_null null = judge_null_of((struct judge_tolerance){0, 0}, false);
    struct judge_shares truth = {0.5, 0.1};

    assert_true(expectation(&null, truth, 12, 12, truth) > 3);
}

CASE(the_nearest_point_lies_on_the_edge)
{
    struct judge_null null = judge_null_of((struct judge_tolerance){0, 0}, false);
    struct judge_shares nearest = judge_nearest(&null, (struct judge_shares){0.3, 0.1}, 100, 300);

    assert_float_equal(nearest.canary, 0.15, 1e-12);
    assert_float_equal(nearest.primary, 0.15, 1e-12);

    /* An alternative in the null is its own nearest point, and proves nothing. */
    nearest = judge_nearest(&null, (struct judge_shares){0.1, 0.3}, 100, 300);
    assert_true(nearest.canary == 0.1 && nearest.primary == 0.3);
    assert_true(judge_log_ratio(&null, (struct judge_shares){0.1, 0.3},
                                (struct judge_counts){100, 50},
                                (struct judge_counts){100, 0}) == 0);
}

/* The derivative along the edge, which identifies the nearest point. */
static double slope_of(const struct judge_null *null, struct judge_shares to,
                       struct judge_shares at, double na, double np)
{
    return na * null->slope * (at.canary - to.canary) / (at.canary * (1 - at.canary)) +
           np * (at.primary - to.primary) / (at.primary * (1 - at.primary));
}

CASE(it_is_found_for_few_and_for_many_requests)
{
    static const double totals[] = {1, 1000, 1e9};

    EACH_ROW (tolerance, tolerances) {
        for (size_t i = 0; i < 6 * 6 * 9 * 2; i++) {
            struct judge_null null = judge_null_of(*tolerance, i % 2);
            struct judge_shares to = {guesses[i / 2 % 6], guesses[i / 12 % 6]};
            double na = totals[i / 72 % 3], np = totals[i / 216 % 3];
            if (judge_null_has(&null, to))
                continue;
            struct judge_shares at = judge_nearest(&null, to, na, np);
            double around = fmax(na / at.canary / (1 - at.canary), np / at.primary);
            assert_true(at.primary > 0 && at.primary < 1 && at.canary > 0 && at.canary < 1);
            if (fabs(slope_of(&null, to, at, na, np)) > 1e-6 * around)
                fail_msg("%g, %g for %g and %g requests: %g, %g", to.canary, to.primary, na, np,
                         at.canary, at.primary);
        }
    }
}

CASE(nothing_overflows)
{
    struct judge_null null = judge_null_of((struct judge_tolerance){0, 0}, false);
    struct judge_counts many = {1e9, 1e9}, none = {1e9, 0};
    struct judge_shares far = {1 - 1e-12, 1e-12};

    assert_true(isfinite(judge_log_ratio(&null, far, many, none)));
    assert_true(judge_log_ratio(&null, far, many, none) > 1e9);
    assert_true(isfinite(judge_log_ratio(&null, far, none, many)));
    assert_true(judge_log_ratio(&null, far, (struct judge_counts){0, 0}, many) == 0);
    assert_true(judge_log_ratio(&null, far, many, (struct judge_counts){0, 0}) == 0);
}

CASE(a_tolerance_that_cannot_be_is_cut)
{
    struct judge_null null = judge_null_of((struct judge_tolerance){NAN, -1}, false);

    assert_true(null.slope == 1 && null.offset == 0);
    null = judge_null_of((struct judge_tolerance){7, INFINITY}, false);
    assert_true(null.offset < 1 && isfinite(null.slope));
}

/*
 * The evidence of one sample against a null hypothesis, for one alternative.
 *
 * Let a and p be the shares of bad requests of canary and primary. The null says either that the
 * canary is within the tolerance, a <= s * p + d, or the reverse. Both are convex sets. For an
 * alternative (a*, p*) chosen before the sample, let (a0, p0) be the point of the null that
 * minimises na * KL(a* || a0) + np * KL(p* || p0), and S the ratio of the likelihoods of the
 * sample's counts at (a*, p*) and at (a0, p0). Then S has an expectation of at most 1 at each
 * point of the null:
 *
 *   Let f(a) be the expectation of the factor that one request of the canary contributes, when its
 *   share is a, and g(p) that of one of the primary. Both are linear, and 1 at a0 and p0. Since
 *   (a0, p0) is the minimum, for each (a, p) of the null,
 *       na * (f(a) - 1) + np * (g(p) - 1) <= 0.
 *   So the mean of na times f(a) and np times g(p) is at most 1, and by the inequality of the means
 *   f(a)^na * g(p)^np, which is the expectation of S, is so too.
 *
 * The shares may differ from request to request within a sample, as long as their means are within
 * the null: f and g are linear. They may differ between samples. So the product over the samples
 * is a test supermartingale, however the shares vary together, and by Ville's inequality the
 * probability that it ever reaches 1/rate is at most the rate, for any stopping time.
 *
 * Sources: R. Turner, A. Ly, P. Gruenwald, "Generic E-variables for exact sequential k-sample
 * tests that allow for optional stopping" (2024), for blocks of equal rates; R. Turner, P.
 * Gruenwald, "Exact anytime-valid confidence intervals for contingency tables and beyond" (2023),
 * for convex nulls; J. Ville, "Etude critique de la notion de collectif" (1939).
 */
#ifndef JUDGE_RATIO_H
#define JUDGE_RATIO_H

#include <stdbool.h>

#include "judge/judge.h"

/* canary <= slope * primary + offset, slope >= 1, 0 <= offset < 1; with `above`: canary >= that. */
struct judge_null {
    double slope, offset;
    bool above;
};

/* Shares of bad requests. */
struct judge_shares {
    double canary, primary;
};

struct judge_null judge_null_of(struct judge_tolerance tolerate, bool above);

/* The share of the canary at the edge of the tolerance; may exceed 1. */
double judge_limit(const struct judge_null *null, double primary);

bool judge_null_has(const struct judge_null *null, struct judge_shares shares);

/*
 * The point of the null nearest to an alternative, for this many requests. The alternative's
 * shares lie in (0, 1). An alternative inside the null is its own nearest point.
 */
struct judge_shares judge_nearest(const struct judge_null *null, struct judge_shares alternative,
                                  double canary_total, double primary_total);

/* log S of a sample of clean counts. 0 if the alternative is in the null, or a total is 0. */
double judge_log_ratio(const struct judge_null *null, struct judge_shares alternative,
                       struct judge_counts canary, struct judge_counts primary);

#endif

/*
 * The evidence of one sample against a null hypothesis, for one alternative; the alternatives that
 * bets are placed on; and clumps of bad requests, which weaken the evidence.
 */
#ifndef JUDGE_BETS_H
#define JUDGE_BETS_H

#include <stdbool.h>

#include "judge/judge.h"

/*
 * --- The evidence of one sample against a null hypothesis.
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

/*
 * --- The alternatives that are bet on: possible shares of bad requests if the null is false.
 *
 * Each bet is a rule that derives the alternative for the next sample from the past, never from
 * that sample. The winnings of a bet are the product of its ratios (judge_log_ratio()). All bets
 * together have won the weighted mean, which is a supermartingale under the null like each of
 * them. So it need not be known beforehand how bad a bad version is: betting on too many
 * alternatives costs the logarithm of a weight once, not at each sample.
 */

/* Input of the alternatives: the sums of all samples, and of the last ones. */
struct judge_past {
    struct judge_counts canary, primary;
    struct judge_counts recent_canary, recent_primary;
};

/*
 * The alternatives of all bets against the null; its `above` selects the list. Returns their
 * number.
 */
int judge_bets(const struct judge_null *null, const struct judge_past *past,
               struct judge_shares alternatives[]);

/*
 * Logarithm of the mean winnings, each to the power of 1/clumps if it is a gain, or slightly less.
 * Clumps of bad requests reduce gains only; a loss counts in full, which is conservative. The
 * exponent applies to the total and not to each sample: a clump found late takes back earlier
 * winnings.
 */
double judge_won(const double log_won[], bool above, double clumps);

/*
 * --- Clumps of bad requests.
 *
 * The ratio of a sample assumes independent requests, given their shares. They are not independent
 * if a client repeats a request ten times, or a connection fails with all its requests: then ten
 * bad requests mean as much as one. The size of clumps is estimated from the samples: of two
 * consecutive samples, the bad requests of both divide among them by chance, like their totals, so
 *     (bad2 - bad * total2 / total)^2   has the mean   bad * total1 * total2 / total^2,
 * approximately, and clumps of G requests make it G times that. The estimate is the sum of the left
 * over the sum of the right, over all pairs of samples of the primary and of the canary, plus one
 * assumed pair with clumps of two. The fewer pairs, the more it may be too small by chance: it is
 * raised to its upper bound at a probability that the caller gives (the sum is like a chi-squared
 * distribution with as many degrees as pairs). So the first samples only reveal gross differences.
 * Samples of the primary alone, before the canary has requests, avoid that.
 *
 * The winnings of a bet are taken to the power of 1/G (judge_won()). With clumps of at most G,
 * independent of each other and equally frequent per request in both versions, it is a
 * supermartingale again, to first order in the share of bad requests: E[x^(c/G)] - 1 <= E[c]/G *
 * (x - 1) of a clump of c <= G, by convexity.
 *
 * Effects shared by both versions, such as drift, time of day or outages of dependencies, need
 * none of this: the ratio of a sample holds for any shares. The scatter that they cause only costs
 * power.
 *
 * Limits: G is an estimate, so with clumps the rate is not proven but simulated (test/statistics:
 * clumps of random size with a mean of 3 and of 10, longer than the mean as often as not). Clumps
 * that only the canary has, from the first sample on, count as evidence against it.
 */

/* Adds the scatter between this sample and the one before it, and keeps it as the last one. */
void judge_spread_add(struct judge_evidence *evidence, struct judge_counts canary,
                      struct judge_counts primary);

/*
 * Number of pairs from which the size of clumps is estimated. Pairs count by their information:
 * many equal ones in full, small ones beside a large one hardly at all.
 */
double judge_pairs(const struct judge_evidence *evidence);

/*
 * Number of bad requests that count as a single one, at least 1. The true value is larger with
 * about this probability.
 */
double judge_clumps(const struct judge_evidence *evidence, double chance);

#endif

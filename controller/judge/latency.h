/*
 * Sequential comparison of the whole latency of a canary with that of its primary, by histograms
 * that arrive look by look: worse if more requests are slow, whatever slow means.
 *
 * The null says that no canary's request takes more than (1 + shift) times as long: for each bound
 * b, the share of the canary's requests beyond b * (1 + shift) is at most that of the primary's
 * beyond b. For each of some bounds this is a comparison of two shares (judge/judge.h, with its
 * assumptions and limits), whose winnings are a test supermartingale under the null. So is their
 * mean, however the bounds depend on each other: there is a verdict as soon as the mean reaches
 * 1/rate. What differs at one bound alone is found at the cost of the logarithm of their number.
 *
 * Where the canary's histogram has no bound b * (1 + shift), the next larger one is taken: fewer
 * requests of the canary are beyond it, so the null holds all the more, and a difference below the
 * distance of two bounds is not found. Where the primary's has no bound b any more, the next smaller
 * one is taken, for the same reason. So the bounds may change between looks and between the sides,
 * as those of a native histogram do when its resolution is halved: the bounds of the coarser one
 * are among those of the finer one.
 *
 * Sources: V. Vovk, R. Wang, "E-values: calibration, combination and applications" (2021), for the
 * mean under any dependence; those of judge/bets.h.
 *
 * Pure, like judge/judge.h; the caller owns the evidence, which has no pointers.
 */
#ifndef JUDGE_LATENCY_H
#define JUDGE_LATENCY_H

#include "judge/judge.h"

enum { LATENCY_PAIRS = 8, LATENCY_BOUNDS = 512 };

/* Requests up to each upper bound: bounds ascend, counts do not descend; the last bound is infinite,
 * and its count is that of all requests. n 0: none. Borrowed. */
struct judge_histogram {
    int n;
    const double *bounds, *counts;
};

/*
 * The requests up to a finite value. No request lies between two bounds with the same count, so the
 * count is known at each value between them, of which *at is then the one that was asked for: a
 * native histogram lists only the bounds of buckets with requests. Otherwise *at is the next larger
 * bound if `up`, INFINITY if there is none; else the next smaller one, -INFINITY if there is none.
 * n must be > 0.
 */
double judge_histogram_count(const struct judge_histogram *histogram, double value, bool up,
                             double *at);

struct judge_latency {
    int n; /* bounds that are compared; 0: not chosen yet */
    double bounds[LATENCY_PAIRS];
    double beyond[LATENCY_PAIRS]; /* the canary's bound beside it, of the last look; 0: none yet */
    struct judge_evidence evidence[LATENCY_PAIRS];
};

void judge_latency_begin(struct judge_latency *latency);

/*
 * Adds a look. The tolerance of the policy is the shift (ratio), and must be the same for all looks.
 * Bounds are chosen from the first histogram of the primary with requests, and compared from the
 * next look on, so that the choice is none of their luck. A look without requests of the canary
 * teaches, as with judge_add_sample(). False if a histogram is none: nothing was added.
 */
bool judge_latency_add(struct judge_latency *latency, const struct judge_policy *policy,
                       const struct judge_histogram *canary, const struct judge_histogram *primary);

/* Requests of the canary that were compared. */
double judge_latency_requests(const struct judge_latency *latency);

/* Natural logarithm of the mean of what has been won; WORSE or UNDECIDED, after each look. */
double judge_latency_log_worse(const struct judge_latency *latency,
                               const struct judge_policy *policy);
enum judge_verdict judge_latency_verdict(const struct judge_latency *latency,
                                         const struct judge_policy *policy);

/* The counts at the bound with the most evidence; empty ones if there is none. */
const struct judge_evidence *judge_latency_evident(const struct judge_latency *latency,
                                                   const struct judge_policy *policy);

/*
 * The verdict as one sentence without a full stop, about the bound with the most evidence. unit: of
 * the bounds in ms.
 *
 *     canary 120 of 1,000 requests took longer than 250 ms (12.0 %), primary 450 of 9,000 (5.0 %);
 *     odds that chance alone does this, at 8 bounds: below 1 in 100
 */
const char *judge_latency_sentence(struct arena *arena, const struct judge_latency *latency,
                                   const struct judge_policy *policy, double unit);

/*
 * --- Looks of a release, stored for a later evaluation under another policy (judge/looks.h).
 *
 * A look is, of each side, its requests and those beyond each compared bound: 2 * (n + 1) values.
 * Where a side has no such bound, they are those beyond the next one, as with judge_latency_add();
 * where it has none at all, none of the canary's and all of the primary's.
 */

/*
 * The values of a look that was added; their number. `least` becomes the least of the canary's bounds
 * beside each of the compared ones, over all looks; 0 where it has had none.
 */
int judge_latency_look(const struct judge_latency *latency, const struct judge_policy *policy,
                       const struct judge_histogram *canary, const struct judge_histogram *primary,
                       double values[], double least[]);
/*
 * Adds such a look; false if the values are none of these bounds. Under another shift the canary's
 * requests beyond the next larger of the bounds in `least` are compared, so that less is found, and
 * nothing wrong; where it has none, that bound is left out.
 */
bool judge_latency_take(struct judge_latency *latency, const struct judge_policy *policy,
                        const double least[], const double values[], int n_values);

/*
 * What is known before the canary's first request, much shorter than all of the evidence: the
 * bounds, their unit in ms, and how the primary's requests beyond them are spread. And back: false,
 * and nothing known, if it is none.
 */
struct json_object *judge_latency_known_write(struct arena *arena,
                                              const struct judge_latency *latency, double unit);
bool judge_latency_known_read(struct json_object *json, struct judge_latency *latency,
                              double *unit);

/* As JSON, borrowed from the arena, and back; false, and empty evidence, like judge_read(). */
struct json_object *judge_latency_write(struct arena *arena, const struct judge_latency *latency);
bool judge_latency_read(struct json_object *json, struct judge_latency *latency);

#endif

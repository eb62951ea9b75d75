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
 * distance of two bounds is not found.
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
 * Taken again, the histograms have these bounds alone: under another shift, the next larger of them
 * holds, so that less is found, and nothing wrong.
 */

/* The values of a look that was added; their number. Bounds that no histogram has count the
 * requests beyond the next larger one. */
int judge_latency_look(const struct judge_latency *latency, const struct judge_policy *policy,
                       const struct judge_histogram *canary, const struct judge_histogram *primary,
                       double values[]);
/* Adds such a look; false if the values are none of these bounds. beyond: the canary's bounds when
 * they were kept, 0 where none was known. */
bool judge_latency_take(struct judge_latency *latency, const struct judge_policy *policy,
                        const double beyond[], const double values[], int n_values);

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

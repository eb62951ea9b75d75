/*
 * Sequential comparison of a number of the canary with the same number of its primary (memory,
 * length of a queue, cost): a verdict with an error rate, from pairs of values that arrive look by
 * look.
 *
 * A comparison is made of some consecutive looks: the median of the differences of their pairs. It
 * is won by "worse" if it is beyond what is tolerated. The null says: given all that came before, a
 * comparison of a canary that is not worse is beyond it with a probability of at most one half. A
 * bet with the probability p > 1/2 multiplies its stake by 2p if a comparison is beyond, by
 * 2 * (1 - p) otherwise, so that under the null its expectation is at most the stake. Several p are
 * bet on, each from the beginning and, with a small part of the stake, from each later comparison
 * on: a number that becomes worse late is found without making good what was lost before. All
 * together are a test supermartingale; by Ville's inequality the probability that it ever reaches
 * 1/rate is at most the rate, for any stopping time. Only the sign of a comparison counts: units,
 * negative numbers and the shape of the noise do not matter, and an outlier is one comparison.
 *
 * What the null assumes, and what is done for it:
 * - A change common to both (drift, time of day) cancels in the difference.
 * - Values depend on those before them. A comparison has as many looks as the primary's own values
 *   depend on each other (2 to 12; the sum of the autocorrelations, until they are noise). What
 *   remains is met by tolerating no less than three times the primary's own spread: an excursion is
 *   rare, and not a fair coin.
 * - A new pod begins otherwise. There is no verdict while the difference shrinks: while the later
 *   half of the last comparisons (8 to 16) is below 0.8 times the earlier one. Fewer verdicts keep
 *   the rate.
 * Pods of one version that differ for good are not told from two versions: the tolerance must cover
 * them.
 *
 * Sources: J. Ville, "Etude critique de la notion de collectif" (1939); G. Shafer, "Testing by
 * betting" (2021); for the stakes of later beginnings, J. Shin, A. Ramdas, A. Rinaldo, "E-detectors:
 * a nonparametric framework for sequential change detection" (2024); for the sum of
 * autocorrelations, C. Geyer, "Practical Markov chain Monte Carlo" (1992).
 *
 * Pure, like judge/judge.h; the caller owns the evidence, which has no pointers.
 */
#ifndef JUDGE_NUMBERS_H
#define JUDGE_NUMBERS_H

#include "judge/judge.h"

enum {
    NUMBERS_BETS = 4,
    NUMBERS_RECENT = 16,  /* comparisons that show whether the difference shrinks, at most */
    NUMBERS_LEARNED = 20, /* values of the primary, at least, that show how it varies by itself */
    NUMBERS_LOOKS = 12,   /* of one comparison, at most */
    NUMBERS_PAST = 180,   /* values of the primary's past that are used, at most */
};

/* All numbers are finite. Differences are canary - primary, with the sign that positive is worse. */
struct judge_numbers {
    bool lower;         /* lower is worse */
    int64_t looks;      /* with values of both */
    double canary_last; /* of the last look */
    double primary_last;
    /* Learned from the primary's own values. block: looks of one comparison; 0: not yet known. */
    int block;
    double noise; /* their spread, like a standard deviation */
    int n_learned;
    double learned[NUMBERS_LEARNED]; /* until it is known */
    /* The open comparison. */
    int n;
    double canary[NUMBERS_LOOKS], primary[NUMBERS_LOOKS];
    /* Comparisons so far, those beyond the tolerance, and the last one: the medians of difference
     * and primary, and what was tolerated. */
    int64_t comparisons, beyond;
    double difference, level, tolerated;
    int n_recent;
    double recent[NUMBERS_RECENT]; /* differences, the oldest first */
    double won[NUMBERS_BETS];      /* logarithms of what the stakes of each p have become */
};

void judge_numbers_begin(struct judge_numbers *numbers, bool lower);

/*
 * Learns from values of the primary alone how it varies by itself, the oldest first, NaN where none
 * is. Fewer than NUMBERS_LEARNED are ignored: then the first looks teach it, and nothing is compared
 * until then.
 */
void judge_numbers_learn(struct judge_numbers *numbers, const double values[], int n);

/*
 * Adds a look. The tolerance of the policy is in the number's own unit (points) or a part of the
 * primary's level (ratio), and must be the same for all looks; the larger one holds. False if one of
 * them is no finite number: nothing was added.
 */
bool judge_numbers_add(struct judge_numbers *numbers, const struct judge_policy *policy,
                       double canary, double primary);

/* The last comparison was beyond what is tolerated. */
bool judge_numbers_beyond(const struct judge_numbers *numbers);

/* Natural logarithm of what has been won against "not worse". */
double judge_numbers_log_worse(const struct judge_numbers *numbers);

/* WORSE or UNDECIDED; to be taken after each look, like judge_verdict(). */
enum judge_verdict judge_numbers_verdict(const struct judge_numbers *numbers,
                                         const struct judge_policy *policy);

/*
 * The verdict as one sentence without a full stop, for people.
 *
 *     212 against 180 of the primary, at most 198 is tolerated; above that in 9 of 9 comparisons;
 *     odds that chance alone does this: below 1 in 100
 */
const char *judge_numbers_sentence(struct arena *arena, const struct judge_numbers *numbers,
                                   const struct judge_policy *policy);

/* As JSON, borrowed from the arena, and back; false, and empty evidence, like judge_read(). */
struct json_object *judge_numbers_write(struct arena *arena, const struct judge_numbers *numbers);
bool judge_numbers_read(struct json_object *json, struct judge_numbers *numbers);

#endif

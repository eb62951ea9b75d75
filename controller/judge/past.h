/*
 * Sequential comparison of a number of the canary with the primary's at the same time of the last
 * days: a verdict with an error rate where no traffic of both sides can be compared (after all of it
 * went to the canary; of workers).
 *
 * Each day is one number: the mean over the looks since the canary began, the same looks of each
 * day. Looks without a value of today are left out of all days, missing ones of a day out of that
 * day; a day with fewer than half of the looks does not count, and fewer than PAST_LEAST_DAYS days
 * give no verdict. The number is the mean itself, or what it is above the mean of the hour before
 * the release (on that day), whichever differs less between the past days. Today's is compared with
 * the prediction interval of one more day (n: days that count, s: their standard deviation):
 *
 *     t = (today - mean - tolerated) / (s * sqrt(1 + 1/n)), Student's with n - 3 degrees of freedom
 *
 * so that the drift between days is in the rate. The distribution has n - 1 degrees of freedom; two
 * less are used, for the choice of the number and for tails that are heavier than a normal one's.
 * The comparisons are made at PAST_FIRST looks, and whenever the looks have doubled; the k-th one
 * has the part 1 / (k (k + 1)) of the rate. The parts sum up to at most 1, and by the union bound so
 * do the false alarms, however much the comparisons depend on each other.
 *
 * What is assumed, and what is done for it:
 * - Days are like each other, and their number is normal or, where all are positive, its logarithm
 *   is (the verdict needs both). A growth within the tolerance and a weekly pattern make s larger,
 *   since seven days hold each day of the week; days with far outliers do as well.
 * - s is not less than what the looks themselves say of the error of a mean: the larger deviation
 *   within the past days and within today, over the square root of the looks, of which those of one
 *   window of the query (`overlap`) count as one. Seven days that are equal by chance, as with few
 *   events, prove little. And it is not less than a tenth of what is tolerated. If all of it is 0
 *   (always zero, and no amount is tolerated), there is no verdict.
 * - A new pod begins otherwise. There is no verdict while the later half of the looks is within the
 *   tolerance, or below 0.8 times the earlier half.
 * - A thing that comes on one day of ten by itself, and on none of the days before, is taken for the
 *   canary's: days can tell nothing of what happens less often than they are many.
 *
 * Sources: G. Hahn, W. Meeker, "Statistical intervals" (1991), chapter 4 (prediction interval for
 * one more observation of a normal distribution); M. Abramowitz, I. Stegun, "Handbook of
 * mathematical functions" (1964), 26.7.3 and 26.7.4 (Student's distribution).
 *
 * Pure, like judge/judge.h; the caller owns the evidence, which has no pointers.
 */
#ifndef JUDGE_PAST_H
#define JUDGE_PAST_H

#include "judge/judge.h"

enum {
    PAST_DAYS = 7,
    PAST_LEAST_DAYS = 5,
    PAST_FIRST = 16, /* looks of the first comparison */
    PAST_BEFORE = 6, /* points of the hour before a release, at most */
};

/* Values at one time: NaN where none is known. days[0] is yesterday. */
struct judge_past_look {
    double today, days[PAST_DAYS];
};

/* The looks of a day. */
struct judge_past_day {
    int64_t looks;
    double mean, squares; /* squares: sum of the squared distances from the mean */
    int points;           /* of the hour before */
    double before;        /* their mean */
};

/* Where today is expected at the edge of what is tolerated: the deviation is that of one more day
 * (s * sqrt(1 + 1/n)); 0: nothing is known of it. */
struct judge_past_interval {
    double expected, deviation;
};

/* The last comparison. */
struct judge_past_result {
    int days;           /* that counted; 0: too few */
    double today;       /* the mean since the canary began */
    double least, most; /* of the days' */
    bool has_logarithm; /* all are positive */
    struct judge_past_interval number, logarithm;
    bool lasts; /* the later half of the looks is beyond the tolerance as well */
};

/* All numbers are finite. */
struct judge_past {
    bool lower; /* lower is worse */
    struct judge_past_day today, days[PAST_DAYS];
    int comparisons;
    double
        earlier; /* distance from the days' mean, with the sign that positive is worse, when there
                     * were half of the looks of the next comparison */
    struct judge_past_result last;
};

void judge_past_begin(struct judge_past *past, bool lower);

/* Adds a point of the hour before the release; more than PAST_BEFORE are ignored. */
void judge_past_before(struct judge_past *past, const struct judge_past_look *point);

/*
 * Adds a look. overlap: looks that one window of the query covers, at least 1. The tolerance of the
 * policy is in the number's own unit (points) or a part of the days' mean (ratio), and must be the
 * same for all looks; the larger one holds. False if today is no finite number: nothing was added.
 */
bool judge_past_add(struct judge_past *past, const struct judge_policy *policy, double overlap,
                    const struct judge_past_look *look);

/* Days that count so far. */
int judge_past_days(const struct judge_past *past);

/* The last comparison was beyond what is tolerated of such a day; false if there was none. */
bool judge_past_beyond(const struct judge_past *past, const struct judge_policy *policy);

/* Natural logarithm of the odds against chance, for all comparisons so far; 0 if there are none. */
double judge_past_log_worse(const struct judge_past *past);

/* WORSE or UNDECIDED; to be taken after each look, like judge_verdict(). */
enum judge_verdict judge_past_verdict(const struct judge_past *past,
                                      const struct judge_policy *policy);

/*
 * The verdict as one sentence without a full stop, for people.
 *
 *     4.2 against 1.1 to 1.6 at the same time of the last 7 days, at most 1.9 is tolerated; odds
 *     that chance alone does this: below 1 in 1,000
 */
const char *judge_past_sentence(struct arena *arena, const struct judge_past *past,
                                const struct judge_policy *policy);

/* As JSON, borrowed from the arena, and back; false, and empty evidence, like judge_read(). */
struct json_object *judge_past_write(struct arena *arena, const struct judge_past *past);
bool judge_past_read(struct json_object *json, struct judge_past *past);

/* The chance that Student's variable with this many degrees of freedom, at least 1, is above t. */
double judge_student_above(double t, int degrees);

#endif

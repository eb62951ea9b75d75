/*
 * Is a canary worse than its primary? Verdicts with an error rate, of counts that come look by look.
 *
 * A look has four counts: the requests that canary and primary answered since the look before, and
 * how many of them were bad (failed, or slower than a threshold). The evidence gathers looks; after
 * each of them it may be asked for a verdict, and the release may be ended by it at once. The chance
 * that a canary that is no worse than what is tolerated is ever called worse, however often one
 * looks, is at most the false-alarm rate of the policy; likewise for calling one not worse that is.
 *
 * Pure: no I/O, no clock, no state of its own. The caller owns the evidence, which has no pointers.
 * The mathematics stands in judge/ratio.h (one look) and judge/judge.c (all of them); what is
 * assumed, and where that ends, in judge/spread.h.
 */
#ifndef JUDGE_JUDGE_H
#define JUDGE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct json_object;

/* Requests of one look, or of many. What was counted may be anything: see judge_clean(). */
struct judge_counts {
    double total, bad;
};

/*
 * What is tolerated: canary <= (1 + ratio) * primary + points, of the shares of bad requests.
 * points 0.002 is 0.2 percentage points. Negative or NaN counts as 0, too much as the most that
 * leaves something to tell.
 */
struct judge_tolerance {
    double points, ratio;
};

/*
 * false_alarm_rate: of a release, between 0 and 1, exclusively. share: how much of it this metric
 * has; the shares of all metrics of a release add up to 1 (weighted Bonferroni, see judge.c). With
 * rate * share outside (0, 1) nothing is ever shown.
 */
struct judge_policy {
    double false_alarm_rate;
    struct judge_tolerance tolerate;
    double share;
};

/* How many alternatives are bet on at once; see judge/bets.h. */
enum { JUDGE_WORSE_BETS = 10, JUDGE_NOT_WORSE_BETS = 4, JUDGE_MAX_LOOKS = 1000000000 };

/*
 * What is known after some looks. For reading: looks, canary and primary (sums of all looks). All
 * numbers are finite, and there are never more of them.
 */
struct judge_evidence {
    int64_t looks; /* at which both had requests */
    struct judge_counts canary, primary;
    /* Of the last looks, older ones fading; and the last look of each that had requests. */
    struct judge_counts recent_canary, recent_primary;
    struct judge_counts last_canary, last_primary;
    /* How far bad requests scatter from look to look, how far they would by chance, and the squares
     * of the latter. */
    double scatter, chance, squares;
    /* Logarithms of what each bet has won. */
    double worse[JUDGE_WORSE_BETS], not_worse[JUDGE_NOT_WORSE_BETS];
};

/* No look yet. */
void judge_begin(struct judge_evidence *evidence);

/*
 * Counts that can be true: none negative or infinite, bad at most total, both at most 10^12. What
 * has a NaN, an infinity or a negative number says nothing, so nothing was asked: 0 of 0.
 */
struct judge_counts judge_clean(struct judge_counts counts);

/*
 * One more look. A look whose canary or primary has no requests moves no evidence; what the primary
 * shows is learned nevertheless, so looks from before the canary has traffic make the first real one
 * stronger. The policy's tolerance must be the same at all looks of an evidence.
 */
void judge_look(struct judge_evidence *evidence, const struct judge_policy *policy,
                struct judge_counts canary, struct judge_counts primary);

enum judge_verdict { JUDGE_UNDECIDED, JUDGE_WORSE, JUDGE_NOT_WORSE };

/* Of the looks so far; WORSE goes before NOT_WORSE. It must be asked after each look, for it is not
 * kept: an alarm is one even if later looks would weaken it. */
enum judge_verdict judge_verdict(const struct judge_evidence *evidence,
                                 const struct judge_policy *policy);

/*
 * The natural logarithms of what was won by betting against "not worse", and against "worse"; -1e15
 * where the policy has no rate. At the logarithm of 1 / (rate * share) it is shown.
 */
double judge_log_worse(const struct judge_evidence *evidence, const struct judge_policy *policy);
double judge_log_not_worse(const struct judge_evidence *evidence,
                           const struct judge_policy *policy);

/*
 * Evidence as JSON, borrowed from the arena, and back. judge_read() is false, and leaves the evidence
 * as begun, when something is missing, not finite or cannot be: the caller begins anew.
 */
struct json_object *judge_write(struct arena *arena, const struct judge_evidence *evidence);
bool judge_read(struct json_object *json, struct judge_evidence *evidence);

/*
 * The verdict in one sentence without a full stop, for people. bad: what is said of bad requests,
 * e.g. "failed" or "took longer than 500 ms".
 *
 *     canary 14 of 708 requests failed (2.0 %), primary 31 of 6,370 (0.5 %); odds that chance alone
 *     does this: below 1 in 100
 */
const char *judge_sentence(struct arena *arena, const struct judge_evidence *evidence,
                           const struct judge_policy *policy, const char *bad);

#endif

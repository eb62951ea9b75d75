/*
 * Sequential comparison of a canary with its primary: verdicts with an error rate, from counts
 * that arrive sample by sample.
 *
 * A sample has four counts: the requests that canary and primary answered since the last sample,
 * and the bad ones among them (failed, or slower than a threshold). The evidence accumulates
 * samples; after each one a verdict may be taken and the release ended. The probability that a
 * canary within the tolerance is ever called worse, however often one checks, is at most the
 * false-alarm rate of the policy; likewise for calling a worse one not worse.
 *
 * Pure: no I/O, no clock, no state of its own. The caller owns the evidence, which has no
 * pointers. The mathematics is in judge/bets.h (one sample, with assumptions and limits) and
 * judge/judge.c (all samples).
 */
#ifndef JUDGE_JUDGE_H
#define JUDGE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct json_object;

/* Requests of one sample, or of many. Raw counts may be invalid: see judge_clean(). */
struct judge_counts {
    double total, bad;
};

/*
 * The tolerance: canary <= (1 + ratio) * primary + points, in shares of bad requests. points 0.002
 * is 0.2 percentage points. Negative or NaN counts as 0; values are capped so that a difference
 * remains possible.
 */
struct judge_tolerance {
    double points, ratio;
};

/*
 * false_alarm_rate: of a release, in (0, 1). share: the part of it for this metric; the shares of
 * all metrics of a release add up to 1 (weighted Bonferroni, see judge.c). With rate * share
 * outside (0, 1) there is never a verdict.
 */
struct judge_policy {
    double false_alarm_rate;
    struct judge_tolerance tolerate;
    double share;
};

/* Number of alternatives bet on at once; see judge/bets.h. */
enum { JUDGE_WORSE_BETS = 10, JUDGE_NOT_WORSE_BETS = 4, JUDGE_MAX_LOOKS = 1000000000 };

/*
 * The state after some samples. Readable: looks, canary and primary (sums of all samples since the
 * canary's first request). All numbers are finite, and their number is fixed.
 */
struct judge_evidence {
    int64_t looks; /* samples in which both had requests */
    struct judge_counts canary, primary;
    struct judge_counts
        before; /* of the primary until the canary's first request, older ones fading */
    /* Recent samples, older ones fading; and the last sample of each side with requests. */
    struct judge_counts recent_canary, recent_primary;
    struct judge_counts last_canary, last_primary;
    /*
     * Scatter of bad requests between samples, the scatter expected by chance, and the squares of
     * the latter.
     */
    double scatter, chance, squares;
    /* Logarithms of the winnings of each bet. */
    double worse[JUDGE_WORSE_BETS], not_worse[JUDGE_NOT_WORSE_BETS];
};

/* Starts without samples. */
void judge_begin(struct judge_evidence *evidence);

/*
 * Valid counts: none negative or infinite, bad at most total, both at most 10^12. A NaN, an
 * infinity or a negative number makes the count 0 of 0.
 */
struct judge_counts judge_clean(struct judge_counts counts);

/*
 * Adds a sample. A sample without requests of canary or primary adds no evidence, but the primary's
 * part is learned: samples taken before the canary has traffic (`before`) strengthen the first real
 * one. The tolerance must be the same for all samples of an evidence.
 */
void judge_add_sample(struct judge_evidence *evidence, const struct judge_policy *policy,
                      struct judge_counts canary, struct judge_counts primary);

enum judge_verdict { JUDGE_UNDECIDED, JUDGE_WORSE, JUDGE_NOT_WORSE };

/*
 * The verdict so far; WORSE takes precedence over NOT_WORSE. Must be taken after each sample, since
 * it is not stored: an alarm remains valid even if later samples would weaken it.
 */
enum judge_verdict judge_verdict(const struct judge_evidence *evidence,
                                 const struct judge_policy *policy);

/*
 * Natural logarithms of the winnings against "not worse" and against "worse"; -1e15 if the policy
 * has no rate. At the logarithm of 1 / (rate * share) there is a verdict.
 */
double judge_log_worse(const struct judge_evidence *evidence, const struct judge_policy *policy);
double judge_log_not_worse(const struct judge_evidence *evidence,
                           const struct judge_policy *policy);

/*
 * Evidence as JSON, borrowed from the arena, and back. judge_read() returns false, and empty
 * evidence, if something is missing, not finite or impossible.
 */
struct json_object *judge_write(struct arena *arena, const struct judge_evidence *evidence);
bool judge_read(struct json_object *json, struct judge_evidence *evidence);

/*
 * The verdict as one sentence without a full stop, for people. bad: the description of bad
 * requests, e.g. "failed" or "took longer than 500 ms".
 *
 *     canary 14 of 708 requests failed (2.0 %), primary 31 of 6,370 (0.5 %); odds that chance alone
 *     does this: below 1 in 100
 */
const char *judge_sentence(struct arena *arena, const struct judge_evidence *evidence,
                           const struct judge_policy *policy, const char *bad);

/* Parts of that sentence: the counts; and the reason why there is nothing to compare, NULL if there
 * is none. */
const char *judge_counted(struct arena *arena, const struct judge_evidence *evidence,
                          const struct judge_policy *policy, const char *bad);
const char *judge_silence(const struct judge_evidence *evidence);
/* 6370 as "6,370"; rounded, since requests are whole. Not negative. */
const char *judge_whole(struct arena *arena, double value);
/* 198.4 as "198.4", 2097152 as "2,097,152"; four digits beyond 10^15. */
const char *judge_number_text(struct arena *arena, double value);
/* Odds of exp(log_won) to 1, as "below 1 in 3,000": one digit, rounded to the side of caution. */
const char *judge_odds(struct arena *arena, double log_won);
/* Integers as such; other numbers with nine digits, more than their precision. The caller owns
 * it. */
struct json_object *judge_number_json(double value);

/*
 * --- Samples of a release, stored for a later evaluation under another policy: a fixed number,
 * however many were taken. When full, two neighbours are joined into one sample of both windows.
 * The canary's requests decide which: windows are short at the beginning, where a verdict saves
 * most, and longer later, but each is a small part of the whole.
 */

/* The answers of both sides since the previous sample. */
struct judge_sample {
    int64_t at_s; /* its end, in seconds since the first sample began; increasing, 0 to 10^9 */
    /* The weight at that time in hundredths of a percent, or the iteration times a hundred; up to
     * 10^11. In JSON the weight in percent, or the iteration. */
    int64_t step;
    struct judge_counts canary, primary;
};

enum { JUDGE_SERIES = 30 };

struct judge_series {
    struct judge_sample samples[JUDGE_SERIES];
    int n;
};

/*
 * Adds a sample, keeping at most `most` (2 to JUDGE_SERIES). Counts are cleaned; a sample that is
 * not later than the last one is added to that.
 */
void judge_series_add(struct judge_series *series, int most, const struct judge_sample *sample);

/*
 * [[at, step, canary's requests, its bad ones, the primary's, its bad ones], ...], borrowed from
 * the arena, and back. Reading returns false and no samples if an element is invalid, or if there
 * are more than `most`. *out lives in the arena.
 */
struct json_object *judge_samples_write(struct arena *arena, const struct judge_sample *samples,
                                        int n);
bool judge_samples_read(struct arena *arena, struct json_object *json, int most,
                        struct judge_sample **out, int *n);

#endif

/*
 * The evidence over all samples. judge/ratio.h has the evidence of one sample, judge/bets.h the
 * alternatives and the treatment of bad requests in clumps.
 *
 * Several metrics share one false-alarm rate by weighted Bonferroni: a metric with share w alarms
 * at 1 / (rate * w). The alternative, averaging the winnings, gives the same rate, but an alarm of
 * one among m metrics is diluted by the same m, an average needs the evidence of all at one time
 * (also of metrics without an answer), and it would not name the metric. Nor does Bonferroni lose
 * by dependent metrics: it holds under any dependence.
 */
#include "judge/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "judge/bets.h"
#include "judge/ratio.h"

static const double MOST_COUNT = 1e12, MOST_LOG = 1e15;

/*
 * Weight that a sum keeps with each new sample: of recent samples about eight, of those before the
 * canary had requests about fifty.
 */
static const double KEPT = 0.875, KEPT_BEFORE = 0.98;

static bool is_count(double count)
{
    return count >= 0 && count < INFINITY;
}

struct judge_counts judge_clean(struct judge_counts counts)
{
    if (!is_count(counts.total) || !is_count(counts.bad))
        return (struct judge_counts){0};
    counts.total = fmin(counts.total, MOST_COUNT);
    counts.bad = fmin(counts.bad, counts.total);
    return counts;
}

void judge_begin(struct judge_evidence *evidence)
{
    memset(evidence, 0, sizeof(*evidence));
}

static void add(struct judge_counts *sum, struct judge_counts counts)
{
    sum->total = fmin(sum->total + counts.total, MOST_COUNT);
    sum->bad = fmin(sum->bad + counts.bad, sum->total);
}

static void add_fading(struct judge_counts *sum, struct judge_counts counts, double kept)
{
    sum->total *= kept;
    sum->bad *= kept;
    add(sum, counts);
}

static void bet(const struct judge_evidence *evidence, const struct judge_null *null,
                struct judge_counts canary, struct judge_counts primary, double log_won[])
{
    struct judge_past past = {evidence->canary, evidence->before, evidence->recent_canary,
                              evidence->recent_primary};
    struct judge_shares alternatives[JUDGE_WORSE_BETS];
    int count;

    add(&past.primary, evidence->primary);
    count = judge_bets(null, &past, alternatives);
    for (int i = 0; i < count; i++) {
        log_won[i] += judge_log_ratio(null, alternatives[i], canary, primary);
        log_won[i] = fmin(fmax(log_won[i], -MOST_LOG), MOST_LOG);
    }
}

void judge_add_sample(struct judge_evidence *evidence, const struct judge_policy *policy,
                      struct judge_counts canary, struct judge_counts primary)
{
    struct judge_null not_worse = judge_null_of(policy->tolerate, false);
    struct judge_null worse = judge_null_of(policy->tolerate, true);

    canary = judge_clean(canary);
    primary = judge_clean(primary);
    if (canary.total > 0 && primary.total > 0) {
        bet(evidence, &not_worse, canary, primary, evidence->worse);
        bet(evidence, &worse, canary, primary, evidence->not_worse);
        evidence->looks += evidence->looks < JUDGE_MAX_LOOKS;
    }
    if (canary.total > 0) {
        add_fading(&evidence->recent_canary, canary, KEPT);
        add(&evidence->canary, canary);
    }
    if (primary.total > 0) {
        add_fading(&evidence->recent_primary, primary, KEPT);
        if (evidence->canary.total > 0)
            add(&evidence->primary, primary);
        else
            add_fading(&evidence->before, primary, KEPT_BEFORE);
    }
    judge_spread_add(evidence, canary, primary);
}

/* 0 if the policy has none. */
static double rate_of(const struct judge_policy *policy)
{
    double rate = policy->false_alarm_rate * policy->share;

    return rate > 0 && rate < 1 ? rate : 0;
}

/*
 * Clumps may be larger than estimated. If the estimate is too small by chance, a false alarm still
 * needs chance of its own; so it may be too small more often than a false alarm may occur, and the
 * more pairs it is made of, the less it is too small by then. The factors were found by simulation
 * (test/statistics). "Not worse" can wait: there, only as often as the rate.
 */
static const double RISK_WORSE = 16, RISK_NOT_WORSE = 1, FEW_PAIRS = 40, MOST_TIMES = 3;

static double risk_worse(const struct judge_evidence *evidence)
{
    double times = judge_pairs(evidence) / FEW_PAIRS;

    return RISK_WORSE * fmin(fmax(times, 1), MOST_TIMES);
}

double judge_log_worse(const struct judge_evidence *evidence, const struct judge_policy *policy)
{
    double rate = rate_of(policy);

    return rate == 0 ? -MOST_LOG
                     : judge_won(evidence->worse, false,
                                 judge_clumps(evidence, risk_worse(evidence) * rate));
}

double judge_log_not_worse(const struct judge_evidence *evidence, const struct judge_policy *policy)
{
    double rate = rate_of(policy);

    return rate == 0 ? -MOST_LOG
                     : judge_won(evidence->not_worse, true,
                                 judge_clumps(evidence, RISK_NOT_WORSE * rate));
}

enum judge_verdict judge_verdict(const struct judge_evidence *evidence,
                                 const struct judge_policy *policy)
{
    double rate = rate_of(policy);

    if (rate == 0)
        return JUDGE_UNDECIDED;
    if (judge_log_worse(evidence, policy) >= -log(rate))
        return JUDGE_WORSE;
    return judge_log_not_worse(evidence, policy) >= -log(rate) ? JUDGE_NOT_WORSE : JUDGE_UNDECIDED;
}

/* --- sentences for people */

enum { MAX_NUMBER = 48 };

/* 6370 as "6,370"; rounded, since requests are whole. */
static const char *whole(struct arena *arena, double value)
{
    char digits[MAX_NUMBER], text[2 * MAX_NUMBER];
    int len = snprintf(digits, sizeof(digits), "%.0f", value);
    size_t at = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return arena_strdup(arena, text);
}

/* 0.0204 as "2.0 %", 0.00034 as "0.034 %". */
static const char *percent(struct arena *arena, double share)
{
    double value = share * 100;

    if (value == 0)
        return "0 %";
    if (value >= 0.0995)
        return arena_printf(arena, "%.1f %%", value);
    return arena_printf(arena, "%.2g %%", fmax(value, 1e-4));
}

static double share_of(struct judge_counts counts)
{
    return counts.bad / counts.total;
}

/* Odds of exp(log_won) to 1, as "below 1 in 3,000": one digit, rounded to the side of caution. */
static const char *odds(struct arena *arena, double log_won)
{
    static const double MOST = 1e6;
    double won = fmin(exp(fmin(log_won, 100)) * (1 + 1e-9), MOST);
    double unit = pow(10, floor(log10(won)));

    return arena_printf(arena, "below 1 in %s", whole(arena, floor(won / unit) * unit));
}

/* The tolerance, if it is not just the primary's share. */
static const char *tolerated(struct arena *arena, const struct judge_policy *policy, double primary)
{
    struct judge_null null = judge_null_of(policy->tolerate, false);

    if (null.slope == 1 && null.offset == 0)
        return "";
    return arena_printf(arena, ", up to %s is tolerated",
                        percent(arena, fmin(judge_limit(&null, primary), 1)));
}

static const char *counted(struct arena *arena, const struct judge_evidence *evidence,
                           const struct judge_policy *policy, const char *bad)
{
    struct judge_counts canary = evidence->canary, primary = evidence->primary;

    return arena_printf(
        arena, "canary %s of %s %s %s (%s), primary %s of %s (%s%s)", whole(arena, canary.bad),
        whole(arena, canary.total), canary.total == 1 ? "request" : "requests", bad,
        percent(arena, share_of(canary)), whole(arena, primary.bad), whole(arena, primary.total),
        percent(arena, share_of(primary)), tolerated(arena, policy, share_of(primary)));
}

/* NULL if both had requests. */
static const char *silence(const struct judge_evidence *evidence)
{
    bool canary = evidence->canary.total > 0, primary = evidence->primary.total > 0;

    if (canary && primary)
        return NULL;
    if (canary)
        return "the primary had no requests to compare the canary's with";
    return evidence->before.total > 0 ? "the canary had no requests"
                                      : "neither canary nor primary had requests";
}

const char *judge_sentence(struct arena *arena, const struct judge_evidence *evidence,
                           const struct judge_policy *policy, const char *bad)
{
    const char *none = silence(evidence), *counts;
    double share = log(policy->share);

    if (none)
        return none;
    counts = counted(arena, evidence, policy, bad);
    switch (judge_verdict(evidence, policy)) {
    case JUDGE_WORSE:
        return arena_printf(arena, "%s; odds that chance alone does this: %s", counts,
                            odds(arena, judge_log_worse(evidence, policy) + share));
    case JUDGE_NOT_WORSE:
        return arena_printf(arena, "%s; odds that chance alone hides that it is worse: %s", counts,
                            odds(arena, judge_log_not_worse(evidence, policy) + share));
    case JUDGE_UNDECIDED:
        break;
    }
    return arena_printf(arena, "%s; that is too little to tell whether the canary is worse",
                        counts);
}

/*
 * The evidence over all looks. What is shown of each look stands in judge/ratio.h, which alternatives
 * are tried in judge/bets.h, and what is made of bad requests that come in clumps in judge/spread.h.
 *
 * Several metrics share one false-alarm rate by weighted Bonferroni: a metric with the share w
 * alarms at 1 / (rate * w). The other way, to average what the metrics have won, gives the same
 * rate, but one alarm among m is diluted by the same m, an average needs the evidence of all at one
 * time (also of those that had no answer), and it would not say which metric is to blame. Nor does
 * Bonferroni lose by metrics that are dependent: it holds under each dependence.
 */
#include "judge/judge.h"

#include <math.h>
#include <string.h>

#include "judge/bets.h"
#include "judge/spread.h"

static const double MOST_COUNT = 1e12, MOST_LOG = 1e15;

/* How much the sums of the last looks keep at each look: about eight of them. */
static const double KEPT = 0.875;

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

static void fade(struct judge_counts *sum)
{
    sum->total *= KEPT;
    sum->bad *= KEPT;
}

static void bet(const struct judge_evidence *evidence, const struct judge_null *null,
                struct judge_counts canary, struct judge_counts primary, double log_won[])
{
    struct judge_past past = {evidence->canary, evidence->primary, evidence->recent_canary,
                              evidence->recent_primary};
    struct judge_shares alternatives[JUDGE_WORSE_BETS];
    int count = judge_bets(null, &past, alternatives);

    for (int i = 0; i < count; i++) {
        log_won[i] += judge_log_ratio(null, alternatives[i], canary, primary);
        log_won[i] = fmin(fmax(log_won[i], -MOST_LOG), MOST_LOG);
    }
}

void judge_look(struct judge_evidence *evidence, const struct judge_policy *policy,
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
        fade(&evidence->recent_canary);
        add(&evidence->recent_canary, canary);
        add(&evidence->canary, canary);
    }
    if (primary.total > 0) {
        fade(&evidence->recent_primary);
        add(&evidence->recent_primary, primary);
        add(&evidence->primary, primary);
    }
    judge_spread_look(evidence, canary, primary);
}

/* 0: the policy has none. */
static double rate_of(const struct judge_policy *policy)
{
    double rate = policy->false_alarm_rate * policy->share;

    return rate > 0 && rate < 1 ? rate : 0;
}

/*
 * Clumps may be larger than they seem. Where the estimate is too small by luck, a false alarm still
 * takes luck of its own; so it may be too small more often than a false alarm may be. How much more
 * was found by simulation (test/judge). What is not worse has time: there, only as often as the rate.
 */
static const double RISK_WORSE = 16, RISK_NOT_WORSE = 1;

double judge_log_worse(const struct judge_evidence *evidence, const struct judge_policy *policy)
{
    double rate = rate_of(policy);

    return rate == 0 ? -MOST_LOG
                     : judge_won(evidence->worse, false, judge_clumps(evidence, RISK_WORSE * rate));
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

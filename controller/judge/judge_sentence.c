/* What the evidence says, for people. */
#include <math.h>
#include <stdio.h>

#include "base/arena.h"
#include "judge/judge.h"
#include "judge/ratio.h"

enum { MAX_NUMBER = 48 };

/* 6370 as "6,370"; whole, for nobody has asked half a request. */
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

/* What is tolerated, where that is not just the primary's share. */
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

/* NULL: both had requests. */
static const char *silence(const struct judge_evidence *evidence)
{
    bool canary = evidence->canary.total > 0, primary = evidence->primary.total > 0;

    if (canary && primary)
        return NULL;
    return canary    ? "the primary had no requests to compare the canary's with"
           : primary ? "the canary had no requests"
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

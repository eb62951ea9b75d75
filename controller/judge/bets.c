#include "judge/bets.h"

#include <math.h>

/*
 * A bet. The share of the primary is estimated from its past, as if half a request of 1/(2 * guess)
 * had been bad before: so the guess matters until something bad was seen. The share of the canary is
 * expected to have `odds` times the odds of what is tolerated (or, where the null is that it is
 * worse, of the primary); what was seen of it counts beside as many bad requests of that share as
 * `firm` says.
 */
struct bet {
    double weight, guess, odds, firm;
    bool recent; /* of the last looks only: finds what has begun lately */
};

static const double STAY = INFINITY; /* firm: what is seen of the canary moves nothing */

static const struct bet worse_bets[JUDGE_WORSE_BETS] = {
    {.weight = 0.16, .guess = 0.005, .odds = 3, .firm = 1},
    {.weight = 0.10, .guess = 0.005, .odds = 3, .firm = 1, .recent = true},
    {.weight = 0.10, .guess = 0.0005, .odds = 4, .firm = STAY},
    {.weight = 0.12, .guess = 0.005, .odds = 2, .firm = STAY},
    {.weight = 0.14, .guess = 0.005, .odds = 5, .firm = STAY},
    {.weight = 0.10, .guess = 0.005, .odds = 20, .firm = STAY},
    {.weight = 0.08, .guess = 0.02, .odds = 3, .firm = STAY},
    {.weight = 0.08, .guess = 0.1, .odds = 3, .firm = STAY},
    {.weight = 0.06, .guess = 0.0005, .odds = 50, .firm = STAY},
    {.weight = 0.06, .guess = 0.005, .odds = 1.4, .firm = STAY},
};

static const struct bet not_worse_bets[JUDGE_NOT_WORSE_BETS] = {
    {.weight = 0.4, .guess = 0.005, .odds = 1, .firm = STAY},
    {.weight = 0.3, .guess = 0.005, .odds = 1, .firm = 2},
    {.weight = 0.15, .guess = 0.005, .odds = 0.5, .firm = STAY},
    {.weight = 0.15, .guess = 0.0005, .odds = 1, .firm = 1, .recent = true},
};

static const struct bet *bets_against(bool above, int *count)
{
    *count = above ? JUDGE_NOT_WORSE_BETS : JUDGE_WORSE_BETS;
    return above ? not_worse_bets : worse_bets;
}

/* A share that leaves everything possible: no alternative is certain. */
static double possible(double share)
{
    return fmin(fmax(share, 1e-12), 1 - 1e-12);
}

static double times_odds(double share, double factor)
{
    double odds = share / (1 - share) * factor;

    return possible(odds / (1 + odds));
}

static struct judge_shares alternative_of(const struct bet *bet, const struct judge_null *null,
                                          struct judge_counts canary, struct judge_counts primary)
{
    double p = possible((0.5 + primary.bad) / (0.5 / bet->guess + primary.total));
    double from = null->above ? p : possible(judge_limit(null, p));
    double a = times_odds(from, bet->odds);

    if (bet->firm < STAY)
        a = possible((bet->firm + canary.bad) / (bet->firm / a + canary.total));
    return (struct judge_shares){.canary = a, .primary = p};
}

int judge_bets(const struct judge_null *null, const struct judge_past *past,
               struct judge_shares alternatives[])
{
    int count;
    const struct bet *bets = bets_against(null->above, &count);

    for (int i = 0; i < count; i++) {
        const struct bet *bet = &bets[i];
        alternatives[i] =
            alternative_of(bet, null, bet->recent ? past->recent_canary : past->canary,
                           bet->recent ? past->recent_primary : past->primary);
    }
    return count;
}

/*
 * By how much more clumps must be counted for one than their mean square over their mean says, where
 * a bad request multiplies what is won by e^t: large clumps are rare, but win much. For clumps whose
 * sizes fall off exponentially, that is where
 *     E[e^(t * c / G)] - 1 = E[c] / G * (e^t - 1).
 */
static double heavier(double t)
{
    return t > 0 ? t * expm1(t) / (2 * (expm1(t) - t)) : 1.2;
}

static double power_of(const struct bet *bet, double clumps)
{
    /* What follows the canary is seldom at more than five times the odds. */
    double odds = bet->odds > 1 && bet->firm < STAY ? 5 : bet->odds;

    return 1 / (1 + (clumps - 1) * heavier(log(odds)));
}

double judge_won(const double log_won[], bool above, double clumps)
{
    int count;
    const struct bet *bets = bets_against(above, &count);
    double logs[JUDGE_WORSE_BETS], most = -INFINITY, sum = 0;

    for (int i = 0; i < count; i++) {
        logs[i] =
            log(bets[i].weight) + log_won[i] * (log_won[i] > 0 ? power_of(&bets[i], clumps) : 1);
        most = fmax(most, logs[i]);
    }
    for (int i = 0; i < count; i++)
        sum += exp(logs[i] - most);
    return most + log(sum);
}

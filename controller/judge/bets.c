#include "judge/bets.h"

#include <math.h>

/* --- one sample */

/* Caps: beyond these values, a tolerance leaves no difference to find. */
static const double MOST_POINTS = 0.999, MOST_RATIO = 1e6;

static double between(double value, double least, double most)
{
    return !(value > least) ? least : value > most ? most : value;
}

struct judge_null judge_null_of(struct judge_tolerance tolerate, bool above)
{
    return (struct judge_null){.slope = 1 + between(tolerate.ratio, 0, MOST_RATIO),
                               .offset = between(tolerate.points, 0, MOST_POINTS),
                               .above = above};
}

double judge_limit(const struct judge_null *null, double primary)
{
    return null->slope * primary + null->offset;
}

bool judge_null_has(const struct judge_null *null, struct judge_shares shares)
{
    double limit = judge_limit(null, shares.primary);

    return null->above ? shares.canary >= limit : shares.canary <= limit;
}

/*
 * The nearest point lies on the edge a = s * p + d. The function to minimise is convex in p there,
 * and its derivative has the sign of
 *     h(p) = na * s * (a - a*) * p * (1 - p) + np * (p - p*) * a * (1 - a),
 * which needs no logarithm. It is negative at the lower and positive at the upper one of p* and of
 * the p with edge a*, cut to where both are shares.
 */
struct slope {
    double value, derivative;
};

static struct slope slope_at(const struct judge_null *null, struct judge_shares to, double na,
                             double np, double p)
{
    double s = null->slope, a = judge_limit(null, p);
    double canary = na * s * (a - to.canary), primary = np * (p - to.primary);

    return (struct slope){
        .value = canary * p * (1 - p) + primary * a * (1 - a),
        .derivative = na * s * s * p * (1 - p) + canary * (1 - 2 * p) + np * a * (1 - a) +
                      primary * s * (1 - 2 * a),
    };
}

/* Newton steps, with bisection if they leave the interval. */
static double root_between(const struct judge_null *null, struct judge_shares to, double na,
                           double np, double low, double high)
{
    enum { STEPS = 200 };
    double p = low + (high - low) / 2;

    for (int i = 0; i < STEPS; i++) {
        struct slope at = slope_at(null, to, na, np, p);
        double next = p - at.value / at.derivative;
        if (at.value > 0)
            high = p;
        else
            low = p;
        /* Also for NaN. The third condition: steps that hardly progress. */
        if (!(next > low && next < high) || i % 8 == 7)
            next = low > 0 && high > 4 * low ? sqrt(low) * sqrt(high) : low + (high - low) / 2;
        if (at.value == 0 || next == p || fabs(next - p) <= 1e-16 * p)
            return p;
        p = next;
    }
    return p;
}

struct judge_shares judge_nearest(const struct judge_null *null, struct judge_shares alternative,
                                  double canary_total, double primary_total)
{
    double edge = (alternative.canary - null->offset) / null->slope;
    double last = (1 - null->offset) / null->slope; /* the edge is 1 there */
    double p;

    if (judge_null_has(null, alternative))
        return alternative;
    p = root_between(null, alternative, canary_total, primary_total,
                     fmax(0, fmin(edge, alternative.primary)),
                     fmin(last, fmax(edge, alternative.primary)));
    /* Rounding must not produce a certainty. */
    return (struct judge_shares){.canary = fmin(judge_limit(null, p), 1 - 1e-15), .primary = p};
}

/* log of (x / y)^n, exact if they are close. */
static double log_power(double n, double x, double y)
{
    if (!(n > 0))
        return 0;
    return n * (fabs(x - y) < y / 2 ? log1p((x - y) / y) : log(x / y));
}

static double log_likelihood_ratio(struct judge_counts counts, double share, double null)
{
    return log_power(counts.bad, share, null) +
           log_power(counts.total - counts.bad, 1 - share, 1 - null);
}

double judge_log_ratio(const struct judge_null *null, struct judge_shares alternative,
                       struct judge_counts canary, struct judge_counts primary)
{
    if (!(canary.total > 0 && primary.total > 0) || judge_null_has(null, alternative))
        return 0;

    struct judge_shares nearest = judge_nearest(null, alternative, canary.total, primary.total);
    return log_likelihood_ratio(canary, alternative.canary, nearest.canary) +
           log_likelihood_ratio(primary, alternative.primary, nearest.primary);
}

/* --- bets */

/*
 * A bet. The share of the primary is estimated from its past, as if half a request out of 1/(2 *
 * guess) had already been bad: the guess matters until a bad request is seen. The share of the
 * canary is expected at `odds` times the odds of the tolerated share (or, if the null is that it is
 * worse, of the primary's); its own past counts beside `firm` bad requests of that share.
 */
struct bet {
    double weight, guess, odds, firm;
    bool recent; /* of the last samples only: detects recent changes */
};

static const double STAY = INFINITY; /* firm: the past of the canary has no influence */

/*
 * Most of the weight is on two to five times the odds, where evidence comes slowly: each halving of
 * a weight costs as much as a few bad requests. A much worse version is detected at once with any
 * weight. Bets that follow the canary's past find a version that becomes bad late; those with
 * another guess matter only if nothing is known about the primary.
 */
static const struct bet worse_bets[JUDGE_WORSE_BETS] = {
    {.weight = 0.05, .guess = 0.005, .odds = 3, .firm = 1},
    {.weight = 0.04, .guess = 0.005, .odds = 3, .firm = 1, .recent = true},
    {.weight = 0.04, .guess = 0.005, .odds = 1.5, .firm = STAY},
    {.weight = 0.33, .guess = 0.005, .odds = 2.3, .firm = STAY},
    {.weight = 0.21, .guess = 0.005, .odds = 3, .firm = STAY},
    {.weight = 0.23, .guess = 0.005, .odds = 4.5, .firm = STAY},
    {.weight = 0.06, .guess = 0.005, .odds = 15, .firm = STAY},
    {.weight = 0.01, .guess = 0.1, .odds = 3, .firm = STAY},
    {.weight = 0.01, .guess = 0.0005, .odds = 4, .firm = STAY},
    {.weight = 0.02, .guess = 0.0005, .odds = 50, .firm = STAY},
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

/* Keeps every outcome possible: no alternative is certain. */
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
 * The factor by which the clump size must exceed mean square over mean, if a bad request multiplies
 * the winnings by e^t: large clumps are rare but win much. For exponentially distributed clump
 * sizes that is where
 *     E[e^(t * c / G)] - 1 = E[c] / G * (e^t - 1).
 */
static double heavier(double t)
{
    return t > 0 ? t * expm1(t) / (2 * (expm1(t) - t)) : 1.2;
}

static double power_of(const struct bet *bet, double clumps)
{
    /* The canary is rarely at more than five times the odds. */
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

/* --- clumps */

/* The clump size of the single assumed pair, and the largest correction of an estimate. */
static const double UNSEEN_CLUMPS = 2, MOST_RAISED = 20, MOST_SUM = 1e25;

static void compare(struct judge_evidence *evidence, struct judge_counts *last,
                    struct judge_counts counts)
{
    double total = last->total + counts.total, bad = last->bad + counts.bad;

    if (!(counts.total > 0))
        return;
    if (last->total > 0 && bad > 0) {
        double expected = bad * (counts.total / total), off = counts.bad - expected;
        double chance = expected * (last->total / total) * (1 - bad / total);
        evidence->scatter = fmin(evidence->scatter + off * off, MOST_SUM);
        evidence->chance = fmin(evidence->chance + chance, MOST_SUM);
        evidence->squares = fmin(evidence->squares + chance * chance, MOST_SUM);
    }
    *last = counts;
}

void judge_spread_add(struct judge_evidence *evidence, struct judge_counts canary,
                      struct judge_counts primary)
{
    compare(evidence, &evidence->last_canary, canary);
    compare(evidence, &evidence->last_primary, primary);
}

/*
 * The z that a normal variable exceeds with this probability, at most a half (Abramowitz and
 * Stegun, 26.2.22).
 */
static double normal_quantile(double chance)
{
    double t = sqrt(-2 * log(fmin(chance, 0.5)));

    return fmax(0, t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t));
}

/* The mean of a chi-squared variable over its quantile of this probability (Wilson and Hilferty).
 */
static double raise(double degrees, double chance)
{
    double part = 2 / (9 * degrees), root = 1 - part - normal_quantile(chance) * sqrt(part);

    return root > 0 ? fmin(pow(root, -3), MOST_RAISED) : MOST_RAISED;
}

double judge_pairs(const struct judge_evidence *evidence)
{
    return evidence->squares > 0 ? evidence->chance * evidence->chance / evidence->squares : 0;
}

double judge_clumps(const struct judge_evidence *evidence, double chance)
{
    double sum = evidence->chance, pairs = judge_pairs(evidence);
    double unseen = pairs > 0 ? sum / pairs : 1;
    double mean = (evidence->scatter + unseen * UNSEEN_CLUMPS) / (sum + unseen);

    return fmax(1, mean * raise(pairs + 1, chance));
}

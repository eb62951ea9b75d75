#include "judge/ratio.h"

#include <math.h>

/* Caps: beyond these a tolerance leaves no difference to find. */
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
        /* Also for NaN. The third clause: steps that hardly progress. */
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

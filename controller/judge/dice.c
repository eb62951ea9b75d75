#include "judge/dice.h"

#include <math.h>
#include <stdbool.h>

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A counter whose bits are mixed. Consecutive seeds start far apart; otherwise one would repeat the
 * sequence of the other, shifted by one number. */
struct dice dice_of(uint64_t seed)
{
    return (struct dice){.state = mixed(mixed(seed + 0x632be59bd9b4e019u) + seed)};
}

static uint64_t next(struct dice *dice)
{
    return mixed(dice->state += 0x9e3779b97f4a7c15u);
}

double dice_unit(struct dice *dice)
{
    return ((double)(next(dice) >> 11) + 0.5) * 0x1p-53;
}

/* For few: adds up the probabilities of k from 0 until the sum exceeds a random number. */
static double few(struct dice *dice, double n, double share)
{
    double odds = share / (1 - share), chance = exp(n * log1p(-share)), left = dice_unit(dice);

    for (int64_t i = 0; (double)i < n; i++) {
        double k = (double)i;
        if (left < chance)
            return k;
        left -= chance;
        chance *= (n - k) / (k + 1) * odds;
    }
    return n;
}

/*
 * For many: a point under a hat over the distribution is accepted if it also lies below the
 * distribution (transformed rejection; W. Hoermann, "The generation of binomial random variates",
 * 1993).
 */
struct hat {
    double n, odds, mode, spread, a, b, center, alpha;
};

static struct hat hat_of(double n, double share)
{
    double spread = sqrt(n * share * (1 - share)), b = 1.15 + 2.53 * spread;

    return (struct hat){.n = n,
                        .odds = log(share / (1 - share)),
                        .mode = floor((n + 1) * share),
                        .spread = spread,
                        .b = b,
                        .a = -0.0873 + 0.0248 * b + 0.01 * share,
                        .center = n * share + 0.5,
                        .alpha = (2.83 + 5.1 / b) * spread};
}

static bool below(const struct hat *hat, double k, double us, double v)
{
    double log_chance = lgamma(hat->mode + 1) + lgamma(hat->n - hat->mode + 1) - lgamma(k + 1) -
                        lgamma(hat->n - k + 1) + (k - hat->mode) * hat->odds;

    return log(v * hat->alpha / (hat->a / (us * us) + hat->b)) <= log_chance;
}

static double many(struct dice *dice, double n, double share)
{
    struct hat hat = hat_of(n, share);

    while (true) {
        double u = dice_unit(dice) - 0.5, v = dice_unit(dice), us = 0.5 - fabs(u);
        double k = floor((2 * hat.a / us + hat.b) * u + hat.center);
        if (us >= 0.07 && v <= 0.92 - 4.2 / hat.b)
            return k;
        if (k >= 0 && k <= n && below(&hat, k, us, v))
            return k;
    }
}

double dice_binomial(struct dice *dice, double n, double share)
{
    if (!(n > 0 && share > 0))
        return 0;
    if (share > 0.5)
        return n - dice_binomial(dice, n, 1 - share);
    return n * share < 10 ? few(dice, n, share) : many(dice, n, share);
}

/* Drawn as a part of many that are rare. */
double dice_poisson(struct dice *dice, double mean)
{
    return mean > 0 ? dice_binomial(dice, 1e9, mean / 1e9) : 0;
}

double dice_geometric(struct dice *dice, double mean)
{
    return mean > 1 ? 1 + floor(log(dice_unit(dice)) / log1p(-1 / mean)) : 1;
}

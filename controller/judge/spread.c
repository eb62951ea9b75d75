#include "judge/spread.h"

#include <math.h>

/* The clumps of the pair that nobody has seen, and the most that an estimate is raised. */
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

void judge_spread_look(struct judge_evidence *evidence, struct judge_counts canary,
                       struct judge_counts primary)
{
    compare(evidence, &evidence->last_canary, canary);
    compare(evidence, &evidence->last_primary, primary);
}

/* The z that a normal variable is above by this chance, of at most a half (Abramowitz and Stegun,
 * 26.2.22). */
static double normal_quantile(double chance)
{
    double t = sqrt(-2 * log(fmin(chance, 0.5)));

    return fmax(0, t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t));
}

/* The mean of a chi-squared variable over what it is below by this chance (Wilson and Hilferty). */
static double raise(double degrees, double chance)
{
    double part = 2 / (9 * degrees), root = 1 - part - normal_quantile(chance) * sqrt(part);

    return root > 0 ? fmin(pow(root, -3), MOST_RAISED) : MOST_RAISED;
}

double judge_clumps(const struct judge_evidence *evidence, double chance)
{
    double sum = evidence->chance;
    /* Pairs count by what they can tell: many equal ones as such, small ones beside a large one not. */
    double pairs = evidence->squares > 0 ? sum * sum / evidence->squares : 0;
    double unseen = pairs > 0 ? sum / pairs : 1;
    double mean = (evidence->scatter + unseen * UNSEEN_CLUMPS) / (sum + unseen);

    return fmax(1, mean * raise(pairs + 1, chance));
}

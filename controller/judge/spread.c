#include "judge/spread.h"

#include <math.h>

/* Before anything was seen: as if a few bad requests had been seen that came in small clumps. */
static const double FIRST_CHANCE = 1, FIRST_CLUMPS = 2;

static void compare(struct judge_evidence *evidence, struct judge_counts *last,
                    struct judge_counts counts)
{
    double total = last->total + counts.total, bad = last->bad + counts.bad;

    if (!(counts.total > 0))
        return;
    if (last->total > 0 && bad > 0) {
        double expected = bad * (counts.total / total);
        evidence->scatter += (counts.bad - expected) * (counts.bad - expected);
        evidence->chance += expected * (last->total / total) * (1 - bad / total);
    }
    *last = counts;
}

void judge_spread_look(struct judge_evidence *evidence, struct judge_counts canary,
                       struct judge_counts primary)
{
    compare(evidence, &evidence->last_canary, canary);
    compare(evidence, &evidence->last_primary, primary);
}

double judge_clumps(const struct judge_evidence *evidence)
{
    return fmax(1, (evidence->scatter + FIRST_CHANCE * FIRST_CLUMPS) /
                       (evidence->chance + FIRST_CHANCE));
}

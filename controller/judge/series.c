#include "judge/series.h"

#include <math.h>
#include <string.h>

/* Windows at the end of a release may be so much of it, beside those at its beginning. */
static const double WHOLE_SHARE = 0.25;

/* Looks of two steps are kept apart for longer: what a step was made of can be told then. */
static const double OTHER_STEP = 4;

static void join(struct judge_sample *sample, const struct judge_sample *next)
{
    sample->at_s = next->at_s > sample->at_s ? next->at_s : sample->at_s;
    sample->step = next->step;
    sample->canary.total += next->canary.total;
    sample->canary.bad += next->canary.bad;
    sample->primary.total += next->primary.total;
    sample->primary.bad += next->primary.bad;
}

/* How much of what was known at its end the window of both would be. */
static double coarseness(const struct judge_sample *one, const struct judge_sample *next,
                         double until_next, double whole)
{
    double both = one->canary.total + next->canary.total;

    return both / (1 + until_next + whole * WHOLE_SHARE) *
           (one->step == next->step ? 1 : OTHER_STEP);
}

static void join_two(struct judge_series *series)
{
    double whole = 0, until = 0, least = INFINITY;
    int best = 0;

    for (int i = 0; i < series->n; i++)
        whole += series->samples[i].canary.total;
    for (int i = 0; i + 1 < series->n; i++) {
        const struct judge_sample *one = &series->samples[i];
        until += one->canary.total;
        double found = coarseness(one, one + 1, until + one[1].canary.total, whole);
        if (found < least) {
            least = found;
            best = i;
        }
    }
    join(&series->samples[best], &series->samples[best + 1]);
    series->n--;
    memmove(&series->samples[best + 1], &series->samples[best + 2],
            (size_t)(series->n - best - 1) * sizeof(series->samples[0]));
}

void judge_series_add(struct judge_series *series, int most, const struct judge_sample *sample)
{
    struct judge_sample clean = *sample;

    clean.canary = judge_clean(sample->canary);
    clean.primary = judge_clean(sample->primary);
    if (series->n > 0 && clean.at_s <= series->samples[series->n - 1].at_s) {
        join(&series->samples[series->n - 1], &clean);
        return;
    }
    while (series->n >= most || series->n >= JUDGE_SERIES)
        join_two(series);
    series->samples[series->n++] = clean;
}

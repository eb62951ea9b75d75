#include "judge/power.h"

#include <math.h>
#include <stdlib.h>

#include "judge/dice.h"

/* Longer courses are sampled less often. */
static const double MOST_LOOKS = 400;
/* PASTS: the pasts of the primary with which releases begin in turn, since playing one takes
 * longest. */
enum { PASTS = 8, SEARCH_RUNS = 200, SEARCH_STEPS = 9 };
static const uint64_t SEED = 1;

/* --- a release */

static struct judge_counts draw(const struct power_course *course, struct dice *dice,
                                double requests, double share)
{
    struct judge_counts counts = {.total = dice_poisson(dice, requests)};

    if (course->clump <= 1)
        counts.bad = dice_binomial(dice, counts.total, share);
    else
        counts.bad = fmin(course->clump * dice_poisson(dice, counts.total * share / course->clump),
                          counts.total);
    return counts;
}

struct played {
    double requests, seconds; /* INFINITY: the canary was not called worse */
};

static void learn(struct judge_evidence *evidence, const struct judge_policy *policy,
                  const struct power_course *course, struct dice *dice)
{
    double requests = course->per_second * course->every_s;

    judge_begin(evidence);
    for (int i = 0; i < course->before; i++)
        judge_add_sample(evidence, policy, (struct judge_counts){0},
                         draw(course, dice, requests, course->primary));
}

/* A step lasts as long as the policy says, and longer while there is too little evidence. */
static bool lasts(const struct power_course *course, const struct power_stretch *stretch,
                  double stayed, bool enough)
{
    return stayed < stretch->seconds || (!enough && stayed < stretch->seconds + course->max_wait_s);
}

static struct played play(const struct judge_policy *policy, const struct power_course *course,
                          struct judge_evidence evidence, double every_s, double canary,
                          struct dice *dice)
{
    struct played played = {0};
    double requests = course->per_second * every_s;

    for (int i = 0; i < course->n; i++) {
        const struct power_stretch *stretch = &course->stretches[i];
        double stayed = 0, seen = 0;
        bool enough = !(stretch->canary > 0);
        while (lasts(course, stretch, stayed, enough)) {
            struct judge_counts here = draw(course, dice, requests * stretch->canary, canary);
            struct judge_counts there =
                draw(course, dice, requests * stretch->primary, course->primary);
            judge_add_sample(&evidence, policy, here, there);
            stayed += every_s;
            seen += here.total;
            played.requests += here.total;
            played.seconds += every_s;
            enum judge_verdict verdict = judge_verdict(&evidence, policy);
            if (verdict == JUDGE_WORSE)
                return played;
            enough |= verdict == JUDGE_NOT_WORSE || seen >= course->min_requests;
        }
    }
    return (struct played){INFINITY, INFINITY};
}

/* --- many releases */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double every_of(const struct power_course *course)
{
    double seconds = 0;

    for (int i = 0; i < course->n; i++)
        seconds += course->stretches[i].seconds;
    return fmax(course->every_s, seconds / MOST_LOOKS);
}

struct power_found power_of(const struct judge_policy *policy, const struct power_course *course,
                            double canary, int runs)
{
    double requests[POWER_MOST], seconds[POWER_MOST], every_s = every_of(course);
    struct judge_evidence pasts[PASTS];
    struct dice dice = dice_of(SEED);
    int n = runs < 1 ? 1 : runs > POWER_MOST ? POWER_MOST : runs, found = 0;

    for (int i = 0; i < PASTS; i++)
        learn(&pasts[i], policy, course, &dice);
    for (int i = 0; i < n; i++) {
        struct played played = play(policy, course, pasts[i % PASTS], every_s, canary, &dice);
        requests[i] = played.requests;
        seconds[i] = played.seconds;
        found += isfinite(played.seconds);
    }
    qsort(requests, (size_t)n, sizeof(*requests), compare);
    qsort(seconds, (size_t)n, sizeof(*seconds), compare);
    return (struct power_found){.share = (double)found / n,
                                .half_requests = requests[n / 2],
                                .half_seconds = seconds[n / 2],
                                .most_requests = requests[n * 9 / 10],
                                .most_seconds = seconds[n * 9 / 10]};
}

/* The share of bad requests that lies `excess` of the way from the tolerated share to 1. */
static double share_at(const struct judge_policy *policy, const struct power_course *course,
                       double excess)
{
    const struct judge_tolerance *tolerate = &policy->tolerate;
    double least =
        fmin(course->primary * (1 + fmax(tolerate->ratio, 0)) + fmax(tolerate->points, 0), 1);

    return least + (1 - least) * excess;
}

double power_least(const struct judge_policy *policy, const struct power_course *course,
                   double wanted)
{
    double low = log(1e-6), high = 0;

    if (power_of(policy, course, 1, SEARCH_RUNS).share < wanted)
        return NAN;
    for (int i = 0; i < SEARCH_STEPS; i++) {
        double middle = (low + high) / 2;
        double share = share_at(policy, course, exp(middle));
        if (power_of(policy, course, share, SEARCH_RUNS).share < wanted)
            low = middle;
        else
            high = middle;
    }
    return share_at(policy, course, exp(high));
}

#include "test/statistics/release.h"

#include <math.h>

#include "test/statistics/ranks.h"

enum { MAX_METRICS = 10, MAX_FAILED = 5 };

static const double MOST_BAD = 0.01;

static void take(struct judge_evidence *evidence, const struct judging *judging, struct both look)
{
    struct judge_policy policy = judging->policy;

    if (judging->lie == LIE_TOLERANCE)
        policy.tolerate = (struct judge_tolerance){0};
    judge_add_sample(evidence, &policy, look.canary, look.primary);
    if (judging->lie == LIE_TWICE)
        judge_add_sample(evidence, &policy, look.canary, look.primary);
    if (judging->lie != LIE_CLUMPS)
        return;
    evidence->scatter = 0;
    evidence->chance = 1e9;
    evidence->squares = 1;
}

static enum judge_verdict verdict_of(const struct judge_evidence *evidence,
                                     const struct judging *judging)
{
    struct judge_policy policy = judging->policy;

    if (judging->lie == LIE_BOUND) {
        policy.false_alarm_rate = sqrt(policy.false_alarm_rate * policy.share);
        policy.share = 1;
    }
    return judge_verdict(evidence, &policy);
}

/* The primary before the canary has requests. */
static void learn(const struct scene *scene, const struct judging *judging, struct dice *dice,
                  struct judge_evidence evidence[])
{
    for (int i = judging->before; i > 0; i--) {
        double seconds = -(double)i * LOOK_SECONDS;
        struct both look = world_look(scene, dice, seconds, 0);
        for (int j = 0; j < judging->metrics; j++) {
            world_bad(scene, dice, seconds, &look);
            take(&evidence[j], judging, look);
        }
    }
}

/* All metrics at one look. */
static void look_at(const struct scene *scene, const struct judging *judging, struct dice *dice,
                    struct judge_evidence evidence[], struct both look, struct outcome *outcome)
{
    for (int i = 0; i < judging->metrics; i++) {
        world_bad(scene, dice, outcome->seconds, &look);
        take(&evidence[i], judging, look);
        enum judge_verdict verdict = verdict_of(&evidence[i], judging);
        outcome->worse |= verdict == JUDGE_WORSE;
        outcome->not_worse |= verdict == JUDGE_NOT_WORSE;
    }
}

struct outcome release_judged(const struct scene *scene, const struct judging *judging,
                              struct dice *dice)
{
    struct judge_evidence evidence[MAX_METRICS];
    struct outcome outcome = {0};

    for (int i = 0; i < judging->metrics; i++)
        judge_begin(&evidence[i]);
    learn(scene, judging, dice, evidence);
    while (outcome.seconds < scene_seconds(scene) && !outcome.worse) {
        double weight = scene_weight(scene, (int)(outcome.seconds / STEP_SECONDS));
        struct both look = world_look(scene, dice, outcome.seconds, weight);
        look_at(scene, judging, dice, evidence, look, &outcome);
        outcome.seconds += LOOK_SECONDS;
        outcome.requests += look.canary.total;
    }
    return outcome;
}

/* The shares of bad requests at each look. */
struct measured {
    double canary[RANKS_MOST], primary[RANKS_MOST];
    size_t n_canary, n_primary;
};

static void measure(struct measured *measured, const struct both *look)
{
    if (look->canary.total > 0 && measured->n_canary < RANKS_MOST)
        measured->canary[measured->n_canary++] = look->canary.bad / look->canary.total;
    if (look->primary.total > 0 && measured->n_primary < RANKS_MOST)
        measured->primary[measured->n_primary++] = look->primary.bad / look->primary.total;
}

struct outcome release_ranked(const struct scene *scene, struct dice *dice)
{
    struct measured measured = {0};
    struct outcome outcome = {0};

    for (int step = 0; step < scene->steps && !outcome.worse; step++) {
        for (int i = 0; i < STEP_SECONDS / LOOK_SECONDS; i++) {
            struct both look = world_look(scene, dice, outcome.seconds, scene_weight(scene, step));
            world_bad(scene, dice, outcome.seconds, &look);
            measure(&measured, &look);
            outcome.seconds += LOOK_SECONDS;
            outcome.requests += look.canary.total;
        }
        outcome.worse =
            ranks_higher(measured.canary, measured.n_canary, measured.primary, measured.n_primary);
    }
    return outcome;
}

static bool check(const struct scene *scene, struct dice *dice, int step, struct outcome *outcome)
{
    struct judge_counts sum = {0};

    for (int i = 0; i < STEP_SECONDS / LOOK_SECONDS; i++) {
        struct both look = world_look(scene, dice, outcome->seconds, scene_weight(scene, step));
        world_bad(scene, dice, outcome->seconds, &look);
        sum.total += look.canary.total;
        sum.bad += look.canary.bad;
        outcome->seconds += LOOK_SECONDS;
    }
    outcome->requests += sum.total;
    return sum.bad <= MOST_BAD * sum.total;
}

struct outcome release_checked(const struct scene *scene, struct dice *dice)
{
    struct outcome outcome = {0};
    int failed = 0, step = 0;

    while (step < scene->steps && failed < MAX_FAILED) {
        if (check(scene, dice, step, &outcome))
            step++;
        else
            failed++;
    }
    outcome.worse = failed == MAX_FAILED;
    return outcome;
}

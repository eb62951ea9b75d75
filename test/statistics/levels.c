#include "test/statistics/levels.h"

#include <math.h>

static const double DAY_SECONDS = 1200, MINUTE = 60, OUTLIER = 5;

#define TENTH .tolerate = {.ratio = 0.1}

/* Megabytes of memory, and queues. */
const struct level_world level_worlds[] = {
    {.name = "steady", .level = 180, .noise = 4, TENTH},
    {.name = "noise of a tenth", .level = 180, .noise = 18, TENTH},
    {.name = "noise that lasts", .level = 180, .noise = 8, .memory = 0.9, TENTH},
    {.name = "noise that lasts long", .level = 180, .noise = 8, .memory = 0.98, TENTH, .few = true},
    {.name = "noise, nothing tolerated", .level = 180, .noise = 4},
    {.name = "lasting, nothing tolerated", .level = 180, .noise = 4, .memory = 0.9, .few = true},
    {.name = "drift of both",
     .level = 180,
     .noise = 4,
     .memory = 0.5,
     .drift = 2,
     TENTH,
     .few = true},
    {.name = "by the day", .level = 180, .noise = 4, .day = 0.3, TENTH},
    {.name = "outliers", .level = 180, .noise = 4, .outliers = 0.05, TENTH},
    {.name = "a start of a minute", .level = 180, .noise = 4, .start = 1, .fades = 60, TENTH},
    {.name = "a start of four",
     .level = 180,
     .noise = 4,
     .start = 0.5,
     .fades = 240,
     TENTH,
     .few = true},
    {.name = "8 % more", .level = 180, .noise = 4, .more = 0.08, TENTH, .few = true},
    {.name = "at the edge, 10 % more", .level = 180, .noise = 4, .more = 0.1, TENTH, .few = true},
    {.name = "a queue of 5", .level = 5, .counted = true, TENTH},
    {.name = "a queue of 0.2", .level = 0.2, .counted = true, TENTH},
    {.name = "constant", .level = 7, TENTH},
    {.name = "zero", .level = 0, TENTH, .few = true},
    {.name = "20 % less", .level = 180, .noise = 4, .more = -0.2, TENTH, .few = true},
    {.name = "lower is worse", .level = 180, .noise = 4, .lower = true, TENTH},
    {.name = "steady, not known", .level = 180, .noise = 4, .unknown = true, TENTH},
    {.name = "lasting, not known", .level = 180, .noise = 8, .memory = 0.9, .unknown = true, TENTH},
    {.name = "20 % more", .level = 180, .noise = 4, .more = 0.2, TENTH, .bad = true},
    {.name = "20 % more, noise of 5 %", .level = 180, .noise = 9, .more = 0.2, TENTH, .bad = true},
    {.name = "20 % more, lasting noise",
     .level = 180,
     .noise = 4,
     .memory = 0.9,
     .more = 0.2,
     TENTH,
     .bad = true},
    {.name = "20 % more, outliers",
     .level = 180,
     .noise = 4,
     .outliers = 0.05,
     .more = 0.2,
     TENTH,
     .bad = true},
    {.name = "20 % more, not known",
     .level = 180,
     .noise = 4,
     .more = 0.2,
     .unknown = true,
     TENTH,
     .bad = true},
    {.name = "twice as much", .level = 180, .noise = 4, .more = 1, TENTH, .bad = true},
    {.name = "20 % less of what is good",
     .level = 180,
     .noise = 4,
     .more = -0.2,
     .lower = true,
     TENTH,
     .bad = true},
    {.name = "leak, 1 a minute", .level = 180, .noise = 2, .grows = 1, TENTH, .bad = true},
    {.name = "leak, 1 a minute, 5 tolerated",
     .level = 180,
     .noise = 1,
     .grows = 1,
     .tolerate = {.points = 5},
     .bad = true},
    {.name = "leak of 2 from minute 10 on",
     .level = 180,
     .noise = 2,
     .grows = 2,
     .from = 10,
     TENTH,
     .bad = true},
    {.name = "a queue of 5 that grows by 2",
     .level = 5,
     .counted = true,
     .grows = 2,
     TENTH,
     .bad = true},
    {.name = "a queue of 0 that grows by 1", .level = 0, .grows = 1, TENTH, .bad = true},
};
const int level_worlds_count = sizeof(level_worlds) / sizeof(level_worlds[0]);

static double normal(struct dice *dice)
{
    return sqrt(-2 * log(dice_unit(dice))) * cos(2 * M_PI * dice_unit(dice));
}

static double noise(const struct level_world *world, struct dice *dice, double *last)
{
    *last = world->memory * *last + sqrt(1 - world->memory * world->memory) * normal(dice);
    return world->noise * *last;
}

/* Of both, without noise. */
static double base(const struct level_world *world, double seconds)
{
    return (world->level + world->drift * seconds / MINUTE) *
           (1 + world->day * sin(2 * M_PI * seconds / DAY_SECONDS));
}

static double extra(const struct level_world *world, double level, double seconds)
{
    double start = world->fades > 0 ? world->start * exp(-seconds / world->fades) : 0;

    return level * (world->more + start) + world->grows * fmax(seconds / MINUTE - world->from, 0);
}

static double shown(const struct level_world *world, struct dice *dice, double mean, double *last)
{
    double value = world->counted ? dice_poisson(dice, mean) : mean + noise(world, dice, last);

    return world->outliers > 0 && dice_unit(dice) < world->outliers ? value * OUTLIER : value;
}

/* --- a release under a judge, sound or broken */

struct judged {
    enum lie lie;
    struct judge_policy policy;
    struct judge_numbers numbers;
    double first; /* of the primary */
};

/* The values of a canary that a broken judge is shown. */
static double seen_canary(const struct judged *judged, double canary, double primary)
{
    if (judged->lie == LIE_SIGN)
        return primary + fabs(canary - primary);
    return judged->lie == LIE_EDGE ? nextafter(canary, INFINITY) : canary;
}

static void keep_losses(struct judge_numbers *numbers, const struct judge_numbers *before)
{
    for (int i = 0; i < NUMBERS_BETS; i++)
        numbers->won[i] = fmax(numbers->won[i], before->won[i]);
}

static void look(struct judged *judged, double canary, double primary)
{
    struct judge_numbers *numbers = &judged->numbers, before = *numbers;
    struct judge_policy policy = judged->policy;

    if (judged->lie == LIE_TOLERANCE)
        policy.tolerate = (struct judge_tolerance){0};
    if (judged->lie == LIE_SPREAD)
        numbers->noise = 0;
    if (judged->lie == LIE_BLOCK && numbers->block > 0)
        numbers->block = 1;
    if (numbers->looks == 0)
        judged->first = primary;
    judge_numbers_add(numbers, &policy, seen_canary(judged, canary, primary),
                      judged->lie == LIE_PAST ? judged->first : primary);
    if (judged->lie == LIE_LOSSES)
        keep_losses(numbers, &before);
}

static bool is_worse(const struct judged *judged)
{
    struct judge_policy policy = judged->policy;
    double rate = policy.false_alarm_rate * policy.share;

    if (judged->lie == LIE_BOUND)
        policy.false_alarm_rate = sqrt(policy.false_alarm_rate);
    if (judged->lie == LIE_START)
        return judge_numbers_log_worse(&judged->numbers) >= -log(rate);
    return judge_numbers_verdict(&judged->numbers, &policy) == JUDGE_WORSE;
}

struct level_outcome level_release(const struct level_world *world, double rate, enum lie lie,
                                   struct dice *dice)
{
    struct judged judged = {
        .lie = lie, .policy = {.false_alarm_rate = rate, .tolerate = world->tolerate, .share = 1}};
    double before[LEVELS_BEFORE], primary = normal(dice), canary = normal(dice);
    struct level_outcome outcome = {0};

    judge_numbers_begin(&judged.numbers, world->lower);
    for (int i = 0; i < LEVELS_BEFORE; i++)
        before[i] =
            shown(world, dice, base(world, (double)(i - LEVELS_BEFORE) * LEVELS_SECONDS), &primary);
    if (!world->unknown)
        judge_numbers_learn(&judged.numbers, before, LEVELS_BEFORE);
    while (outcome.looks < LEVELS_LOOKS && !outcome.worse) {
        double seconds = (double)outcome.looks++ * LEVELS_SECONDS, level = base(world, seconds);
        double shown_primary = shown(world, dice, level, &primary);
        double shown_canary = shown(world, dice, level + extra(world, level, seconds), &canary);
        look(&judged, shown_canary, shown_primary);
        outcome.worse = is_worse(&judged);
    }
    return outcome;
}

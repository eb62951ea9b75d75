#include "test/statistics/days.h"

#include <math.h>
#include <string.h>

#define TENTH .tolerate = {.ratio = 0.1}

enum { HOUR_POINT = 600, DAY_SECONDS = 24 * 3600, WEEK = 7, WORKDAYS = 5, MOST_OVERLAP = 12 };

const struct day_world day_worlds[] = {
    {.name = "equal days", .level = 180, .noise = 0.02, TENTH},
    {.name = "equal days, nothing tolerated", .level = 180, .noise = 0.05},
    {.name = "days differ by 10 %", .level = 180, .noise = 0.02, .days = 0.1, TENTH},
    {.name = "by 10 %, nothing tolerated", .level = 180, .noise = 0.02, .days = 0.1, .few = true},
    {.name = "by 30 %", .level = 180, .noise = 0.02, .days = 0.3, TENTH},
    {.name = "by 30 %, skewed", .level = 180, .noise = 0.05, .days = 0.3, .skewed = true},
    {.name = "by a factor of 2, skewed", .level = 180, .noise = 0.05, .days = 0.7, .skewed = true},
    {.name = "hours differ by 10 %", .level = 180, .noise = 0.02, .apart = 0.1, .few = true},
    {.name = "days by 20 %, hours by 10 %", .level = 180, .noise = 0.02, .days = 0.2, .apart = 0.1},
    {.name = "days by 10 %, hours by 8 %",
     .level = 180,
     .noise = 0.02,
     .days = 0.1,
     .apart = 0.08,
     .few = true},
    {.name = "daily cycle", .level = 180, .noise = 0.02, .days = 0.05, .cycle = 0.5, TENTH},
    {.name = "daily cycle, days by 20 %", .level = 180, .noise = 0.02, .days = 0.2, .cycle = 0.5},
    {.name = "weekends have half", .level = 180, .noise = 0.02, .days = 0.05, .weekend = -0.5},
    {.name = "weekends have twice", .level = 180, .noise = 0.02, .days = 0.05, .weekend = 1},
    {.name = "growth of 2 % a day",
     .level = 180,
     .noise = 0.02,
     .days = 0.03,
     .growth = 0.02,
     TENTH},
    {.name = "one outage in the past", .level = 180, .noise = 0.02, .days = 0.1, .outage = 4},
    {.name = "one day without", .level = 180, .noise = 0.02, .days = 0.1, .outage = -1},
    {.name = "far days (t of 5)", .level = 180, .noise = 0.02, .days = 0.05, .far = 5, TENTH},
    {.name = "far days (t of 3)", .level = 180, .noise = 0.02, .days = 0.05, .far = 3, TENTH},
    {.name = "t of 3, nothing tolerated", .level = 180, .noise = 0.02, .days = 0.05, .far = 3},
    {.name = "hours by 10 %, t of 5", .level = 180, .noise = 0.02, .apart = 0.1, .far = 5},
    {.name = "hours by 10 %, t of 3", .level = 180, .noise = 0.02, .apart = 0.1, .far = 3},
    {.name = "hours by 50 %, skewed", .level = 180, .noise = 0.02, .apart = 0.5, .skewed = true},
    {.name = "lasting noise", .level = 180, .noise = 0.1, .memory = 0.98, TENTH},
    {.name = "lasting, nothing tolerated", .level = 180, .noise = 0.1, .memory = 0.98, .few = true},
    {.name = "lasting for hours", .level = 180, .noise = 0.1, .memory = 0.999, .few = true},
    {.name = "missing days and looks", .level = 180, .noise = 0.02, .days = 0.1, .missing = 0.2},
    {.name = "5 events a look", .level = 5, .counted = true, TENTH},
    {.name = "1 event in 5 looks", .level = 0.2, .counted = true, TENTH},
    {.name = "1 event in 20 looks", .level = 0.05, .counted = true, TENTH},
    {.name = "1 event in 100 looks", .level = 0.01, .counted = true, TENTH},
    {.name = "1 event in 1000 looks", .level = 0.001, .counted = true, TENTH},
    {.name = "1 in 5, windows of 6", .level = 0.2, .counted = true, .overlap = 6, TENTH},
    {.name = "1 in 20, windows of 6",
     .level = 0.05,
     .counted = true,
     .overlap = 6,
     TENTH,
     .few = true},
    {.name = "1 in 100, windows of 6", .level = 0.01, .counted = true, .overlap = 6, TENTH},
    {.name = "1 in 20, days by 50 %", .level = 0.05, .counted = true, .days = 0.5, .skewed = true},
    {.name = "start with 50 %, of 3 min",
     .level = 180,
     .noise = 0.02,
     .days = 0.03,
     .start = 0.5,
     .fades = 180,
     TENTH},
    {.name = "at the edge, 10 % more",
     .level = 180,
     .noise = 0.02,
     .days = 0.05,
     .more = 0.1,
     TENTH},
    {.name = "lower is worse", .level = 0.99, .noise = 0.01, .days = 0.02, .lower = true},
    {.name = "constant", .level = 7, TENTH},
    {.name = "zero", TENTH},
    {.name = "days of five times, one in 10",
     .level = 180,
     .noise = 0.02,
     .seldom = 0.1,
     .limit = true},
    {.name = "days of five times, one in 100",
     .level = 180,
     .noise = 0.02,
     .seldom = 0.01,
     .limit = true},
#define FAULT(text, by, ...)                                                                       \
    {                                                                                              \
        .name = text, .level = 180, .noise = 0.02, .days = by, __VA_ARGS__, TENTH, .bad = true     \
    }
    FAULT("20 % more, days by 1 %", 0.01, .more = 0.2),
    FAULT("20 % more, days by 5 %", 0.05, .more = 0.2),
    FAULT("50 % more, days by 5 %", 0.05, .more = 0.5),
    FAULT("50 % more, days by 10 %", 0.1, .more = 0.5),
    FAULT("twice, days by 10 %", 0.1, .more = 1),
    FAULT("twice, days by 30 %", 0.3, .more = 1, .few = true),
    FAULT("twice, days by 5 %, cycle", 0.05, .more = 1, .cycle = 0.5),
    FAULT("twice, one outage in the past", 0.05, .more = 1, .outage = 4),
    FAULT("twice, weekends have half", 0.05, .more = 1, .weekend = -0.5),
    FAULT("leak, 1 % a minute, days by 5 %", 0.05, .grows = 0.01),
    FAULT("50 % more from minute 10 on", 0.05, .more = 0.5, .from = 10),
    FAULT("20 % more, hours by 5 %", 0.1, .more = 0.2, .apart = 0.05),
    FAULT("50 % more, hours by 5 %", 0.1, .more = 0.5, .apart = 0.05),
    FAULT("50 % more, hours by 10 %", 0.1, .more = 0.5, .apart = 0.1),
    FAULT("twice, hours by 10 %", 0.1, .more = 1, .apart = 0.1),
    FAULT("twice, hours by 20 %", 0.1, .more = 1, .apart = 0.2),
    FAULT("50 % more, 20 % missing", 0.05, .more = 0.5, .missing = 0.2),
    FAULT("20 % less of what is good", 0.01, .more = -0.2, .lower = true),
    {.name = "1 event in 20 looks, 5 times",
     .level = 0.05,
     .counted = true,
     .more = 4,
     TENTH,
     .bad = true},
    {.name = "1 event a look, twice", .level = 1, .counted = true, .more = 1, TENTH, .bad = true},
    {.name = "5 events a look, 50 % more",
     .level = 5,
     .counted = true,
     .more = 0.5,
     TENTH,
     .bad = true},
    {.name = "constant, 30 % more", .level = 7, .more = 0.3, TENTH, .bad = true},
#undef FAULT
};
const int day_worlds_count = sizeof(day_worlds) / sizeof(day_worlds[0]);

static double normal(struct dice *dice)
{
    return sqrt(-2 * log(dice_unit(dice))) * cos(2 * M_PI * dice_unit(dice));
}

/* Student's, with a standard deviation of 1. */
static double far(struct dice *dice, double degrees)
{
    double squares = 0, top = normal(dice);

    for (int i = 0; i < (int)degrees; i++) {
        double one = normal(dice);
        squares += one * one;
    }
    return top / sqrt(squares / degrees) / sqrt(degrees / (degrees - 2));
}

/* A day while it is played. */
struct day {
    double factor, apart, phase, noise;
    bool missing;
    double shown[MOST_OVERLAP]; /* the events of the last looks */
    int at;
};

/* A factor of about 1, with this standard deviation. */
static double chance_of(const struct day_world *world, double deviation, struct dice *dice)
{
    if (deviation == 0)
        return 1;
    double off = deviation * (world->far > 0 ? far(dice, world->far) : normal(dice));
    return world->skewed ? exp(off) : fmax(1 + off, 0.05);
}

static double factor_of(const struct day_world *world, int ago, int weekday, struct dice *dice)
{
    static const double FIVE_TIMES = 5;
    double factor = chance_of(world, world->days, dice);
    int day = (weekday + WEEK - ago) % WEEK;

    if (dice_unit(dice) < world->seldom)
        factor *= FIVE_TIMES;
    if (day >= WORKDAYS)
        factor *= 1 + world->weekend;
    return factor * pow(1 + world->growth, -ago);
}

/* Of the release, or so many seconds before it. */
static double mean_of(const struct day_world *world, const struct day *day, double seconds)
{
    double cycle = 1 + world->cycle * sin(2 * M_PI * (day->phase + seconds / DAY_SECONDS));

    return world->level * day->factor * cycle * (seconds >= 0 ? day->apart : 1);
}

static double fault(const struct day_world *world, double seconds)
{
    double start = world->fades > 0 ? world->start * exp(-seconds / world->fades) : 0;

    return 1 + start + (seconds >= world->from * 60 ? world->more : 0) +
           world->grows * seconds / 60;
}

static double counted(const struct day_world *world, struct day *day, double mean, int looks,
                      struct dice *dice)
{
    int overlap = world->overlap > 0 ? world->overlap : 1;
    double sum = 0;

    for (int i = 0; i < (looks > 1 ? overlap : 1); i++)
        day->shown[day->at++ % overlap] = dice_poisson(dice, mean);
    for (int i = 0; i < overlap; i++)
        sum += day->shown[i];
    return sum / overlap;
}

/* The value after so many looks since the one before. */
static double shown(const struct day_world *world, struct day *day, double mean, int looks,
                    struct dice *dice)
{
    if (day->missing || (world->missing > 0 && dice_unit(dice) < world->missing))
        return NAN;
    if (world->counted)
        return counted(world, day, mean, looks, dice);
    if (world->noise == 0)
        return mean;
    double memory = world->memory > 0 ? pow(world->memory, looks) : 0;
    day->noise = memory * day->noise + sqrt(1 - memory * memory) * normal(dice);
    return mean * (1 + world->noise * day->noise);
}

static void begin(const struct day_world *world, struct day days[], struct dice *dice)
{
    int weekday = (int)(dice_unit(dice) * WEEK);
    int outage = 1 + (int)(dice_unit(dice) * PAST_DAYS);
    double phase = dice_unit(dice);

    memset(days, 0, (PAST_DAYS + 1) * sizeof(days[0]));
    for (int i = 0; i <= PAST_DAYS; i++) {
        days[i].factor = factor_of(world, i, weekday, dice) * (i == outage ? 1 + world->outage : 1);
        days[i].apart = chance_of(world, world->apart, dice);
        days[i].phase = phase;
        days[i].missing = i > 0 && dice_unit(dice) < world->missing / 2;
        days[i].noise = normal(dice);
    }
}

static struct judge_past_look look_at(const struct day_world *world, struct day days[],
                                      double seconds, int looks, struct dice *dice)
{
    double more = seconds >= 0 ? fault(world, seconds) : 1;
    struct judge_past_look look = {
        .today = shown(world, &days[0], mean_of(world, &days[0], seconds) * more, looks, dice)};

    for (int i = 0; i < PAST_DAYS; i++)
        look.days[i] =
            shown(world, &days[i + 1], mean_of(world, &days[i + 1], seconds), looks, dice);
    return look;
}

/* The verdict of a broken judge; of worlds in which a higher number is worse. */
static bool lied_verdict(const struct judge_past *past, double rate, enum day_lie lie)
{
    const struct judge_past_result *last = &past->last;

    if (last->days == 0 || !(last->number.deviation > 0))
        return false;
    double t = (last->today - last->number.expected) / last->number.deviation;
    if (last->has_logarithm)
        t = fmin(t, (log(last->today) - last->logarithm.expected) / last->logarithm.deviation);
    if (lie == DAY_LIE_MEAN)
        t *= sqrt(last->days + 1.0);
    double chance =
        lie == DAY_LIE_NORMAL ? erfc(t / M_SQRT2) / 2 : judge_student_above(t, last->days - 3);
    double parts = lie == DAY_LIE_EACH ? 1 : past->comparisons * (past->comparisons + 1.0);
    return chance * parts <= rate && last->lasts;
}

struct day_outcome day_release(const struct day_world *world, double rate, enum day_lie lie,
                               struct dice *dice)
{
    const struct judge_policy policy = {
        .false_alarm_rate = rate, .tolerate = world->tolerate, .share = 1};
    double overlap = world->overlap > 0 ? world->overlap : 1;
    struct day_outcome outcome = {0};
    struct day days[PAST_DAYS + 1];
    struct judge_past past;
    int compared = 0;

    begin(world, days, dice);
    judge_past_begin(&past, world->lower);
    for (int i = PAST_BEFORE; i > 0; i--) {
        struct judge_past_look point =
            look_at(world, days, -(double)i * HOUR_POINT, HOUR_POINT / DAYS_SECONDS, dice);
        judge_past_before(&past, &point);
    }
    while (outcome.looks < DAYS_LOOKS && !outcome.worse) {
        struct judge_past_look look =
            look_at(world, days, (double)outcome.looks++ * DAYS_SECONDS, 1, dice);
        judge_past_add(&past, &policy, overlap, &look);
        if (past.comparisons == compared)
            continue;
        compared = past.comparisons;
        outcome.worse = lie == DAY_LIE_NONE ? judge_past_verdict(&past, &policy) == JUDGE_WORSE
                                            : lied_verdict(&past, rate, lie);
    }
    return outcome;
}

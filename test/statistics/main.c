/* flagger-statistics: the error rates of the judge, and what it saves; see test/statistics/run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "judge/power.h"
#include "test/statistics/bounds.h"
#include "test/statistics/days.h"
#include "test/statistics/delays.h"
#include "test/statistics/levels.h"
#include "test/statistics/lies.h"
#include "test/statistics/release.h"

static struct {
    int64_t runs, seed, before;
    double rate;
    const char *lie;
    const char *past_lie;
    bool exposure, few, promises, numbers, latency, past;
} opt;

static const char *const lies[] = {
#define LIE(name, text, tables) [LIE_##name] = (text),
#include "test/statistics/lies.def"
#undef LIE
    [LIES] = NULL};

/* The tables in which each of them shows. */
static const int tables_of[LIES] = {
#define LIE(name, text, tables) [LIE_##name] = (tables),
#include "test/statistics/lies.def"
#undef LIE
};

static const char *const past_lies[] = {[DAY_LIE_NONE] = "none",
                                        [DAY_LIE_MEAN] = "mean",
                                        [DAY_LIE_EACH] = "each",
                                        [DAY_LIE_NORMAL] = "normal",
                                        NULL};

static const struct option_row rows[] = {
    OPTION(INT, "runs", &opt.runs, .value = "1000", .min = 10, .max = 10000000, .arg = "N",
           .help = "releases of each cell"),
    OPTION(INT, "seed", &opt.seed, .value = "1", .min = 1, .max = INT32_MAX, .arg = "N",
           .help = "all chances follow from it"),
    OPTION(NUMBER, "rate", &opt.rate, .value = "0.01", .arg = "SHARE",
           .help = "the false-alarm rate that the judge is given"),
    OPTION(STRING, "lie", &opt.lie, .value = "none", .choices = lies, .arg = "KIND",
           .help = "how the judge is broken, to see that it is found"),
    OPTION(INT, "before", &opt.before, .value = "180", .min = 0, .max = 1000, .arg = "N",
           .help =
               "looks at the primary alone before the canary has requests; the controller has 180"),
    OPTION(BOOL, "few", &opt.few, .help = "only the cells or worlds in which lies are found"),
    OPTION(BOOL, "exposure", &opt.exposure, .help = "the table of exposure instead"),
    OPTION(BOOL, "promises", &opt.promises,
           .help = "what the power of a policy promises, beside what happens"),
    OPTION(BOOL, "numbers", &opt.numbers,
           .help = "the table of numbers that are compared (compare: primary) instead"),
    OPTION(BOOL, "latency", &opt.latency, .help = "the table of latency as a whole instead"),
    OPTION(BOOL, "past", &opt.past,
           .help = "the table of numbers beside those of the last days (compare: past) instead"),
    OPTION(STRING, "past-lie", &opt.past_lie, .value = "none", .choices = past_lies, .arg = "KIND",
           .help = "how the judge of that table is broken"),
    {0},
};

static const struct option_program program = {
    .name = "flagger-statistics",
    .summary = "Releases under the judge of the controller, by the thousand.",
    .synopsis = "[OPTION...]",
    .details =
        "Prints how often a release was rolled back for nothing in each cell, with the exact "
        "bounds of 95 %.\nThe exit status is 1 when that is proven to be above the rate, or "
        "found to be with 10000 runs.",
    .rows = rows,
};

static const struct world worlds[] = {
    {.name = "even"},
    {.name = "drift", .drift = 4},
    {.name = "daily", .day = 0.7},
    {.name = "outages", .outages = 0.01},
    {.name = "clumps of 3", .clump = 3},
    {.name = "clumps of 10", .clump = 10},
    {.name = "all of it", .clump = 3, .drift = 4, .day = 0.5, .outages = 0.005},
};

enum { WORLDS = sizeof(worlds) / sizeof(worlds[0]) };

struct cell {
    struct scene scene;
    struct judge_tolerance tolerate;
    int metrics;
};

static enum lie lie_of(void)
{
    enum lie lie = LIE_NONE;

    while (strcmp(lies[lie], opt.lie) != 0)
        lie++;
    return lie;
}

static struct judging judging_of(const struct cell *cell)
{
    struct judging judging = {.policy = {.false_alarm_rate = opt.rate,
                                         .tolerate = cell->tolerate,
                                         .share = 1.0 / cell->metrics},
                              .metrics = cell->metrics,
                              .before = (int)opt.before,
                              .lie = lie_of()};

    return judging;
}

/* Each cell has dice of its own: what is left out of a table changes nothing of the others. */
static struct dice dice_of_run(const struct scene *scene, int64_t run)
{
    double cell = scene->per_second * 131 + scene->primary * 7919 + scene->canary * 104729 +
                  (double)scene->steps * 17;

    return dice_of((uint64_t)(opt.seed * 1000003 + run) + (uint64_t)(cell * 1e6) * 2654435761u);
}

/* --- false alarms */

struct tally {
    int cells, wrong;
    double worst;
};

static void tell_tolerance(const struct judge_tolerance *tolerate)
{
    char text[32] = "nothing";

    if (tolerate->points > 0)
        snprintf(text, sizeof(text), "%.1f points", tolerate->points * 100);
    if (tolerate->ratio > 0)
        snprintf(text, sizeof(text), "%.0f %%", tolerate->ratio * 100);
    printf(" %-10s", text);
}

static void tell_count(double counted, struct tally *tally)
{
    double runs = (double)opt.runs, share = counted / runs;
    bool wrong =
        bounds_lower(counted, runs, 0.0005) > opt.rate || (runs >= 10000 && share > opt.rate);

    printf(" %6.2f %% (%.2f to %.2f)%s", share * 100, bounds_lower(counted, runs, 0.025) * 100,
           bounds_upper(counted, runs, 0.025) * 100, wrong ? " WRONG" : "");
    tally->wrong += wrong;
    tally->worst = fmax(tally->worst, share);
}

static void count(const struct cell *cell, struct tally *tally)
{
    struct judging judging = judging_of(cell);
    bool edge = cell->tolerate.points > 0 || cell->tolerate.ratio > 0;
    double worse = 0, not_worse = 0;

    for (int64_t i = 0; i < opt.runs; i++) {
        struct dice dice = dice_of_run(&cell->scene, i);
        struct outcome outcome = release_judged(&cell->scene, &judging, &dice);
        worse += outcome.worse;
        not_worse += outcome.not_worse;
    }
    printf("%-12s %5g %6.2f %% %2d %3d", cell->scene.world->name, cell->scene.per_second,
           cell->scene.primary * 100, cell->metrics, cell->scene.steps);
    tell_tolerance(&cell->tolerate);
    tell_count(worse, tally);
    if (edge)
        tell_count(not_worse, tally);
    printf("\n");
    fflush(stdout);
    tally->cells++;
}

/* The canary is as bad as is tolerated. */
static void cell(const struct world *world, double per_second, double share, int metrics, int steps,
                 struct judge_tolerance tolerate, struct tally *tally)
{
    double canary = (1 + tolerate.ratio) * share + tolerate.points;
    struct cell cell = {.scene = {.world = world,
                                  .per_second = per_second,
                                  .primary = share,
                                  .canary = canary,
                                  .steps = steps},
                        .tolerate = tolerate,
                        .metrics = metrics};

    count(&cell, tally);
}

static const double traffic[] = {5, 50, 500}, shares[] = {0.001, 0.01, 0.05};
static const struct judge_tolerance nothing, points = {.points = 0.002}, ratio = {.ratio = 0.2};

static void all_cells(const struct world *world, struct tally *tally)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            cell(world, traffic[i], shares[j], 1, 5, nothing, tally);
        cell(world, traffic[i], 0.01, 3, 5, nothing, tally);
        cell(world, traffic[i], 0.01, 10, 5, nothing, tally);
        cell(world, traffic[i], 0.005, 1, 5, ratio, tally);
        if (world->drift == 0 && world->day == 0)
            cell(world, traffic[i], 0.005, 1, 5, points, tally);
    }
    cell(world, 50, 0.01, 1, 30, nothing, tally);
}

/* Each lie shows in one of these. */
static void few_cells(struct tally *tally)
{
    cell(&worlds[0], 50, 0.05, 1, 5, nothing, tally);
    cell(&worlds[0], 500, 0.005, 1, 5, points, tally);
    cell(&worlds[5], 50, 0.05, 1, 5, nothing, tally);
    cell(&worlds[0], 5, 0.01, 10, 5, nothing, tally);
}

static int false_alarms(void)
{
    struct tally tally = {0};

    printf("%-12s %5s %8s %2s %3s %-10s %s\n", "world", "req/s", "bad", "of", "min", "tolerated",
           "rolled back for nothing (95 %); called not worse for nothing");
    if (opt.few)
        few_cells(&tally);
    else
        for (int i = 0; i < WORLDS; i++)
            all_cells(&worlds[i], &tally);
    printf("%d cells of %lld releases, the most in one: %.2f %%, above %g %%: %d\n", tally.cells,
           (long long)opt.runs, tally.worst * 100, opt.rate * 100, tally.wrong);
    return tally.wrong > 0;
}

/* --- exposure */

struct mean {
    double worse, requests, seconds;
};

static void add(struct mean *mean, struct outcome outcome)
{
    mean->worse += outcome.worse / (double)opt.runs;
    mean->requests += outcome.requests / (double)opt.runs;
    mean->seconds += outcome.seconds / (double)opt.runs;
}

/*
 * No test with this rate of false alarms can find a worse one in fewer requests of the canary on
 * average, not even one that knows both shares beforehand (Wald).
 */
static double least(const struct scene *scene)
{
    double a = scene->canary, p = scene->primary;

    return -log(opt.rate) / (a * log(a / p) + (1 - a) * log((1 - a) / (1 - p)));
}

/* The fewest requests that any test can take: the bound, or one look at the first step. */
static double fastest(const struct scene *scene)
{
    return fmax(least(scene), scene->per_second * LOOK_SECONDS * scene_weight(scene, 0));
}

static void tell_mean(const struct mean *mean)
{
    printf(" %5.1f %% %6.0f %4.0f s |", mean->worse * 100, mean->requests, mean->seconds);
}

static void compare(const struct scene *scene)
{
    struct cell cell = {.scene = *scene, .metrics = 1};
    struct judging judging = judging_of(&cell);
    struct mean judged = {0}, checked = {0}, ranked = {0};

    for (int64_t i = 0; i < opt.runs; i++) {
        struct dice dice = dice_of_run(scene, i);
        add(&judged, release_judged(scene, &judging, &dice));
        add(&checked, release_checked(scene, &dice));
        add(&ranked, release_ranked(scene, &dice));
    }
    printf("%-12s %5g %5.2f %% %5.2f %% |", scene->world->name, scene->per_second,
           scene->primary * 100, scene->canary * 100);
    tell_mean(&checked);
    tell_mean(&ranked);
    tell_mean(&judged);
    if (scene->canary > scene->primary)
        printf(" %6.0f %4.2f", least(scene), judged.requests / fastest(scene));
    printf("\n");
    fflush(stdout);
}

static int exposure(void)
{
    static const struct {
        double per_second, primary, canary;
    } rows_[] = {
        {5, 0.009, 0.009},    {50, 0.02, 0.02},   {500, 0.005, 0.005}, {5, 0.005, 0.015},
        {5, 0.005, 0.025},    {5, 0.005, 0.1},    {50, 0.005, 0.01},   {50, 0.005, 0.015},
        {50, 0.005, 0.025},   {50, 0.005, 0.05},  {50, 0.005, 0.1},    {500, 0.0005, 0.005},
        {500, 0.005, 0.0075}, {500, 0.005, 0.01}, {500, 0.005, 0.015}, {500, 0.005, 0.025},
        {500, 0.005, 0.1},
    };

    printf("%-12s %-20s | threshold           | by ranks            | judge               | "
           "least, times the larger of that and a look\n",
           "world", " requests, bad");
    for (size_t i = 0; i < sizeof(rows_) / sizeof(rows_[0]); i++)
        compare(&(struct scene){.world = &worlds[0],
                                .per_second = rows_[i].per_second,
                                .primary = rows_[i].primary,
                                .canary = rows_[i].canary,
                                .steps = 5});
    for (int i = 1; i < WORLDS; i++) /* the innocent, where it is not as in a book */
        compare(&(struct scene){
            .world = &worlds[i], .per_second = 50, .primary = 0.01, .canary = 0.01, .steps = 5});
    return 0;
}

/* --- numbers */

static void count_levels(const struct level_world *world, struct tally *tally)
{
    double worse = 0, looks = 0;

    for (int64_t i = 0; i < opt.runs; i++) {
        struct dice dice = dice_of((uint64_t)(opt.seed * 1000003 + i) +
                                   (uint64_t)(world - level_worlds) * 2654435761u);
        struct level_outcome outcome = level_release(world, opt.rate, lie_of(), &dice);
        worse += outcome.worse;
        looks += outcome.worse ? outcome.looks : 0;
    }
    printf("%-30s", world->name);
    if (world->bad)
        printf(" found %5.1f %%, after", worse / (double)opt.runs * 100);
    else
        tell_count(worse, tally);
    if (world->bad && worse > 0)
        printf(" %5.1f looks, %4.1f min", looks / worse, looks / worse * LEVELS_SECONDS / 60);
    printf("\n");
    fflush(stdout);
    tally->cells += !world->bad;
}

static int numbers(void)
{
    struct tally tally = {0};

    printf("%-30s rolled back for nothing within %d looks (95 %%), or found\n", "world",
           LEVELS_LOOKS);
    for (int i = 0; i < level_worlds_count; i++)
        if (!opt.few || level_worlds[i].few)
            count_levels(&level_worlds[i], &tally);
    printf("%d worlds without fault of %lld releases, the most in one: %.2f %%, above %g %%: %d\n",
           tally.cells, (long long)opt.runs, tally.worst * 100, opt.rate * 100, tally.wrong);
    return tally.wrong > 0;
}

/* --- latency */

static void count_delays(const struct delay_world *world, struct tally *tally)
{
    double worse = 0, requests = 0, seconds = 0;

    for (int64_t i = 0; i < opt.runs; i++) {
        struct dice dice = dice_of((uint64_t)(opt.seed * 1000003 + i) +
                                   (uint64_t)(world - delay_worlds) * 2654435761u);
        struct delay_outcome outcome = delay_release(world, opt.rate, lie_of(), &dice);
        worse += outcome.worse;
        requests += outcome.worse ? outcome.requests : 0;
        seconds += outcome.worse ? outcome.seconds : 0;
    }
    printf("%-28s %5g", world->name, world->per_second);
    if (world->bad)
        printf(" found %5.1f %%, after", worse / (double)opt.runs * 100);
    else
        tell_count(worse, tally);
    if (world->bad && worse > 0)
        printf(" %6.0f requests, %4.0f s", requests / worse, seconds / worse);
    printf("\n");
    fflush(stdout);
    tally->cells += !world->bad;
}

static int latency(void)
{
    struct tally tally = {0};

    printf("%-28s %5s rolled back for nothing (95 %%), or found\n", "latency", "req/s");
    for (int i = 0; i < delay_worlds_count; i++)
        if (!opt.few || delay_worlds[i].few)
            count_delays(&delay_worlds[i], &tally);
    printf("%d worlds without fault of %lld releases, the most in one: %.2f %%, above %g %%: %d\n",
           tally.cells, (long long)opt.runs, tally.worst * 100, opt.rate * 100, tally.wrong);
    return tally.wrong > 0;
}

/* --- the past */

static void count_days(const struct day_world *world, enum day_lie lie, struct tally *tally)
{
    double worse = 0, looks = 0, runs = (double)opt.runs;

    for (int64_t i = 0; i < opt.runs; i++) {
        struct dice dice = dice_of((uint64_t)(opt.seed * 1000003 + i) +
                                   (uint64_t)(world - day_worlds) * 2654435761u);
        struct day_outcome outcome = day_release(world, opt.rate, lie, &dice);
        worse += outcome.worse;
        looks += outcome.worse ? outcome.looks : 0;
    }
    printf("%-34s", world->name);
    if (world->bad && worse > 0)
        printf(" found %5.1f %%, after %5.1f min", worse / runs * 100,
               looks / worse * DAYS_SECONDS / 60);
    else if (world->bad)
        printf(" found none");
    else if (world->limit)
        printf(" %6.2f %%, which no days can show", worse / runs * 100);
    else
        tell_count(worse, tally);
    printf("\n");
    fflush(stdout);
    tally->cells += !world->bad && !world->limit;
}

static int past(void)
{
    enum day_lie lie = DAY_LIE_NONE;
    struct tally tally = {0};

    while (strcmp(past_lies[lie], opt.past_lie) != 0)
        lie++;
    printf("%-34s rolled back for nothing within %d looks (95 %%), or found\n", "days", DAYS_LOOKS);
    for (int i = 0; i < day_worlds_count; i++) {
        bool is_skipped = lie != DAY_LIE_NONE && (day_worlds[i].bad || day_worlds[i].lower);
        if (!is_skipped && (!opt.few || day_worlds[i].few))
            count_days(&day_worlds[i], lie, &tally);
    }
    printf("%d worlds without fault of %lld releases, the most in one: %.2f %%, above %g %%: %d\n",
           tally.cells, (long long)opt.runs, tally.worst * 100, opt.rate * 100, tally.wrong);
    return tally.wrong > 0;
}

/* --- promises */

enum { STEPS = 5 };
static const double WANTED = 0.9, POINTS = 5;

static double found_of(const struct scene *scene, double *requests)
{
    struct cell cell = {.scene = *scene, .metrics = 1};
    struct judging judging = judging_of(&cell);
    struct mean judged = {0};
    double found = 0;

    *requests = 0;
    for (int64_t i = 0; i < opt.runs; i++) {
        struct dice dice = dice_of_run(scene, i);
        struct outcome outcome = release_judged(scene, &judging, &dice);
        add(&judged, outcome);
        found += outcome.worse;
    }
    *requests = judged.requests;
    return found / (double)opt.runs;
}

/* The least regression that is promised, and how often it is found. */
static bool keep(double per_second, double primary)
{
    struct power_stretch stretches[STEPS];
    struct scene scene = {
        .world = &worlds[0], .per_second = per_second, .primary = primary, .steps = STEPS};
    struct power_course course = {.stretches = stretches,
                                  .n = STEPS,
                                  .per_second = per_second,
                                  .primary = primary,
                                  .every_s = LOOK_SECONDS,
                                  .before = (int)opt.before};
    const struct judge_policy policy = {.false_alarm_rate = opt.rate, .share = 1};

    for (int i = 0; i < STEPS; i++) {
        double weight = scene_weight(&scene, i);
        stretches[i] = (struct power_stretch){STEP_SECONDS, weight, 1 - weight};
    }
    scene.canary = power_least(&policy, &course, WANTED);
    if (isnan(scene.canary)) {
        printf("%5g %6.2f %% | nothing\n", per_second, primary * 100);
        return true;
    }
    double promised = power_of(&policy, &course, scene.canary, POWER_MOST).share * 100, requests;
    double found = found_of(&scene, &requests) * 100;
    bool kept = fabs(promised - found) <= POINTS;
    printf("%5g %6.2f %% | %6.2f %% %5.1f %% | %5.1f %% %7.0f%s\n", per_second, primary * 100,
           scene.canary * 100, promised, found, requests, kept ? "" : " WRONG");
    fflush(stdout);
    return kept;
}

static int promises(void)
{
    static const double rates[] = {1, 5, 50, 500, 5000};
    bool kept = true;

    printf("req/s, bad     | promised          | found, after requests to the canary\n");
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        for (size_t k = 0; k < sizeof(shares) / sizeof(shares[0]); k++)
            kept &= keep(rates[i], shares[k]);
    return kept ? 0 : 1;
}

/* A lie that the table does not know would pass for a sound judge. */
static bool lie_fits(void)
{
    int table = opt.numbers ? OF_NUMBERS : opt.latency ? OF_LATENCY : OF_COUNTS;

    if (tables_of[lie_of()] & table)
        return true;
    fprintf(stderr, "flagger-statistics: --lie %s is none of this table; it has:", opt.lie);
    for (int i = 0; i < LIES; i++)
        if (tables_of[i] & table)
            fprintf(stderr, " %s", lies[i]);
    fprintf(stderr, "\n");
    return false;
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();

    option_parse(&program, arena, argc, argv);
    if (!lie_fits()) {
        arena_free(arena);
        return 2;
    }
    int status = opt.promises   ? promises()
                 : opt.numbers  ? numbers()
                 : opt.latency  ? latency()
                 : opt.past     ? past()
                 : opt.exposure ? exposure()
                                : false_alarms();
    arena_free(arena);
    return status;
}

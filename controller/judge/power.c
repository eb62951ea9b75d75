#include "judge/power.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
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

/* A step lasts as long as the policy says, and longer while there is too little evidence. */
static bool lasts(const struct power_course *course, const struct power_stretch *stretch,
                  double stayed, bool enough)
{
    return stayed < stretch->seconds || (!enough && stayed < stretch->seconds + course->max_wait_s);
}

/* A release that is under way. */
struct play {
    struct judge_evidence evidence;
    int stretch; /* of the course, */
    double stayed, seen;
    bool entered, enough; /* in this stretch */
    double requests, seconds;
};

enum played { PLAYED_ON, PLAYED_WORSE, PLAYED_TO_THE_END };

/* The next look; none if the release is over. */
static enum played play_look(struct play *play, const struct judge_policy *policy,
                             const struct power_course *course, double every_s, double canary,
                             struct dice *dice)
{
    double requests = course->per_second * every_s;

    for (;; play->stretch++, play->entered = false) {
        if (play->stretch >= course->n)
            return PLAYED_TO_THE_END;
        const struct power_stretch *stretch = &course->stretches[play->stretch];
        if (!play->entered) {
            play->entered = true;
            play->stayed = play->seen = 0;
            play->enough = !(stretch->canary > 0);
        }
        if (!lasts(course, stretch, play->stayed, play->enough))
            continue;
        struct judge_counts here = draw(course, dice, requests * stretch->canary, canary);
        struct judge_counts there =
            draw(course, dice, requests * stretch->primary, course->primary);
        judge_add_sample(&play->evidence, policy, here, there);
        play->stayed += every_s;
        play->seen += here.total;
        play->requests += here.total;
        play->seconds += every_s;
        enum judge_verdict verdict = judge_verdict(&play->evidence, policy);
        play->enough |= verdict == JUDGE_NOT_WORSE || play->seen >= course->min_requests;
        return verdict == JUDGE_WORSE ? PLAYED_WORSE : PLAYED_ON;
    }
}

/* --- many releases */

/* Releases of one canary that are played one after the other. */
struct runs {
    double canary, every_s;
    struct dice dice;
    int learned; /* looks at the primary, of all pasts together */
    struct judge_evidence pasts[PASTS];
    struct play play;
    bool playing;
    int n, wanted, found;
    double requests[POWER_MOST], seconds[POWER_MOST]; /* INFINITY: not called worse */
};

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

static void runs_begin(struct runs *runs, const struct power_course *course, double canary,
                       int wanted)
{
    runs->canary = canary;
    runs->every_s = every_of(course);
    runs->dice = dice_of(SEED);
    runs->learned = runs->n = runs->found = 0;
    runs->wanted = wanted < 1 ? 1 : wanted > POWER_MOST ? POWER_MOST : wanted;
    runs->playing = false;
    for (int i = 0; i < PASTS; i++)
        judge_begin(&runs->pasts[i]);
}

static void learn_look(struct runs *runs, const struct judge_policy *policy,
                       const struct power_course *course)
{
    judge_add_sample(
        &runs->pasts[runs->learned / course->before], policy, (struct judge_counts){0},
        draw(course, &runs->dice, course->per_second * course->every_s, course->primary));
    runs->learned++;
}

static void release_look(struct runs *runs, const struct judge_policy *policy,
                         const struct power_course *course)
{
    struct play *play = &runs->play;

    if (!runs->playing)
        *play = (struct play){.evidence = runs->pasts[runs->n % PASTS]};
    runs->playing = true;
    enum played played = play_look(play, policy, course, runs->every_s, runs->canary, &runs->dice);
    if (played == PLAYED_ON)
        return;
    runs->requests[runs->n] = played == PLAYED_WORSE ? play->requests : INFINITY;
    runs->seconds[runs->n] = played == PLAYED_WORSE ? play->seconds : INFINITY;
    runs->found += played == PLAYED_WORSE;
    runs->n++;
    runs->playing = false;
}

/* True when all are played; *looks are what is left of the budget. */
static bool runs_continue(struct runs *runs, const struct judge_policy *policy,
                          const struct power_course *course, int *looks)
{
    for (; runs->n<runs->wanted && * looks> 0; --*looks) {
        if (runs->learned < PASTS * course->before)
            learn_look(runs, policy, course);
        else
            release_look(runs, policy, course);
    }
    return runs->n >= runs->wanted;
}

static double runs_share(const struct runs *runs)
{
    return (double)runs->found / runs->n;
}

static struct power_found runs_found(struct runs *runs)
{
    int n = runs->n;

    qsort(runs->requests, (size_t)n, sizeof(*runs->requests), compare);
    qsort(runs->seconds, (size_t)n, sizeof(*runs->seconds), compare);
    return (struct power_found){.share = runs_share(runs),
                                .half_requests = runs->requests[n / 2],
                                .half_seconds = runs->seconds[n / 2],
                                .most_requests = runs->requests[n * 9 / 10],
                                .most_seconds = runs->seconds[n * 9 / 10]};
}

struct power_found power_of(const struct judge_policy *policy, const struct power_course *course,
                            double canary, int runs)
{
    struct runs *all = heap_alloc(sizeof(*all));

    runs_begin(all, course, canary, runs);
    for (int looks = INT_MAX; !runs_continue(all, policy, course, &looks); looks = INT_MAX)
        ;
    struct power_found found = runs_found(all);
    free(all);
    return found;
}

/* --- the search */

/* The share of bad requests that lies `excess` of the way from the tolerated share to 1. */
static double share_at(const struct judge_policy *policy, const struct power_course *course,
                       double excess)
{
    const struct judge_tolerance *tolerate = &policy->tolerate;
    double least =
        fmin(course->primary * (1 + fmax(tolerate->ratio, 0)) + fmax(tolerate->points, 0), 1);

    return least + (1 - least) * excess;
}

enum stage { STAGE_ALL_BAD, STAGE_LEAST, STAGE_FOUND, STAGE_DONE };

struct power_search {
    struct judge_policy policy;
    struct power_course course; /* its stretches are owned */
    double wanted;
    int runs_wanted; /* 0: only the least share is wanted */
    enum stage stage;
    double low, high; /* logarithms of the excess */
    int steps;
    double least;
    struct power_found found;
    struct runs runs;
};

struct power_search *power_search_new(const struct judge_policy *policy,
                                      const struct power_course *course, double wanted, int runs)
{
    struct power_search *search = heap_alloc(sizeof(*search));
    size_t n = (size_t)course->n;
    struct power_stretch *stretches = heap_alloc((n + 1) * sizeof(*stretches));

    if (n > 0)
        memcpy(stretches, course->stretches, n * sizeof(*stretches));
    search->policy = *policy;
    search->course = *course;
    search->course.stretches = stretches;
    search->wanted = wanted;
    search->runs_wanted = runs;
    search->stage = STAGE_ALL_BAD;
    search->low = log(1e-6);
    search->high = 0;
    search->steps = 0;
    search->least = NAN;
    search->found = (struct power_found){0};
    runs_begin(&search->runs, course, 1, SEARCH_RUNS);
    return search;
}

void power_search_free(struct power_search *search)
{
    if (!search)
        return;
    free((void *)search->course.stretches);
    free(search);
}

/* The next share to be tried, or the last releases. */
static void begin_next(struct power_search *search)
{
    bool none = search->stage == STAGE_ALL_BAD && runs_share(&search->runs) < search->wanted;

    if (!none && search->stage != STAGE_FOUND && search->steps < SEARCH_STEPS) {
        double middle = (search->low + search->high) / 2;
        search->stage = STAGE_LEAST;
        runs_begin(&search->runs, &search->course,
                   share_at(&search->policy, &search->course, exp(middle)), SEARCH_RUNS);
        return;
    }
    search->least = none ? NAN : share_at(&search->policy, &search->course, exp(search->high));
    search->stage = search->runs_wanted > 0 ? STAGE_FOUND : STAGE_DONE;
    if (search->stage == STAGE_FOUND)
        runs_begin(&search->runs, &search->course, none ? 1 : search->least, search->runs_wanted);
}

bool power_search_continue(struct power_search *search, int looks)
{
    int left = looks > 1 ? looks : 1;

    while (search->stage != STAGE_DONE &&
           runs_continue(&search->runs, &search->policy, &search->course, &left)) {
        if (search->stage == STAGE_FOUND) {
            search->found = runs_found(&search->runs);
            search->stage = STAGE_DONE;
            break;
        }
        if (search->stage == STAGE_LEAST) {
            double middle = (search->low + search->high) / 2;
            if (runs_share(&search->runs) < search->wanted)
                search->low = middle;
            else
                search->high = middle;
            search->steps++;
        }
        begin_next(search);
    }
    return search->stage == STAGE_DONE;
}

double power_search_least(const struct power_search *search)
{
    return search->least;
}

struct power_found power_search_found(const struct power_search *search)
{
    return search->found;
}

double power_least(const struct judge_policy *policy, const struct power_course *course,
                   double wanted)
{
    struct power_search *search = power_search_new(policy, course, wanted, 0);

    while (!power_search_continue(search, INT_MAX))
        ;
    double least = power_search_least(search);
    power_search_free(search);
    return least;
}

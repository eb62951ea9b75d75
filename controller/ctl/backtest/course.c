#include "ctl/backtest/course.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "decide/judged.h"
#include "proto/weight.h"

enum { MOST_STRETCHES = SIMULATE_MAX_RUNS };
static const double SECOND_MS = 1000;

/* --- the traffic */

struct traffic traffic_of(const struct past *past, const char *metric)
{
    const struct past_series *series = past ? past_series_of(past, metric, JUDGED_REQUESTS) : NULL;

    return series ? traffic_of_samples(series->samples, series->n, series->begin_s, series->before)
                  : (struct traffic){0};
}

/* --- the release */

struct stretches stretches_of_plan(struct arena *arena, const struct canary_analysis *analysis,
                                   const struct simulation *plan)
{
    struct stretches out = {.list = arena_array(arena, MOST_STRETCHES, sizeof(*out.list))};

    for (const struct simulation_step *step = plan->steps; step && step->next; step = step->next) {
        double canary = (double)step->canary / WEIGHT_ALL;
        double primary = (double)step->primary / WEIGHT_ALL;
        if (step->mirrored)
            canary = analysis->mirror_weight > 0 ? analysis->mirror_weight / 100.0 : 1;
        if (step->phase != PHASE_Progressing || step->matched || !(canary > 0 && primary > 0) ||
            out.n == MOST_STRETCHES)
            continue;
        out.list[out.n++] =
            (struct power_stretch){.seconds = (double)(step->next->at_ms - step->at_ms) / SECOND_MS,
                                   .canary = canary,
                                   .primary = primary};
    }
    return out;
}

struct stretches stretches_of_past(struct arena *arena, const struct past *past)
{
    const struct past_series *series = past && past->n_series > 0 ? &past->series[0] : NULL;

    return series ? stretches_of_samples(arena, series->samples, series->n, series->begin_s,
                                         MOST_STRETCHES)
                  : (struct stretches){0};
}

/* --- the promises */

static struct promise *promise_of(struct arena *arena, const struct canary_analysis *analysis,
                                  const struct canary_metric *metric,
                                  const struct stretches *stretches, const struct traffic *traffic)
{
    struct promise *promise = promise_new(arena, metric, traffic);

    if (!(traffic->per_second > 0))
        return promise;
    struct power_search *search = promise_search(analysis, metric, stretches, traffic);
    while (!power_search_continue(search, INT_MAX))
        ;
    promise->least = power_search_least(search);
    promise->found = power_search_found(search);
    power_search_free(search);
    return promise;
}

const struct promise *promises_of(struct arena *arena, const struct canary_analysis *analysis,
                                  const struct stretches *stretches, const struct traffic *given,
                                  const struct past *past)
{
    struct promise *first = NULL, **last = &first;

    for (int i = 0; stretches->n > 0 && i < analysis->n_metrics; i++) {
        const struct canary_metric *metric = &analysis->metrics[i];
        if (!promise_is_made(analysis, metric))
            continue;
        const struct traffic traffic =
            given->per_second > 0 ? *given : traffic_of(past, metric->name);
        *last = promise_of(arena, analysis, metric, stretches, &traffic);
        last = &(*last)->next;
    }
    return first;
}

/* --- a proposal */

/* In percentage points; the last one tolerates more than anyone wants. */
static const double points[] = {0, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10};
enum { POINTS = sizeof(points) / sizeof(points[0]) };

static const char rate_name[] = "request-success-rate", duration_name[] = "request-duration";

/* The counts of the releases, and the two tolerances, each an index into points. */
struct wish {
    struct arena *arena;
    const struct pasts *pasts;
    bool success_rate, duration;
    double slow_ms; /* requests that took longer are the bad requests of request-duration */
    int error_rate, latency;
};

static void see(struct wish *wish, const struct past *past)
{
    static const char words[] = "took longer than ";
    const struct past_series *series = past_series_of(past, duration_name, JUDGED_REQUESTS);

    wish->success_rate |= past_series_of(past, rate_name, JUDGED_REQUESTS) != NULL;
    if (!series)
        return;
    wish->duration = true;
    wish->slow_ms = series->bad && strncmp(series->bad, words, strlen(words)) == 0
                        ? strtod(series->bad + strlen(words), NULL)
                        : 0;
}

static bool is_counted(const struct past *past)
{
    return past_series_of(past, rate_name, JUDGED_REQUESTS) ||
           past_series_of(past, duration_name, JUDGED_REQUESTS);
}

static const char *judge_text(const struct wish *wish)
{
    const char *text = "judge:\n  type: sequential\n";

    if ((wish->success_rate && points[wish->error_rate] > 0) ||
        (wish->duration && points[wish->latency] > 0))
        text = arena_printf(wish->arena, "%s  tolerate:\n", text);
    if (wish->success_rate && points[wish->error_rate] > 0)
        text = arena_printf(wish->arena, "%s    errorRate: %g %%-points\n", text,
                            points[wish->error_rate]);
    if (wish->duration && points[wish->latency] > 0)
        text =
            arena_printf(wish->arena, "%s    latency: %g %%-points\n", text, points[wish->latency]);
    return text;
}

/* For the metrics that a release has counted; without thresholds, which are up to the user. */
static const char *policy_text(const struct wish *wish, const struct past *past)
{
    const char *text = arena_printf(wish->arena, "%smetrics:\n", judge_text(wish));

    if (past_series_of(past, rate_name, JUDGED_REQUESTS))
        text = arena_printf(wish->arena,
                            "%s- {name: request-success-rate, thresholdRange: {min: 0}}\n", text);
    if (past_series_of(past, duration_name, JUDGED_REQUESTS))
        text =
            arena_printf(wish->arena, "%s- {name: request-duration, thresholdRange: {max: %g}}\n",
                         text, wish->slow_ms > 0 ? wish->slow_ms : 1e9);
    return text;
}

static enum err policy_for(const struct wish *wish, const struct past *past, struct policy *policy,
                           struct errinfo *ei)
{
    const char *text = policy_text(wish, past);

    return policy_parse(wish->arena, "the proposal", text, strlen(text), policy, ei);
}

static enum err count(const struct wish *wish, struct proposal *out, struct errinfo *ei)
{
    *out = (struct proposal){.text = judge_text(wish)};
    for (const struct past *past = wish->pasts->first; past; past = past->next) {
        struct policy policy;
        if (!is_counted(past))
            continue;
        enum err err = policy_for(wish, past, &policy, ei);
        if (err != ERR_OK)
            return err;
        bool back = replay_run(wish->arena, past, &policy).end == REPLAY_ROLLED_BACK;
        bool promoted = strcmp(past->outcome, "promoted") == 0;
        bool failed = strcmp(past->outcome, "failed") == 0;
        out->promoted += promoted;
        out->promoted_back += promoted && back;
        out->failed += failed;
        out->failed_back += failed && back;
    }
    return ERR_OK;
}

/* Finds the smallest value for one of the two tolerances while the other is unchanged. */
static enum err least(const struct wish *wish, int *tolerance, struct proposal *out,
                      struct errinfo *ei)
{
    enum err err = ERR_OK;

    for (*tolerance = 0; *tolerance < POINTS; ++*tolerance) {
        err = count(wish, out, ei);
        if (err != ERR_OK || out->promoted_back == 0)
            return err;
    }
    *tolerance = POINTS - 1;
    return count(wish, out, ei);
}

/* Compares the times at which they began; if one is unknown, the later one in the list is newer. */
static bool is_older(const struct past *one, const struct past *other)
{
    const char *began = json_str_at(one->json, "began", NULL);
    const char *before = other ? json_str_at(other->json, "began", NULL) : NULL;

    return began && before && strcmp(began, before) < 0;
}

static enum err gather(struct wish *wish, const struct past **last, struct errinfo *ei)
{
    const char *name = NULL;

    for (const struct past *past = wish->pasts->first; past; past = past->next) {
        if (name && strcmp(name, past->canary) != 0)
            return err_set(ei, ERR_INVALID,
                           "expected the releases of one Canary, found those of %s and %s", name,
                           past->canary);
        name = past->canary;
        see(wish, past);
        if (is_counted(past) && !is_older(past, *last))
            *last = past;
    }
    if (!*last)
        return err_set(ei, ERR_NOT_FOUND,
                       "no release has counts of request-success-rate or request-duration: they "
                       "are kept of releases that were judged");
    return ERR_OK;
}

enum err propose(struct arena *arena, const struct pasts *pasts, struct proposal *out,
                 struct errinfo *ei)
{
    struct wish wish = {
        .arena = arena, .pasts = pasts, .error_rate = POINTS - 1, .latency = POINTS - 1};
    const struct past *last = NULL;
    const struct traffic unknown = {0};
    struct policy policy;
    enum err err = gather(&wish, &last, ei);

    if (err == ERR_OK && wish.success_rate)
        err = least(&wish, &wish.error_rate, out, ei);
    if (err == ERR_OK && wish.duration)
        err = least(&wish, &wish.latency, out, ei);
    if (err != ERR_OK)
        return err;
    if ((err = policy_for(&wish, last, &policy, ei)) != ERR_OK)
        return err;
    const struct stretches stretches = stretches_of_past(arena, last);
    out->promises = promises_of(arena, policy.analysis, &stretches, &unknown, last);
    return ERR_OK;
}

#include "ctl/backtest/promise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "decide/judged.h"
#include "proto/weight.h"

/* Maximum number of looks at the primary before the canary has requests. */
enum { LOOKS_BEFORE = 180, RUNS = 1000, MOST_STRETCHES = SIMULATE_MAX_RUNS };
static const double SECOND_MS = 1000, WANTED = 0.9;

/* --- the traffic */

/* How many bad requests come together: their actual scatter divided by that of pure chance. */
static double clump_of(const struct past_series *series)
{
    struct judge_evidence evidence;

    if (!series->before || !judge_read(series->before, &evidence) || !(evidence.chance > 0))
        return 1;
    return fmax(evidence.scatter / evidence.chance, 1);
}

struct traffic traffic_of(const struct past *past, const char *metric)
{
    const struct past_series *series = past ? past_series_of(past, metric, JUDGED_REQUESTS) : NULL;
    struct judge_counts all = {0}, primary = {0};

    for (int i = 0; series && i < series->n; i++) {
        const struct judge_sample *sample = &series->samples[i];
        all.total += sample->canary.total + sample->primary.total;
        primary.total += sample->primary.total;
        primary.bad += sample->primary.bad;
    }
    if (!series || !(primary.total > 0) || series->samples[series->n - 1].at_s <= series->begin_s)
        return (struct traffic){0};
    return (struct traffic){
        .per_second = all.total / (double)(series->samples[series->n - 1].at_s - series->begin_s),
        .bad = primary.bad / primary.total,
        .clump = clump_of(series)};
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
    struct stretches out = {.list = arena_array(arena, MOST_STRETCHES, sizeof(*out.list))};
    const struct past_series *series = past && past->n_series > 0 ? &past->series[0] : NULL;
    int64_t before_s = series ? series->begin_s : 0;

    for (int i = 0; series && i < series->n && out.n < MOST_STRETCHES; i++) {
        const struct judge_sample *sample = &series->samples[i];
        double all = sample->canary.total + sample->primary.total;
        if (sample->canary.total > 0 && sample->primary.total > 0)
            out.list[out.n++] = (struct power_stretch){.seconds = (double)(sample->at_s - before_s),
                                                       .canary = sample->canary.total / all,
                                                       .primary = sample->primary.total / all};
        before_s = sample->at_s;
    }
    return out;
}

/* --- the promises */

/* A template counts if the policy says that it is judged. */
static bool is_judged(const struct canary_analysis *analysis, const struct canary_metric *metric)
{
    return analysis->judge.given && !metric->judge.off &&
           (canary_metric_is_builtin(metric) || metric->judge.given || metric->compares);
}

static const char *word_of(struct arena *arena, const struct canary_metric *metric)
{
    double most = metric->has_range ? metric->max : metric->threshold;

    if (strcmp(metric->name, "request-success-rate") == 0)
        return "fail";
    if (canary_metric_is_duration(metric) && most > 0 && isfinite(most))
        return arena_printf(arena, "take longer than %g ms", most);
    return "are bad";
}

static struct promise *promise_of(struct arena *arena, const struct canary_judge *judge,
                                  const struct canary_metric *metric, int n,
                                  const struct stretches *stretches, struct traffic traffic)
{
    const struct judge_policy policy = judged_policy(judge, metric, n);
    const struct power_course course = {.stretches = stretches->list,
                                        .n = stretches->n,
                                        .per_second = traffic.per_second,
                                        .primary = traffic.bad,
                                        .clump = traffic.clump,
                                        .every_s = (double)judge->every_ms / SECOND_MS,
                                        .before = LOOKS_BEFORE,
                                        .min_requests = (double)judge->min_requests,
                                        .max_wait_s = (double)judge->max_wait_ms / SECOND_MS};
    struct promise *promise = ARENA_NEW(arena, struct promise);

    *promise =
        (struct promise){.metric = metric->name, .bad = word_of(arena, metric), .traffic = traffic};
    if (!(traffic.per_second > 0))
        return promise;
    promise->least = power_least(&policy, &course, WANTED);
    promise->found = power_of(&policy, &course, isnan(promise->least) ? 1 : promise->least, RUNS);
    return promise;
}

const struct promise *promises_of(struct arena *arena, const struct canary_analysis *analysis,
                                  const struct stretches *stretches, const struct traffic *given,
                                  const struct past *past)
{
    int n = 0;
    struct promise *first = NULL, **last = &first;

    for (int i = 0; i < analysis->n_metrics; i++)
        n += is_judged(analysis, &analysis->metrics[i]);
    for (int i = 0; stretches->n > 0 && i < analysis->n_metrics; i++) {
        const struct canary_metric *metric = &analysis->metrics[i];
        if (!is_judged(analysis, metric) || metric->compares) /* not judged by counts */
            continue;
        *last = promise_of(arena, &analysis->judge, metric, n, stretches,
                           given->per_second > 0 ? *given : traffic_of(past, metric->name));
        last = &(*last)->next;
    }
    return first;
}

/* --- in words */

/* Rounds to this number of digits, without an exponent. */
static const char *number(struct arena *arena, double value, int digits)
{
    double scale = value > 0 ? pow(10, digits - 1 - floor(log10(value))) : 1;

    return arena_printf(arena, "%.12g", round(value * scale) / scale);
}

/* No more than two digits are known. */
static const char *percent(struct arena *arena, double share)
{
    return share >= 0.995 ? "all" : arena_printf(arena, "%s%%", number(arena, share * 100, 2));
}

static const char *duration(struct arena *arena, double seconds)
{
    char text[DURATION_TEXT];

    return arena_strdup(arena, duration_format((int64_t)seconds * 1000 * 1000000, text));
}

const char *promise_sentence(struct arena *arena, const struct promise *promise)
{
    const struct power_found *found = &promise->found;
    const char *start;

    if (!(promise->traffic.per_second > 0))
        return arena_printf(arena,
                            "%s: nothing is known of the traffic; --traffic says how many requests "
                            "a second there are, or a file with the history of the Canary",
                            promise->metric);
    start = arena_printf(arena, "%s: with %s requests a second of which %s %s", promise->metric,
                         number(arena, promise->traffic.per_second, 3),
                         percent(arena, promise->traffic.bad), promise->bad);
    if (isnan(promise->least))
        return arena_printf(arena,
                            "%s, even a canary of which all %s is rolled back in only %.0f of 100 "
                            "releases",
                            start, promise->bad, found->share * 100);
    return arena_printf(
        arena,
        "%s, a canary of which %s %s is rolled back in 9 of 10 releases, in half "
        "of them within %s and %s requests to it%s",
        start, percent(arena, promise->least), promise->bad, duration(arena, found->half_seconds),
        number(arena, found->half_requests, 2),
        isinf(found->most_seconds) ? ""
                                   : arena_printf(arena, ", in 9 of 10 within %s and %s",
                                                  duration(arena, found->most_seconds),
                                                  number(arena, found->most_requests, 2)));
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

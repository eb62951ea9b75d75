#include "decide/promise.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "decide/judged.h"

/* Maximum number of looks at the primary before the canary has requests. */
enum { LOOKS_BEFORE = 180, RUNS = 1000 };
static const double SECOND_MS = 1000, WANTED = 0.9;

/* --- the traffic */

/* How many bad requests come together: their actual scatter divided by that of pure chance. */
static double clump_of(struct json_object *before)
{
    struct judge_evidence evidence;

    if (!before || !judge_read(before, &evidence) || !(evidence.chance > 0))
        return 1;
    return fmax(evidence.scatter / evidence.chance, 1);
}

struct traffic traffic_of_samples(const struct judge_sample *samples, int n, int64_t begin_s,
                                  struct json_object *before)
{
    struct judge_counts all = {0}, primary = {0};

    for (int i = 0; i < n; i++) {
        all.total += samples[i].canary.total + samples[i].primary.total;
        primary.total += samples[i].primary.total;
        primary.bad += samples[i].primary.bad;
    }
    if (n == 0 || !(primary.total > 0) || samples[n - 1].at_s <= begin_s)
        return (struct traffic){0};
    return (struct traffic){.per_second = all.total / (double)(samples[n - 1].at_s - begin_s),
                            .bad = primary.bad / primary.total,
                            .clump = clump_of(before)};
}

struct stretches stretches_of_samples(struct arena *arena, const struct judge_sample *samples,
                                      int n, int64_t begin_s, int most)
{
    struct stretches out = {.list = arena_array(arena, (size_t)most, sizeof(*out.list))};
    int64_t before_s = begin_s;

    for (int i = 0; i < n && out.n < most; i++) {
        const struct judge_sample *sample = &samples[i];
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

static bool is_judged(const struct canary_analysis *analysis, const struct canary_metric *metric)
{
    return analysis->judge.given && !metric->judge.off &&
           (canary_metric_is_builtin(metric) || metric->judge.given || metric->compares);
}

int promise_metrics(const struct canary_analysis *analysis)
{
    int n = 0;

    for (int i = 0; i < analysis->n_metrics; i++)
        n += is_judged(analysis, &analysis->metrics[i]);
    return n;
}

bool promise_is_made(const struct canary_analysis *analysis, const struct canary_metric *metric)
{
    return is_judged(analysis, metric) && !metric->compares;
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

struct promise *promise_new(struct arena *arena, const struct canary_metric *metric,
                            const struct traffic *traffic)
{
    struct promise *promise = ARENA_NEW(arena, struct promise);

    *promise = (struct promise){
        .metric = metric->name, .bad = word_of(arena, metric), .traffic = *traffic};
    return promise;
}

struct power_search *promise_search(const struct canary_analysis *analysis,
                                    const struct canary_metric *metric,
                                    const struct stretches *stretches,
                                    const struct traffic *traffic)
{
    const struct canary_judge *judge = &analysis->judge;
    const struct judge_policy policy = judged_policy(judge, metric, promise_metrics(analysis));
    const struct power_course course = {.stretches = stretches->list,
                                        .n = stretches->n,
                                        .per_second = traffic->per_second,
                                        .primary = traffic->bad,
                                        .clump = traffic->clump,
                                        .every_s = (double)judge->every_ms / SECOND_MS,
                                        .before = LOOKS_BEFORE,
                                        .min_requests = (double)judge->min_requests,
                                        .max_wait_s = (double)judge->max_wait_ms / SECOND_MS};

    return power_search_new(&policy, &course, WANTED, RUNS);
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

#include "page/promises.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "decide/promise.h"

enum { MAX_KEY = 8 * 1024 };

/* A result, or the search for it. */
struct entry {
    char *key;
    int64_t asked_ms;            /* by a page, the last time */
    uint64_t number;             /* ascends in the order of the first questions */
    struct power_search *search; /* NULL: done */
    double least;
    struct power_found found;
};

struct promises {
    struct loop *loop;
    int64_t (*now_ms)(void);
    struct timer *timer; /* runs while something is searched for */
    bool draining;
    uint64_t asked;
    int n;
    struct entry entries[PROMISES_KEPT];
};

/* --- the entries */

static void drop(struct promises *promises, struct entry *entry)
{
    power_search_free(entry->search);
    free(entry->key);
    *entry = promises->entries[--promises->n];
}

static bool is_wanted(const struct promises *promises, const struct entry *entry)
{
    return promises->now_ms() - entry->asked_ms <= PROMISE_ASKED_MS;
}

static struct entry *find(struct promises *promises, const char *key)
{
    for (int i = 0; i < promises->n; i++) {
        if (strcmp(promises->entries[i].key, key) == 0)
            return &promises->entries[i];
    }
    return NULL;
}

/* Takes the key. Where all are wanted there is no room, and the next question asks again. */
static struct entry *add(struct promises *promises, char *key)
{
    if (promises->n == PROMISES_KEPT) {
        struct entry *oldest = &promises->entries[0];
        for (int i = 1; i < promises->n; i++) {
            if (promises->entries[i].asked_ms < oldest->asked_ms)
                oldest = &promises->entries[i];
        }
        if (is_wanted(promises, oldest)) {
            free(key);
            return NULL;
        }
        drop(promises, oldest);
    }
    struct entry *entry = &promises->entries[promises->n++];
    *entry = (struct entry){.key = key, .number = ++promises->asked};
    return entry;
}

/* --- searching */

/* The search that was asked for first; those that no page wants are given up. */
static struct entry *first_search(struct promises *promises)
{
    struct entry *first = NULL;

    for (int i = promises->n - 1; i >= 0; i--) {
        struct entry *entry = &promises->entries[i];
        if (entry->search && !is_wanted(promises, entry))
            drop(promises, entry);
    }
    for (int i = 0; i < promises->n; i++) {
        struct entry *entry = &promises->entries[i];
        if (entry->search && (!first || entry->number < first->number))
            first = entry;
    }
    return first;
}

bool promises_slice(struct promises *promises)
{
    struct entry *entry = first_search(promises);
    int64_t begin_ms = promises->now_ms();
    bool done = false;

    if (!entry)
        return false;
    while (!done && promises->now_ms() - begin_ms < PROMISE_SLICE_MS)
        done = power_search_continue(entry->search, PROMISE_LOOKS);
    if (!done)
        return true;
    entry->least = power_search_least(entry->search);
    entry->found = power_search_found(entry->search);
    power_search_free(entry->search);
    entry->search = NULL;
    return true;
}

static void on_timer(void *arg);

static void start(struct promises *promises)
{
    if (!promises->timer && !promises->draining)
        promises->timer = timer_start(promises->loop, PROMISE_PAUSE_MS, 0, on_timer, promises);
}

/* A turn that has other work does no slice. */
static void on_timer(void *arg)
{
    struct promises *promises = arg;

    promises->timer = NULL;
    if (!loop_has_time(promises->loop) || promises_slice(promises))
        start(promises);
}

static void on_drain(void *arg)
{
    struct promises *promises = arg;

    promises->draining = true;
    timer_stop(promises->timer);
    promises->timer = NULL;
}

struct promises *promises_new(struct loop *loop, int64_t (*now_ms)(void))
{
    struct promises *promises = heap_alloc(sizeof(*promises));

    *promises = (struct promises){.loop = loop, .now_ms = now_ms};
    loop_on_drain(loop, on_drain, promises);
    return promises;
}

void promises_free(struct promises *promises)
{
    if (!promises)
        return;
    loop_off_drain(promises->loop, on_drain, promises);
    timer_stop(promises->timer);
    while (promises->n > 0)
        drop(promises, &promises->entries[0]);
    free(promises);
}

/* --- what was counted */

/* No more digits are known, and the next release would have others. */
static double two_digits(double value)
{
    double scale = value > 0 ? pow(10, 1 - floor(log10(value))) : 1;

    return round(value * scale) / scale;
}

static struct json_object *looks_of(struct json_object *release, const char *metric)
{
    struct json_object *looks = json_at(release, "looks", NULL);

    for (size_t i = 0; i < json_len(looks); i++) {
        const char *name = json_str_at(json_elem(looks, i), "name", NULL);
        if (name && strcmp(name, metric) == 0)
            return json_elem(looks, i);
    }
    return NULL;
}

static int samples_of(struct arena *arena, struct json_object *looks, struct judge_sample **samples)
{
    int n = 0;

    return judge_samples_read(arena, json_at(looks, "counts", NULL), JUDGE_SERIES, samples, &n) ? n
                                                                                                : 0;
}

static struct traffic traffic_of(struct arena *arena, struct json_object *history,
                                 const char *metric)
{
    for (size_t i = 0; i < json_len(history); i++) {
        struct json_object *looks = looks_of(json_elem(history, i), metric);
        struct judge_sample *samples;
        int n = samples_of(arena, looks, &samples);
        struct traffic traffic =
            n > 0 ? traffic_of_samples(samples, n, 0, json_at(looks, "before", NULL))
                  : (struct traffic){0};
        if (traffic.per_second > 0)
            return (struct traffic){.per_second = two_digits(traffic.per_second),
                                    .bad = two_digits(traffic.bad),
                                    .clump = two_digits(traffic.clump)};
    }
    return (struct traffic){0};
}

/* Of the last release that went all the way; else of the last one that was counted. */
static struct stretches stretches_of(struct arena *arena, struct json_object *history,
                                     const char *metric)
{
    struct stretches out = {0};

    for (size_t i = 0; i < json_len(history); i++) {
        const char *outcome = json_str_at(json_elem(history, i), "outcome", NULL);
        bool promoted = outcome && strcmp(outcome, "promoted") == 0;
        struct judge_sample *samples;
        int n = promoted || out.n == 0
                    ? samples_of(arena, looks_of(json_elem(history, i), metric), &samples)
                    : 0;
        if (n == 0)
            continue;
        out = stretches_of_samples(arena, samples, n, 0, JUDGE_SERIES);
        if (promoted && out.n > 0)
            break;
    }
    for (int i = 0; i < out.n; i++) {
        out.list[i].canary = two_digits(out.list[i].canary);
        out.list[i].primary = two_digits(out.list[i].primary);
    }
    return out;
}

/* --- the page */

/* All that the result depends on. */
static char *key_of(const struct canary_analysis *analysis, const struct canary_metric *metric,
                    const struct stretches *stretches, const struct traffic *traffic)
{
    const struct canary_judge *judge = &analysis->judge;
    const struct canary_tolerance *tolerate = metric->judge.has_tolerance ? &metric->judge.tolerate
                                              : canary_metric_is_duration(metric)
                                                  ? &judge->latency
                                                  : &judge->error_rate;
    struct buf key;

    buf_init(&key, MAX_KEY);
    buf_printf(&key, "%g/%d %g+%g %lld %lld %lld %g %g %g", judge->false_alarm_rate,
               promise_metrics(analysis), tolerate->points, tolerate->ratio,
               (long long)judge->every_ms, (long long)judge->min_requests,
               (long long)judge->max_wait_ms, traffic->per_second, traffic->bad, traffic->clump);
    for (int i = 0; i < stretches->n; i++)
        buf_printf(&key, " %g:%g/%g", stretches->list[i].seconds, stretches->list[i].canary,
                   stretches->list[i].primary);
    return buf_give(&key);
}

/* The result, or NULL while it is being searched for. */
static const struct entry *ask(struct promises *promises, const struct canary_analysis *analysis,
                               const struct canary_metric *metric,
                               const struct stretches *stretches, const struct traffic *traffic)
{
    char *key = key_of(analysis, metric, stretches, traffic);
    struct entry *entry = find(promises, key);

    if (entry)
        free(key);
    else if ((entry = add(promises, key)))
        entry->search = promise_search(analysis, metric, stretches, traffic);
    if (!entry)
        return NULL;
    entry->asked_ms = promises->now_ms();
    if (entry->search)
        start(promises);
    return entry->search ? NULL : entry;
}

static struct json_object *show(struct promises *promises, struct arena *arena,
                                const struct canary_analysis *analysis,
                                const struct canary_metric *metric,
                                const struct stretches *stretches, const struct traffic *traffic)
{
    const struct entry *entry = ask(promises, analysis, metric, stretches, traffic);
    struct promise *promise = promise_new(arena, metric, traffic);
    struct json_object *out = json_object_new_object();

    json_set_str(out, "metric", metric->name);
    if (!entry) {
        json_set_bool(out, "computing", true);
        return out;
    }
    promise->least = entry->least;
    promise->found = entry->found;
    json_set_str(out, "text", promise_sentence(arena, promise));
    return out;
}

struct json_object *promises_show(struct promises *promises, struct arena *arena,
                                  const struct canary *canary)
{
    const struct canary_analysis *analysis = &canary->analysis;
    struct json_object *history = json_at(canary->status.json, "history", NULL);
    struct json_object *list = json_own(arena, json_object_new_array());

    for (int i = 0; i < analysis->n_metrics; i++) {
        const struct canary_metric *metric = &analysis->metrics[i];
        if (!promise_is_made(analysis, metric))
            continue;
        const struct traffic traffic = traffic_of(arena, history, metric->name);
        const struct stretches stretches = stretches_of(arena, history, metric->name);
        if (traffic.per_second > 0 && stretches.n > 0)
            json_object_array_add(list,
                                  show(promises, arena, analysis, metric, &stretches, &traffic));
    }
    return json_len(list) > 0 ? list : NULL;
}

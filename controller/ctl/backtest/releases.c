#include "ctl/backtest/replay.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/yaml.h"
#include "ctl/inputs.h"
#include "proto/weight.h"

enum { SECOND_MS = 1000, COUNTS = 4 };

static const double MOST_REQUESTS = 1e12;

void pasts_init(struct pasts *pasts)
{
    *pasts = (struct pasts){0};
    pasts->last = &pasts->first;
}

const struct past_series *past_series_of(const struct past *past, const char *name,
                                         enum judged_kind kind)
{
    for (int i = 0; i < past->n_series; i++)
        if (past->series[i].kind == kind && strcmp(past->series[i].name, name) == 0)
            return &past->series[i];
    return NULL;
}

struct judge_look past_look(const struct past_series *series, int nth)
{
    struct judge_look look = {0};

    (void)judge_look_read(json_elem(series->values, (size_t)nth), series->width, &look);
    return look;
}

/* --- times */

/* Unix time; 0 if there is none. */
static int64_t time_at(struct json_object *object, const char *key)
{
    const char *text = json_str_at(object, key, NULL);
    int64_t ms;

    return text && clock_parse(text, &ms, NULL) == ERR_OK && ms > 0 ? ms : 0;
}

static int64_t earlier(int64_t one, int64_t other)
{
    return one == 0 || (other > 0 && other < one) ? other : one;
}

/* Its start, or the first known time. */
static int64_t zero_of(struct json_object *entry)
{
    struct json_object *looks = json_at(entry, "looks", NULL),
                       *steps = json_at(entry, "steps", NULL);
    int64_t zero = time_at(entry, "began");

    for (size_t i = 0; zero == 0 && i < json_len(looks); i++)
        zero = earlier(zero, time_at(json_elem(looks, i), "since"));
    if (zero == 0)
        zero = time_at(json_elem(steps, 0), "at");
    return zero;
}

static int64_t seconds_after(int64_t zero_ms, int64_t ms)
{
    return ms > zero_ms && zero_ms > 0 ? (ms - zero_ms) / SECOND_MS : 0;
}

/* --- looks */

/* Each look of a number or latency. False if one is none. */
static bool read_values(struct arena *arena, struct past_series *series)
{
    size_t len = json_len(series->values);

    if (!json_object_is_type(series->values, json_type_array) || len > PAST_MAX_LOOKS)
        return false;
    series->samples = arena_array(arena, len + 1, sizeof(*series->samples));
    for (size_t i = 0; i < len; i++) {
        struct judge_look look;
        if (!judge_look_read(json_elem(series->values, i), series->width, &look) ||
            (i > 0 && look.at_s <= series->samples[i - 1].at_s))
            return false;
        series->samples[i] = (struct judge_sample){.at_s = look.at_s, .step = look.step};
        if (series->kind == JUDGED_LATENCY)
            series->samples[i].canary.total = fmax(look.values[0], 0);
    }
    series->n = (int)len;
    return true;
}

/* The kind of looks is that of what was known of the primary before them. */
static enum err read_compared(struct arena *arena, struct past_series *series,
                              struct json_object *one, size_t index, struct errinfo *ei)
{
    struct json_object *beyond = json_at(one, "beyond", NULL);
    struct judge_numbers numbers;
    struct judge_latency latency;
    double unit;

    series->values = json_at(one, "values", NULL);
    if (judge_latency_known_read(series->before, &latency, &unit)) {
        series->kind = JUDGED_LATENCY;
        series->width = 2 * (latency.n + 1);
        for (int i = 0; i < latency.n; i++)
            series->beyond[i] = json_object_get_double(json_elem(beyond, (size_t)i));
    } else if (judge_numbers_read(series->before, &numbers)) {
        series->kind = JUDGED_NUMBER;
        series->width = LOOK_PAIR;
    } else {
        return err_set(ei, ERR_INVALID,
                       "looks[%zu].before: expected what was known of the primary before the looks",
                       index);
    }
    if (read_values(arena, series))
        return ERR_OK;
    return err_set(ei, ERR_INVALID,
                   "looks[%zu].values: expected at most %d lists of seconds, rising, step, looks, "
                   "and %d numbers",
                   index, (int)PAST_MAX_LOOKS, series->width);
}

static enum err read_counts(struct arena *arena, struct past_series *series,
                            struct json_object *one, size_t index, struct errinfo *ei)
{
    if (judge_samples_read(arena, json_at(one, "counts", NULL), PAST_MAX_LOOKS, &series->samples,
                           &series->n))
        return ERR_OK;
    return err_set(ei, ERR_INVALID,
                   "looks[%zu].counts: expected at most %d lists of seconds, rising, step, "
                   "requests of the canary, bad ones of them, requests of the primary, bad "
                   "ones of them",
                   index, (int)PAST_MAX_LOOKS);
}

static enum err read_series(struct arena *arena, struct past *past, struct json_object *looks,
                            size_t index, int64_t zero_ms, struct errinfo *ei)
{
    struct json_object *one = json_elem(looks, index);
    struct past_series *series = &past->series[past->n_series];
    int64_t since_ms = time_at(one, "since");
    /* negative: the first samples are those of the primary, before the release */
    int64_t shift = zero_ms > 0 && since_ms > 0 ? (since_ms - zero_ms) / SECOND_MS : 0;

    series->name = json_str_at(one, "name", NULL);
    series->bad = json_str_at(one, "bad", NULL);
    series->before = json_at(one, "before", NULL);
    series->begin_s = shift;
    if (!series->name)
        return err_set(ei, ERR_INVALID, "looks[%zu].name: expected the name of a metric", index);
    enum err err = json_at(one, "values", NULL) ? read_compared(arena, series, one, index, ei)
                                                : read_counts(arena, series, one, index, ei);
    if (err != ERR_OK)
        return err;
    for (int i = 0; i < series->n; i++)
        series->samples[i].at_s += shift;
    past->n_series += series->n > 0;
    return ERR_OK;
}

static bool read_sums(struct json_object *json, struct judge_counts *canary,
                      struct judge_counts *primary)
{
    double values[COUNTS];

    for (size_t i = 0; i < COUNTS; i++)
        values[i] = json_elem(json, i) ? json_object_get_double(json_elem(json, i)) : -1;
    *canary = (struct judge_counts){.total = values[0], .bad = values[1]};
    *primary = (struct judge_counts){.total = values[2], .bad = values[3]};
    return json_len(json) == COUNTS && values[0] >= values[1] && values[2] >= values[3] &&
           values[1] >= 0 && values[3] >= 0 && values[0] <= MOST_REQUESTS &&
           values[2] <= MOST_REQUESTS;
}

/* The series with this name, added if it is missing: at most `room` series, with at most `most`
 * samples each. */
static struct past_series *series_named(struct arena *arena, struct past *past, const char *name,
                                        size_t most)
{
    for (int i = 0; i < past->n_series; i++)
        if (strcmp(past->series[i].name, name) == 0)
            return &past->series[i];
    struct past_series *series = &past->series[past->n_series++];
    *series = (struct past_series){
        .name = name, .samples = arena_array(arena, most + 1, sizeof(*series->samples))};
    return series;
}

/* Older records have no samples: their steps have cumulative counts. */
static void add_sums(struct past_series *series, int64_t at_s, int64_t step,
                     struct judge_counts canary, struct judge_counts primary)
{
    struct judge_sample *next = &series->samples[series->n];

    *next = (struct judge_sample){.at_s = at_s, .step = step, .canary = canary, .primary = primary};
    for (int i = 0; i < series->n; i++) {
        next->canary.total -= series->samples[i].canary.total;
        next->canary.bad -= series->samples[i].canary.bad;
        next->primary.total -= series->samples[i].primary.total;
        next->primary.bad -= series->samples[i].primary.bad;
    }
    bool later = series->n == 0 || at_s > series->samples[series->n - 1].at_s;
    if (later && next->canary.total + next->primary.total > 0 && next->canary.bad >= 0 &&
        next->primary.bad >= 0 && next->canary.total >= next->canary.bad &&
        next->primary.total >= next->primary.bad)
        series->n++;
}

static int64_t step_of(struct json_object *step)
{
    int64_t weight;

    if (weight_read(json_at(step, "weight", NULL), WEIGHT_ALL, &weight))
        return weight;
    return weight_read(json_at(step, "iteration", NULL), INT_MAX, &weight) ? weight : 0;
}

/* A step records the weight that applies from then on; its counts are about the time before. */
static void read_steps_sums(struct arena *arena, struct past *past, struct json_object *steps,
                            int64_t zero_ms)
{
    int64_t before = 0;

    for (size_t i = 0; i < json_len(steps); i++) {
        struct json_object *step = json_elem(steps, i), *checks = json_at(step, "checks", NULL);
        for (size_t k = 0; k < json_len(checks); k++) {
            const char *name = json_str_at(json_elem(checks, k), "name", NULL);
            struct judge_counts canary, primary;
            if (!name ||
                !read_sums(json_at(json_elem(checks, k), "counts", NULL), &canary, &primary))
                continue;
            add_sums(series_named(arena, past, name, json_len(steps)),
                     seconds_after(zero_ms, time_at(step, "at")), before, canary, primary);
        }
        before = step_of(step);
    }
}

/* --- checks */

static size_t count_checks(struct json_object *steps)
{
    size_t n = 0;

    for (size_t i = 0; i < json_len(steps); i++)
        n += json_len(json_at(json_elem(steps, i), "checks", NULL));
    return n;
}

static void read_checks(struct past *past, struct json_object *steps, int64_t zero_ms)
{
    for (size_t i = 0; i < json_len(steps); i++) {
        struct json_object *checks = json_at(json_elem(steps, i), "checks", NULL);
        for (size_t k = 0; k < json_len(checks); k++) {
            struct json_object *check = json_elem(checks, k),
                               *value = json_at(check, "value", NULL);
            const char *name = json_str_at(check, "name", NULL);
            if (!name || !value)
                continue;
            past->checks[past->n_checks++] = (struct past_check){
                .at_s = seconds_after(zero_ms, time_at(json_elem(steps, i), "at")),
                .name = name,
                .value = json_object_get_double(value)};
        }
    }
}

/* --- a release */

static bool is_list(struct json_object *json)
{
    return !json || json_object_is_type(json, json_type_array);
}

static enum err bound_steps(struct json_object *steps, struct errinfo *ei)
{
    if (!is_list(steps))
        return err_set(ei, ERR_INVALID, "steps: expected a list");
    if (json_len(steps) > PAST_MAX_STEPS)
        return err_set(ei, ERR_INVALID, "steps: expected at most %d, found %zu",
                       (int)PAST_MAX_STEPS, json_len(steps));
    for (size_t i = 0; i < json_len(steps); i++) {
        struct json_object *checks = json_at(json_elem(steps, i), "checks", NULL);
        if (!is_list(checks))
            return err_set(ei, ERR_INVALID, "steps[%zu].checks: expected a list", i);
        if (json_len(checks) > PAST_MAX_CHECKS)
            return err_set(ei, ERR_INVALID, "steps[%zu].checks: expected at most %d, found %zu", i,
                           (int)PAST_MAX_CHECKS, json_len(checks));
    }
    return ERR_OK;
}

static void sum_up(struct past *past, int64_t zero_ms)
{
    for (int i = 0; i < past->n_series; i++) {
        const struct past_series *series = &past->series[i];
        double requests = 0;
        for (int k = 0; k < series->n; k++)
            requests += series->samples[k].canary.total;
        past->requests = fmax(past->requests, requests);
        if (series->n > 0 && series->samples[series->n - 1].at_s > past->end_s)
            past->end_s = series->samples[series->n - 1].at_s;
    }
    int64_t ended = seconds_after(zero_ms, time_at(past->json, "ended"));
    past->end_s = ended > past->end_s ? ended : past->end_s;
}

static const char *text_or(struct json_object *entry, const char *key, const char *missing)
{
    const char *text = json_str_at(entry, key, NULL);

    return text ? text : missing;
}

enum err pasts_add(struct arena *arena, struct pasts *pasts, const char *canary,
                   struct json_object *entry, struct errinfo *ei)
{
    struct json_object *looks = json_at(entry, "looks", NULL),
                       *steps = json_at(entry, "steps", NULL);
    struct past *past = ARENA_NEW(arena, struct past);
    int64_t zero_ms = zero_of(entry);
    enum err err = bound_steps(steps, ei);

    if (err != ERR_OK)
        return err;
    if (!json_object_is_type(entry, json_type_object))
        return err_set(ei, ERR_INVALID, "expected a release, an object with outcome and looks");
    if (!is_list(looks))
        return err_set(ei, ERR_INVALID, "looks: expected a list");
    if (!json_str_at(entry, "outcome", NULL)) {
        pasts->running++;
        return ERR_OK;
    }
    *past = (struct past){.canary = text_or(entry, "canary", canary),
                          .revision = text_or(entry, "revision", ""),
                          .outcome = text_or(entry, "outcome", ""),
                          .json = entry};
    past->series =
        arena_array(arena, json_len(looks) + count_checks(steps) + 1, sizeof(*past->series));
    past->checks = arena_array(arena, count_checks(steps) + 1, sizeof(*past->checks));
    for (size_t i = 0; err == ERR_OK && i < json_len(looks); i++)
        err = read_series(arena, past, looks, i, zero_ms, ei);
    if (err != ERR_OK)
        return err;
    if (past->n_series == 0)
        read_steps_sums(arena, past, steps, zero_ms);
    read_checks(past, steps, zero_ms);
    sum_up(past, zero_ms);
    *pasts->last = past;
    pasts->last = &past->next;
    return ERR_OK;
}

enum err pasts_add_canary(struct arena *arena, struct pasts *pasts, struct json_object *canary,
                          struct errinfo *ei)
{
    const char *namespace_ = json_str_at(canary, "metadata", "namespace", NULL);
    const char *name = arena_printf(arena, "%s/%s", namespace_ ? namespace_ : "default",
                                    text_or(json_at(canary, "metadata", NULL), "name", ""));
    struct json_object *history = json_at(canary, "status", "history", NULL);
    enum err err = ERR_OK;

    pasts->running += json_at(canary, "status", "release", NULL) != NULL;
    for (size_t i = 0; err == ERR_OK && i < json_len(history); i++) {
        err = pasts_add(arena, pasts, name, json_elem(history, i), ei);
        if (err != ERR_OK)
            err = err_wrap(ei, err, "Canary %s: status.history[%zu]", name, i);
    }
    return err;
}

/* --- files */

struct reading {
    struct arena *arena;
    struct pasts *pasts;
    const char *file;
    struct yaml_marks *marks;
};

static enum err add_releases(const struct reading *rd, struct json_object *doc, struct errinfo *ei)
{
    struct json_object *list = json_at(doc, "releases", NULL);
    enum err err = ERR_OK;

    for (size_t i = 0; err == ERR_OK && i < json_len(list); i++) {
        struct yaml_place at = {.line = 1, .column = 1};
        err = pasts_add(rd->arena, rd->pasts, text_or(doc, "canary", ""), json_elem(list, i), ei);
        if (err == ERR_OK)
            continue;
        (void)yaml_mark(rd->marks, list, NULL, i, &at);
        err = err_wrap(ei, err, "%s:%zu:%zu: releases[%zu]", rd->file, at.line, at.column, i);
    }
    return err;
}

static enum err add_doc(const struct reading *rd, struct json_object *list, size_t index,
                        struct errinfo *ei)
{
    struct json_object *doc = json_elem(list, index);
    struct yaml_place at = {.line = 1, .column = 1};
    const char *kind = text_or(doc, "kind", "");

    if (json_object_is_type(json_at(doc, "releases", NULL), json_type_array))
        return add_releases(rd, doc, ei);
    if (strcmp(kind, "Canary") == 0)
        return pasts_add_canary(rd->arena, rd->pasts, doc, ei);
    (void)yaml_mark(rd->marks, list, NULL, index, &at);
    return err_set(ei, ERR_INVALID,
                   "%s:%zu:%zu: expected releases, or a Canary, or a list of Canaries", rd->file,
                   at.line, at.column);
}

enum err pasts_parse(struct arena *arena, struct pasts *pasts, const char *file, const char *text,
                     size_t len, struct errinfo *ei)
{
    struct reading rd = {.arena = arena, .pasts = pasts, .file = file};
    struct json_object *docs;
    enum err err = yaml_parse_marked(arena, file, text, len, PAST_MAX_BYTES, &docs, &rd.marks, ei);

    if (err != ERR_OK)
        return err;
    for (size_t i = 0; err == ERR_OK && i < json_len(docs); i++) {
        struct json_object *items = json_at(json_elem(docs, i), "items", NULL);
        if (!json_object_is_type(items, json_type_array))
            err = add_doc(&rd, docs, i, ei);
        for (size_t k = 0; err == ERR_OK && k < json_len(items); k++)
            err = add_doc(&rd, items, k, ei);
    }
    return err;
}

enum err pasts_add_file(struct arena *arena, struct pasts *pasts, const char *file,
                        struct errinfo *ei)
{
    char *text;
    size_t len;
    enum err err = input_read(arena, file, PAST_MAX_BYTES, &text, &len, ei);

    return err == ERR_OK ? pasts_parse(arena, pasts, input_name(file), text, len, ei) : err;
}

#include "decide/judged.h"

#include <string.h>

#include "base/clock.h"
#include "tick/edit.h"

enum { SECOND_MS = 1000, LEAST_LOOKS = 6 };

/* --- the policy of a metric */

/* The tolerated ratio of a compared number, unless the spec gives one. */
static const double NUMBER_RATIO = 0.1;

static struct judge_tolerance tolerance_of(const struct canary_judge *judge,
                                           const struct canary_metric *metric)
{
    if (metric->compares && !metric->judge.has_tolerance)
        return (struct judge_tolerance){.ratio =
                                            canary_metric_is_latency(metric) ? 0 : NUMBER_RATIO};

    const struct canary_tolerance *given = metric->judge.has_tolerance ? &metric->judge.tolerate
                                           : canary_metric_is_duration(metric) ? &judge->latency
                                                                               : &judge->error_rate;

    return (struct judge_tolerance){.points = given->points, .ratio = given->ratio};
}

struct judge_policy judged_policy(const struct canary_judge *judge,
                                  const struct canary_metric *metric, int n)
{
    return (struct judge_policy){.false_alarm_rate = judge->false_alarm_rate,
                                 .tolerate = tolerance_of(judge, metric),
                                 .share = 1.0 / n};
}

static int64_t time_at(struct json_object *object, const char *key)
{
    const char *text = json_str_at(object, key, NULL);
    int64_t ms;

    return text && clock_parse(text, &ms, NULL) == ERR_OK && ms > 0 ? ms : 0;
}

static double number_at(struct json_object *object, const char *key)
{
    struct json_object *number = json_at(object, key, NULL);
    double value = number ? json_object_get_double(number) : 0;

    return value >= 0 ? value : 0;
}

/* --- reading the status */

static struct json_object *entry_of(struct json_object *list, const char *name, int nth)
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *found = json_str_at(json_elem(list, i), "name", NULL);
        if (found && strcmp(found, name) == 0 && nth-- == 0)
            return json_elem(list, i);
    }
    return NULL;
}

/* Number of earlier metrics with the same name. */
static int nth_of(const struct judged *judged, const char *name)
{
    int n = 0;

    for (int i = 0; i < judged->n; i++)
        n += strcmp(judged->metrics[i].name, name) == 0;
    return n;
}

/* Evidence collected under another tolerance does not count. */
static bool is_of_policy(struct json_object *entry, const struct judge_policy *policy)
{
    return number_at(json_at(entry, "tolerate", NULL), "points") == policy->tolerate.points &&
           number_at(json_at(entry, "tolerate", NULL), "ratio") == policy->tolerate.ratio;
}

static void read_looks(struct json_object *looks, int64_t since_ms, struct judged_metric *out)
{
    struct json_object *beyond = json_at(looks, "beyond", NULL);

    for (int i = 0; i < LATENCY_PAIRS && (size_t)i < json_len(beyond); i++)
        out->beyond[i] = json_object_get_double(json_elem(beyond, (size_t)i));
    if (since_ms > 0 &&
        judge_looks_read(json_at(looks, "values", NULL), LOOKS_NUMBERS, &out->looks))
        out->samples_since_s = since_ms / SECOND_MS;
}

/* Samples are about requests, not about a tolerance. */
static void read_samples(struct release *r, struct json_object *entry, struct judged_metric *out)
{
    struct json_object *looks = json_at(entry, "looks", NULL);
    struct judge_sample *samples;
    int64_t since_ms = time_at(looks, "since");
    int n;

    out->bad = json_str_at(looks, "bad", NULL);
    out->before = json_at(looks, "before", NULL);
    if (out->kind != JUDGED_REQUESTS) {
        read_looks(looks, since_ms, out);
        return;
    }
    if (since_ms == 0 || !judge_samples_read(r->tick->arena, json_at(looks, "counts", NULL),
                                             JUDGE_SERIES, &samples, &n))
        return;
    out->samples_since_s = since_ms / SECOND_MS;
    out->samples.n = n;
    if (n > 0)
        memcpy(out->samples.samples, samples, (size_t)n * sizeof(*samples));
}

static enum judged_kind kind_of(const struct canary_metric *metric)
{
    if (canary_metric_is_latency(metric))
        return JUDGED_LATENCY;
    if (metric->past)
        return JUDGED_PAST;
    return metric->compares ? JUDGED_NUMBER : JUDGED_REQUESTS;
}

/* A number whose worse side has changed starts over. */
static bool read_evidence(struct json_object *entry, const struct canary_metric *metric,
                          struct judged_metric *out)
{
    struct json_object *json = json_at(entry, "evidence", NULL);

    if (out->kind == JUDGED_REQUESTS)
        return judge_read(json, &out->evidence);
    if (out->kind == JUDGED_LATENCY)
        return judge_latency_read(json, &out->latency);
    if (out->kind == JUDGED_PAST) {
        if (judge_past_read(json, &out->past) && out->past.lower == metric->judge.lower)
            return true;
        judge_past_begin(&out->past, metric->judge.lower);
        return false;
    }
    if (judge_numbers_read(json, &out->numbers) && out->numbers.lower == metric->judge.lower)
        return true;
    judge_numbers_begin(&out->numbers, metric->judge.lower);
    return false;
}

static const char *const side_names[] = {[SIDE_PRIMARY] = "primary", [SIDE_CANARY] = "canary"};

static void read_native(struct json_object *list, bool native[2])
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *name = json_object_is_type(json_elem(list, i), json_type_string)
                               ? json_object_get_string(json_elem(list, i))
                               : "";
        for (int side = 0; side < 2; side++)
            native[side] = native[side] || strcmp(name, side_names[side]) == 0;
    }
}

static void read_metric(struct release *r, struct json_object *list, int index, int n,
                        struct judged *judged)
{
    const struct canary_judge *judge = &r->canary->analysis.judge;
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct json_object *entry = entry_of(list, metric->name, nth_of(judged, metric->name));
    struct judged_metric *out = &judged->metrics[judged->n++];

    *out = (struct judged_metric){.index = index,
                                  .name = metric->name,
                                  .kind = kind_of(metric),
                                  .policy = judged_policy(judge, metric, n)};
    judge_begin(&out->evidence);
    judge_numbers_begin(&out->numbers, metric->judge.lower);
    judge_past_begin(&out->past, metric->judge.lower);
    read_native(json_at(entry, "native", NULL), out->native);
    read_samples(r, entry, out);
    if (!entry || !is_of_policy(entry, &out->policy))
        return;
    out->counted_s = time_at(entry, "lastLook") / SECOND_MS;
    out->says = json_str_at(entry, "says", NULL);
    if (read_evidence(entry, metric, out)) {
        out->from = number_at(entry, "from");
        out->first_s = time_at(entry, "first") / SECOND_MS;
    }
}

struct judged *judged_read(struct release *r, const int *metrics, int n)
{
    struct json_object *json = json_at(r->canary->status.json, "judge", NULL);
    struct json_object *pods = json_at(json, "pods", NULL);
    const char *step = json_str_at(json, "step", NULL);
    struct judged *judged = ARENA_NEW(r->tick->arena, struct judged);

    *judged = (struct judged){.since_ms = time_at(json, "since"), .step = step ? step : ""};
    for (size_t side = 0; side < 2; side++) {
        int64_t count = 0;
        if (json_to_int(json_elem(pods, side), &count) && count > 0 && count < INT32_MAX)
            judged->pods[side] = (int)count;
    }
    for (int i = 0; i < n; i++)
        read_metric(r, json_at(json, "metrics", NULL), metrics[i], n, judged);
    return judged;
}

/* --- writing the status */

static void set_time(struct json_object *object, const char *key, int64_t ms)
{
    char text[CLOCK_TEXT];

    if (ms > 0)
        json_set_str(object, key, clock_rfc3339(ms, text));
}

static void set_number(struct json_object *object, const char *key, double value)
{
    json_object_object_add(object, key, json_object_new_double(value));
}

static struct json_object *bounds_json(struct release *r, const struct judged_metric *metric)
{
    struct json_object *list = edit_array(r->tick->arena);

    for (int i = 0; i < metric->looks.width / 2 - 1; i++)
        json_object_array_add(list, judge_number_json(metric->beyond[i]));
    return list;
}

static bool has_samples(const struct judged_metric *metric)
{
    return metric->samples.n > 0 || metric->looks.n > 0;
}

static struct json_object *samples_json(struct release *r, const struct judged_metric *metric)
{
    struct json_object *samples = edit_object(r->tick->arena);

    if (metric->kind == JUDGED_REQUESTS)
        json_set_str(samples, "bad", metric->bad);
    if (metric->before)
        json_set(samples, "before", json_copy(r->tick->arena, metric->before));
    set_time(samples, "since", metric->samples_since_s * SECOND_MS);
    if (metric->kind == JUDGED_LATENCY)
        json_set(samples, "beyond", bounds_json(r, metric));
    if (metric->kind == JUDGED_REQUESTS)
        json_set(samples, "counts",
                 judge_samples_write(r->tick->arena, metric->samples.samples, metric->samples.n));
    else
        json_set(samples, "values", judge_looks_write(r->tick->arena, &metric->looks));
    return samples;
}

static struct json_object *native_json(struct arena *arena, const bool native[2])
{
    struct json_object *list = edit_array(arena);

    for (int side = 0; side < 2; side++) {
        if (native[side])
            json_object_array_add(list, json_object_new_string(side_names[side]));
    }
    return list;
}

static struct json_object *evidence_json(struct arena *arena, const struct judged_metric *metric)
{
    switch (metric->kind) {
    case JUDGED_NUMBER:
        return judge_numbers_write(arena, &metric->numbers);
    case JUDGED_LATENCY:
        return judge_latency_write(arena, &metric->latency);
    case JUDGED_PAST:
        return judge_past_write(arena, &metric->past);
    case JUDGED_REQUESTS:
        break;
    }
    return judge_write(arena, &metric->evidence);
}

static struct json_object *metric_json(struct release *r, const struct judged_metric *metric)
{
    struct json_object *entry = edit_object(r->tick->arena);
    struct json_object *tolerate = edit_object(r->tick->arena);

    json_set_str(entry, "name", metric->name);
    set_time(entry, "lastLook", metric->counted_s * SECOND_MS);
    set_time(entry, "first", metric->first_s * SECOND_MS);
    json_set_str(entry, "says", metric->says);
    set_number(entry, "from", metric->from);
    set_number(tolerate, "points", metric->policy.tolerate.points);
    set_number(tolerate, "ratio", metric->policy.tolerate.ratio);
    json_set(entry, "tolerate", tolerate);
    if (metric->native[SIDE_PRIMARY] || metric->native[SIDE_CANARY])
        json_set(entry, "native", native_json(r->tick->arena, metric->native));
    json_set(entry, "evidence", evidence_json(r->tick->arena, metric));
    if (has_samples(metric) || metric->before)
        json_set(entry, "looks", samples_json(r, metric));
    return entry;
}

void judged_write(struct release *r, const struct judged *judged)
{
    struct json_object *json = edit_object(r->tick->arena);
    struct json_object *pods = edit_array(r->tick->arena), *metrics = edit_array(r->tick->arena);

    for (int side = 0; side < 2; side++)
        json_object_array_add(pods, json_object_new_int(judged->pods[side]));
    for (int i = 0; i < judged->n; i++)
        edit_add(metrics, metric_json(r, &judged->metrics[i]));
    json_set(json, "pods", pods);
    set_time(json, "since", judged->since_ms);
    json_set_str(json, "step", judged->step);
    json_set(json, "metrics", metrics);
    json_set(release_status(r), "judge", json);
}

/* --- sentences */

const char *judged_sentence(struct arena *arena, const struct judged *judged)
{
    const char *text = "";

    for (int i = 0; i < judged->n; i++) {
        const struct judged_metric *metric = &judged->metrics[i];
        if (metric->says)
            text = arena_printf(arena, "%s%s%s: %s", text, *text ? "; " : "", metric->name,
                                metric->says);
    }
    return text;
}

enum judge_verdict judged_verdict(const struct judged_metric *metric)
{
    switch (metric->kind) {
    case JUDGED_NUMBER:
        return judge_numbers_verdict(&metric->numbers, &metric->policy);
    case JUDGED_LATENCY:
        return judge_latency_verdict(&metric->latency, &metric->policy);
    case JUDGED_PAST:
        return judge_past_verdict(&metric->past, &metric->policy);
    case JUDGED_REQUESTS:
        break;
    }
    return judge_verdict(&metric->evidence, &metric->policy);
}

double judged_requests(const struct judged_metric *metric)
{
    double all = metric->kind == JUDGED_NUMBER    ? (double)metric->numbers.looks
                 : metric->kind == JUDGED_LATENCY ? judge_latency_requests(&metric->latency)
                 : metric->kind == JUDGED_PAST    ? (double)metric->past.today.looks
                                                  : metric->evidence.canary.total;

    return all - metric->from;
}

bool judged_is_silent(const struct judged_metric *metric, const struct canary_judge *judge)
{
    if (metric->kind == JUDGED_NUMBER)
        return judged_requests(metric) < 1 || metric->numbers.comparisons == 0 ||
               judge_numbers_beyond(&metric->numbers);
    if (metric->kind == JUDGED_PAST)
        return judged_requests(metric) < 1 || metric->past.last.days == 0 ||
               judge_past_beyond(&metric->past, &metric->policy);
    return judged_verdict(metric) != JUDGE_NOT_WORSE &&
           judged_requests(metric) < (double)judge->min_requests;
}

/* --- samples */

/* The share of one metric, of at most so many. */
static int room(const struct release *r, int most)
{
    int share = JUDGED_SAMPLES / r->judged->n;

    return share < LEAST_LOOKS ? LEAST_LOOKS : share > most ? most : share;
}

static int64_t step_of(const struct release *r)
{
    const struct canary_status *status = &r->canary->status;

    return r->strategy == STRATEGY_CANARY ? status->canary_weight
                                          : WEIGHT_PERCENT * (int64_t)status->iterations;
}

void judged_keep_sample(struct release *r, struct judged_metric *metric, int64_t begin_s,
                        int64_t end_s, struct judge_counts canary, struct judge_counts primary)
{
    if (metric->samples.n == 0)
        metric->samples_since_s = begin_s;
    judge_series_add(&metric->samples, room(r, JUDGE_SERIES),
                     &(struct judge_sample){.at_s = end_s - metric->samples_since_s,
                                            .step = step_of(r),
                                            .canary = canary,
                                            .primary = primary});
}

void judged_keep_look(struct release *r, struct judged_metric *metric, int64_t begin_s,
                      int64_t end_s, const double values[], int n_values)
{
    bool sums = metric->kind == JUDGED_LATENCY;
    struct judge_look look = {.step = step_of(r), .looks = 1};

    if (metric->looks.n == 0)
        metric->samples_since_s = begin_s;
    look.at_s = end_s - metric->samples_since_s;
    memcpy(look.values, values, (size_t)n_values * sizeof(values[0]));
    judge_looks_add(&metric->looks, room(r, sums ? LOOKS_LATENCY : LOOKS_NUMBERS), sums, n_values,
                    &look);
}

void judged_know(struct judged_metric *metric, struct json_object *known)
{
    metric->before = known;
    metric->looks = (struct judge_looks){0};
    memset(metric->beyond, 0, sizeof(metric->beyond));
}

static void add_samples(struct json_object *list, const char *name, struct json_object *samples)
{
    json_set_str(samples, "name", name);
    edit_add(list, samples);
}

/* For a tick without a new sample: the samples in the status. */
struct json_object *judged_samples(struct release *r)
{
    struct json_object *before = json_at(r->canary->status.json, "judge", "metrics", NULL);
    struct json_object *list = edit_array(r->tick->arena);

    for (int i = 0; r->judged && i < r->judged->n; i++) {
        if (has_samples(&r->judged->metrics[i]))
            add_samples(list, r->judged->metrics[i].name, samples_json(r, &r->judged->metrics[i]));
    }
    for (size_t i = 0; !r->judged && i < json_len(before); i++) {
        struct json_object *samples = json_at(json_elem(before, i), "looks", NULL);
        if (json_object_is_type(samples, json_type_object))
            add_samples(list, json_str_at(json_elem(before, i), "name", NULL),
                        json_copy(r->tick->arena, samples));
    }
    return json_len(list) > 0 ? list : NULL;
}

struct json_object *judged_counts(struct release *r, const struct judged_metric *metric)
{
    const struct judge_evidence *evidence = &metric->evidence;
    const double counts[] = {evidence->canary.total, evidence->canary.bad, evidence->primary.total,
                             evidence->primary.bad};
    struct json_object *list = edit_array(r->tick->arena);

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_object_array_add(list, json_object_new_double(counts[i]));
    return list;
}

/* Prometheus and compatible servers (metric/METRICS.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metric/backend.h"

static enum err query_request(struct arena *arena, const struct metric_question *question,
                              const char *query, struct metric_request *out, struct errinfo *ei)
{
    struct backend_call call = backend_begin(arena, question, NULL, out, ei);
    const char *token = backend_secret_or(arena, question->secret, "token");

    const char *text = url_encode_form(arena, backend_one_line(arena, query, "#"));
    long long at = question->query ? (long long)question->at_s : 0, every = question->every_s;

    if (question->times > 0)
        backend_url(&call, "/api/v1/query_range?query=%s&start=%lld&end=%lld&step=%lld", text,
                    at - (question->times - 1) * every, at, every);
    else
        backend_url(&call, "/api/v1/query?query=%s%s", text,
                    at > 0 ? arena_printf(arena, "&time=%lld", at) : "");
    if (token)
        backend_header(&call, "Authorization", arena_printf(arena, "Bearer %s", token));
    else if (question->secret && !backend_basic(&call))
        backend_fail(&call,
                     "prometheus credentials: the secret needs token, or username and password");
    return backend_end(&call);
}

static enum err prometheus_request(struct arena *arena, const struct metric_question *question,
                                   int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    (void)now_ms;
    return query_request(arena, question, question->query ? question->query : "vector(1)", out, ei);
}

static const char not_a_number[] =
    "prometheus sent a native histogram, expected a number; take histogram_quantile() or "
    "histogram_fraction() of it in the query";

/* A sample is [time, "value"]; [time, {...}] is one of a native histogram. */
static struct metric_answer read_sample(struct arena *arena, const struct metric_question *question,
                                        struct json_object *sample)
{
    struct json_object *text = json_elem(sample, 1);
    struct metric_answer answer;

    if (json_object_is_type(text, json_type_object))
        return backend_failure(not_a_number);
    if (!json_object_is_type(text, json_type_string))
        return backend_failure("prometheus sent a sample without a value");
    answer = backend_number_text(arena, question, json_object_get_string(text));
    answer.at_ms = backend_time_ms(json_elem(sample, 0), 1000);
    return answer;
}

/* The place of a time among those of the question; -1 if it is none of them. */
static int place_of(const struct metric_question *question, struct json_object *time)
{
    int64_t begin_s = question->at_s - (question->times - 1) * question->every_s;
    int64_t after_s = backend_time_ms(time, 1000) / 1000 - begin_s;

    return after_s >= 0 && after_s % question->every_s == 0 &&
                   after_s / question->every_s < question->times
               ? (int)(after_s / question->every_s)
               : -1;
}

/* The "values" of a series at the times of the question. */
static struct metric_answer read_range(struct arena *arena, const struct metric_question *question,
                                       struct json_object *list)
{
    double *values = arena_array(arena, (size_t)question->times, sizeof(*values));

    for (int i = 0; i < question->times; i++)
        values[i] = NAN;
    for (size_t i = 0; i < json_len(list); i++) {
        struct metric_answer one = read_sample(arena, question, json_elem(list, i));
        int at = place_of(question, json_elem(json_elem(list, i), 0));
        if (one.outcome == METRIC_ERROR)
            return one;
        if (one.outcome == METRIC_VALUE && at >= 0)
            values[at] = one.value;
    }
    return (struct metric_answer){
        .outcome = METRIC_VALUE, .values = values, .n_values = question->times};
}

static struct metric_answer read_series(struct arena *arena, const struct metric_question *question,
                                        struct json_object *series)
{
    struct json_object *native =
        json_at(series, question->times > 0 ? "histograms" : "histogram", NULL);
    const char *plain = question->times > 0 ? "values" : "value";

    if (native && !json_at(series, plain, NULL))
        return backend_failure(not_a_number);
    if (question->times > 0)
        return read_range(arena, question, json_at(series, plain, NULL));
    if (json_at(series, "values", NULL))
        return backend_failure("query returned multiple values");
    return read_sample(arena, question, json_at(series, plain, NULL));
}

static bool has_label(struct json_object *series, const char *label, const char *value)
{
    const char *found = label ? json_str_at(series, "metric", label, NULL) : value;

    return found && strcmp(found, value) == 0;
}

/* As in Flagger, the last of several series is used. pick NULL: all series belong to this
 * question. */
static struct metric_answer read_list(struct arena *arena, const struct metric_question *question,
                                      struct json_object *list, const struct metric_pick *pick)
{
    struct json_object *last = NULL;
    size_t n = 0;

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *series = json_elem(list, i);
        if (pick && !(has_label(series, pick->label, pick->value) &&
                      has_label(series, pick->namespace_label, pick->namespace_)))
            continue;
        last = series;
        n++;
    }
    if (!last)
        return backend_no_values("no series");
    return backend_chosen(arena, read_series(arena, question, last), "last", n, "series");
}

/* Upper bound of a bucket; false if it has none. */
static bool bound_of(struct json_object *series, double *out)
{
    const char *text = json_str_at(series, "metric", "le", NULL);
    char *end;

    if (!text || !*text)
        return false;
    *out = strtod(text, &end);
    return !*end && !isnan(*out);
}

/* Reads the smallest of the cumulative buckets that contains all requests up to
 * question->bucket. */
static struct metric_answer read_bucket(struct arena *arena, const struct metric_question *question,
                                        struct json_object *list)
{
    struct json_object *nearest = NULL;
    double best = INFINITY, bound;

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *series = json_elem(list, i);
        /* tolerates the rounding of a division */
        if (!bound_of(series, &bound) || bound < question->bucket * (1 - 1e-9) || bound >= best)
            continue;
        best = bound;
        nearest = series;
    }
    if (!nearest)
        return backend_no_values(json_len(list) > 0 ? "no bucket that high" : "no series");
    struct metric_answer answer = read_series(arena, question, nearest);
    answer.note = arena_printf(arena, "%g", best);
    return answer;
}

/* --- native histograms */

enum { MOST_BOUNDS = 512 };

/*
 * A histogram as cumulative counts. Only buckets with requests are sent: each adds its two bounds,
 * if they are positive, so that between two bounds with the same count there is no request. The
 * last bound is infinite.
 */
struct native {
    int n;
    double *bounds, *counts;
    double below; /* the count below the first bound */
};

/* Bounds that differ by less are one: powers of two are rounded. */
static const double BOUND_ROUNDING = 1e-9;

static bool is_same_bound(double one, double other)
{
    return one == other || (isfinite(one) && fabs(one - other) <= BOUND_ROUNDING * fabs(one));
}

/* A number as text; false if it is none, or NaN. */
static bool number_of(struct json_object *json, double *out)
{
    const char *text =
        json_object_is_type(json, json_type_string) ? json_object_get_string(json) : "";
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end && !isnan(*out);
}

static void put_bound(struct native *out, double bound, double count)
{
    bool is_last = out->n > 0 && is_same_bound(out->bounds[out->n - 1], bound);

    if (bound <= 0) {
        out->below = count;
        return;
    }
    out->n += !is_last;
    out->bounds[out->n - 1] = bound;
    out->counts[out->n - 1] = count;
}

/*
 * The buckets, [rule, "lower", "upper", "count"] in ascending order. The rules say which bounds
 * belong to a bucket, which only matters for requests of exactly that duration: (0, the usual one,
 * the upper one; 1, negative, the lower one; 2 none; 3, around zero, both). A bucket with less than
 * nothing is empty: the differences of two histograms are sums as well.
 */
static const char *read_buckets(struct json_object *list, struct native *out, double *sum)
{
    double last = -INFINITY;

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *bucket = json_elem(list, i);
        double lower, upper, count;
        int64_t rule;
        if (!json_to_int(json_elem(bucket, 0), &rule) || rule < 0 || rule > 3 ||
            !number_of(json_elem(bucket, 1), &lower) || !number_of(json_elem(bucket, 2), &upper) ||
            !number_of(json_elem(bucket, 3), &count) || isinf(count))
            return "expected [0 to 3, \"lower\", \"upper\", \"count\"]";
        if (!(lower < upper) || (lower < last && !is_same_bound(last, lower)))
            return "expected ascending buckets that do not overlap";
        put_bound(out, lower, *sum);
        *sum += fmax(count, 0);
        put_bound(out, upper, *sum);
        last = upper;
    }
    return NULL;
}

/* NULL, or what is wrong. Requests without a bucket, of no duration (NaN), are beyond all bounds. */
static const char *read_native(struct arena *arena, struct json_object *histogram,
                               struct native *out)
{
    struct json_object *buckets = json_at(histogram, "buckets", NULL);
    size_t n = json_len(buckets);
    double count, sum = 0;
    const char *fault = NULL;

    *out = (struct native){0};
    if (!number_of(json_at(histogram, "count", NULL), &count) || isinf(count))
        fault = "without a count";
    else if (n > MOST_BOUNDS)
        fault = arena_printf(arena, "of %zu buckets, expected at most %d", n, MOST_BOUNDS);
    if (fault)
        return arena_printf(arena, "prometheus sent a native histogram %s", fault);
    out->bounds = arena_array(arena, 2 * n + 1, sizeof(double));
    out->counts = arena_array(arena, 2 * n + 1, sizeof(double));
    fault = read_buckets(buckets, out, &sum);
    if (fault)
        return arena_printf(arena, "prometheus sent an odd bucket of a native histogram, %s",
                            fault);
    put_bound(out, INFINITY, count > sum * (1 + BOUND_ROUNDING) ? count : sum);
    return NULL;
}

/* The requests up to a bound of another histogram; within a bucket, those below the bucket. */
static double native_count(const struct native *native, double bound)
{
    int i = 0;

    while (i < native->n && native->bounds[i] < bound && !is_same_bound(native->bounds[i], bound))
        i++;
    if (i < native->n && is_same_bound(native->bounds[i], bound))
        return native->counts[i];
    return i > 0 ? native->counts[i - 1] : native->below;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* All bounds of the histograms, ascending, each once. */
static double *all_bounds(struct arena *arena, const struct native natives[], int times, int *n)
{
    size_t most = 0;
    int all = 0;

    for (int i = 0; i < times; i++)
        most += (size_t)natives[i].n;
    double *bounds = arena_array(arena, most, sizeof(*bounds));
    for (int i = 0; i < times; i++) {
        for (int k = 0; k < natives[i].n; k++)
            bounds[all++] = natives[i].bounds[k];
    }
    if (all > 1)
        qsort(bounds, (size_t)all, sizeof(*bounds), by_value);
    *n = 0;
    for (int i = 0; i < all; i++) {
        if (*n == 0 || !is_same_bound(bounds[*n - 1], bounds[i]))
            bounds[(*n)++] = bounds[i];
    }
    return bounds;
}

/* One table of them; a time without a histogram has NaN. */
static struct metric_answer native_table(struct arena *arena, const struct native natives[],
                                         int times)
{
    int n;
    double *bounds = all_bounds(arena, natives, times, &n);

    if (n == 0)
        return backend_no_values("no buckets");
    if (n > MOST_BOUNDS)
        return backend_failure(
            arena_printf(arena,
                         "prometheus sent native histograms of %d bounds, expected at most %d; "
                         "lower native_histogram_bucket_limit of the scrape",
                         n, MOST_BOUNDS));
    double *values = arena_array(arena, (size_t)n * (size_t)times, sizeof(*values));
    for (int b = 0; b < n; b++) {
        for (int i = 0; i < times; i++)
            values[b * times + i] = natives[i].n > 0 ? native_count(&natives[i], bounds[b]) : NAN;
    }
    return (struct metric_answer){.outcome = METRIC_VALUE,
                                  .values = values,
                                  .n_values = n * times,
                                  .bounds = bounds,
                                  .n_bounds = n};
}

static bool is_native(struct json_object *series)
{
    return json_at(series, "histogram", NULL) || json_at(series, "histograms", NULL);
}

static struct metric_answer read_natives(struct arena *arena,
                                         const struct metric_question *question,
                                         struct json_object *series)
{
    int times = question->times > 0 ? question->times : 1;
    struct native *natives = arena_array(arena, (size_t)times, sizeof(*natives));
    struct json_object *list = json_at(series, "histograms", NULL);
    const char *fault = NULL;

    if (question->times == 0)
        fault = read_native(arena, json_elem(json_at(series, "histogram", NULL), 1), natives);
    for (size_t i = 0; question->times > 0 && i < json_len(list) && !fault; i++) {
        int at = place_of(question, json_elem(json_elem(list, i), 0));
        if (at >= 0)
            fault = read_native(arena, json_elem(json_elem(list, i), 1), &natives[at]);
    }
    return fault ? backend_failure(fault) : native_table(arena, natives, times);
}

/* --- histograms by `le` */

struct bucket {
    double bound;
    struct json_object *series;
};

static int by_bound(const void *a, const void *b)
{
    double x = ((const struct bucket *)a)->bound, y = ((const struct bucket *)b)->bound;

    return (x > y) - (x < y);
}

/* Copies the values of the series, one for each time, into a row; NULL, or what is wrong. */
static const char *read_row(struct arena *arena, const struct metric_question *question,
                            struct json_object *series, int times, double values[])
{
    const struct metric_answer answer = read_series(arena, question, series);

    if (answer.outcome == METRIC_ERROR)
        return answer.text;
    for (int i = 0; i < times; i++)
        values[i] = question->times > 0              ? answer.values[i]
                    : answer.outcome == METRIC_VALUE ? answer.value
                                                     : NAN;
    return NULL;
}

/* Sums of differences are rounded, so each bucket is raised to at least what the smaller ones
 * hold. */
static void let_ascend(double values[], int bounds, int times)
{
    for (int i = times; i < bounds * times; i++) {
        if (values[i] < values[i - times])
            values[i] = values[i - times];
    }
}

static struct metric_answer read_histogram(struct arena *arena,
                                           const struct metric_question *question,
                                           struct json_object *list)
{
    int times = question->times > 0 ? question->times : 1, n = 0, n_native = 0;
    struct json_object *native = NULL;
    struct bucket *buckets = arena_array(arena, json_len(list), sizeof(*buckets));

    for (size_t i = 0; i < json_len(list); i++) {
        buckets[n].series = json_elem(list, i);
        if (is_native(buckets[n].series)) {
            native = buckets[n].series;
            n_native++;
        }
        n += bound_of(buckets[n].series, &buckets[n].bound);
    }
    if (n_native > 1)
        return backend_failure(
            arena_printf(arena, "prometheus sent %d native histograms, expected one", n_native));
    if (n == 0 && n_native == 1)
        return read_natives(arena, question, native);
    if (n == 0)
        return backend_no_values(json_len(list) > 0 ? "no buckets" : "no series");
    if (n > MOST_BOUNDS)
        return backend_failure(
            arena_printf(arena, "prometheus sent a histogram of %d buckets, expected at most %d", n,
                         MOST_BOUNDS));
    qsort(buckets, (size_t)n, sizeof(*buckets), by_bound);
    double *bounds = arena_array(arena, (size_t)n, sizeof(*bounds));
    double *values = arena_array(arena, (size_t)n * (size_t)times, sizeof(*values));
    for (int i = 0; i < n; i++) {
        bounds[i] = buckets[i].bound;
        const char *fault =
            i > 0 && bounds[i] == bounds[i - 1]
                ? "prometheus sent two buckets with one bound"
                : read_row(arena, question, buckets[i].series, times, values + i * times);
        if (fault)
            return backend_failure(fault);
    }
    let_ascend(values, n, times);
    return (struct metric_answer){.outcome = METRIC_VALUE,
                                  .values = values,
                                  .n_values = n * times,
                                  .bounds = bounds,
                                  .n_bounds = n};
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    const char *type = json_str_at(reply, "data", "resultType", NULL);
    struct json_object *list = json_at(reply, "data", "result", NULL);
    bool scalar = type && strcmp(type, "scalar") == 0;

    if (scalar && question->n_picks == 0)
        return read_sample(arena, question, list);
    if (scalar || !json_object_is_type(list, json_type_array))
        return backend_unlike(arena, question, "data.result");
    if (question->histogram)
        return read_histogram(arena, question, list);
    if (question->bucket > 0)
        return read_bucket(arena, question, list);
    if (question->n_picks == 0)
        return read_list(arena, question, list, NULL);
    for (int i = 0; i < question->n_picks; i++)
        question->picks[i].answer = read_list(arena, question, list, &question->picks[i]);
    return (struct metric_answer){.outcome = METRIC_VALUE};
}

static struct metric_answer prometheus_answer(struct arena *arena,
                                              const struct metric_question *question,
                                              const struct http_result *result)
{
    return backend_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_prometheus = {
    .type = "prometheus",
    .request = prometheus_request,
    .answer = prometheus_answer,
};

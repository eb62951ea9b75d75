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

/* A sample is [time, "value"]. */
static struct metric_answer read_sample(struct arena *arena, const struct metric_question *question,
                                        struct json_object *sample)
{
    struct json_object *text = json_elem(sample, 1);
    struct metric_answer answer;

    if (!json_object_is_type(text, json_type_string))
        return backend_failure("prometheus sent a sample without a value");
    answer = backend_number_text(arena, question, json_object_get_string(text));
    answer.at_ms = backend_time_ms(json_elem(sample, 0), 1000);
    return answer;
}

/* The "values" of a series at the times of the question. */
static struct metric_answer read_range(struct arena *arena, const struct metric_question *question,
                                       struct json_object *list)
{
    int64_t begin_s = question->at_s - (question->times - 1) * question->every_s;
    double *values = arena_array(arena, (size_t)question->times, sizeof(*values));

    for (int i = 0; i < question->times; i++)
        values[i] = NAN;
    for (size_t i = 0; i < json_len(list); i++) {
        struct metric_answer one = read_sample(arena, question, json_elem(list, i));
        int64_t after_s = one.at_ms / 1000 - begin_s;
        if (one.outcome == METRIC_ERROR)
            return one;
        if (one.outcome == METRIC_VALUE && after_s >= 0 && after_s % question->every_s == 0 &&
            after_s / question->every_s < question->times)
            values[after_s / question->every_s] = one.value;
    }
    return (struct metric_answer){
        .outcome = METRIC_VALUE, .values = values, .n_values = question->times};
}

static struct metric_answer read_series(struct arena *arena, const struct metric_question *question,
                                        struct json_object *series)
{
    if (question->times > 0)
        return read_range(arena, question, json_at(series, "values", NULL));
    if (json_at(series, "values", NULL))
        return backend_failure("query returned multiple values");
    return read_sample(arena, question, json_at(series, "value", NULL));
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

/* --- histograms */

enum { MOST_BOUNDS = 512 };

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
    int times = question->times > 0 ? question->times : 1, n = 0;
    struct bucket *buckets = arena_array(arena, json_len(list), sizeof(*buckets));

    for (size_t i = 0; i < json_len(list); i++) {
        buckets[n].series = json_elem(list, i);
        n += bound_of(buckets[n].series, &buckets[n].bound);
    }
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

#include "screen/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { TICK_MS = 10, TIMEOUT_MS = 10000, MAX_BODY = 64 * 1024 };

struct traffic {
    struct loop *loop;
    struct http_client *http;
    const char *url, *host;
    int rate;
    struct timer *timer;
    int64_t began_ms;
    uint64_t sent;
    struct sample *samples;
    size_t count, capacity;
    char *versions[TRAFFIC_MAX_VERSIONS];
    int n_versions;
    char last_failure[256];
};

struct request {
    struct traffic *traffic;
    int64_t at_ms;
};

static int version_index(struct traffic *traffic, const char *version)
{
    if (!version)
        return -1;
    for (int i = 0; i < traffic->n_versions; i++)
        if (strcmp(traffic->versions[i], version) == 0)
            return i;
    if (traffic->n_versions == TRAFFIC_MAX_VERSIONS)
        return -1;
    traffic->versions[traffic->n_versions] = heap_strdup(version);
    return traffic->n_versions++;
}

static bool is_failed(const struct sample *sample)
{
    return sample->status == 0 || sample->version < 0;
}

static void note_failure(struct traffic *traffic, const struct http_result *result)
{
    if (result->err != ERR_OK)
        snprintf(traffic->last_failure, sizeof(traffic->last_failure), "no answer: %.200s",
                 result->info->text);
    else
        snprintf(traffic->last_failure, sizeof(traffic->last_failure),
                 "status %d without a version: %.80s", result->status, result->body);
}

static void on_reply(void *arg, const struct http_result *result)
{
    struct request *request = arg;
    struct traffic *traffic = request->traffic;
    struct sample sample = {
        .at_ms = request->at_ms, .elapsed_ms = (int32_t)result->elapsed_ms, .version = -1};
    if (result->err == ERR_OK) {
        sample.status = (int16_t)result->status;
        sample.version =
            (int16_t)version_index(traffic, http_result_header(result, "x-demo-version"));
    }
    free(request);
    if (result->err == ERR_CANCELLED)
        return;
    if (is_failed(&sample))
        note_failure(traffic, result);
    if (traffic->count == traffic->capacity) {
        traffic->capacity = traffic->capacity ? traffic->capacity * 2 : 4096;
        traffic->samples =
            heap_grow(traffic->samples, traffic->capacity * sizeof(*traffic->samples));
    }
    traffic->samples[traffic->count++] = sample;
}

static void send_one(struct traffic *traffic)
{
    struct request *asked = heap_alloc(sizeof(*asked));
    *asked = (struct request){.traffic = traffic, .at_ms = clock_monotonic_ms()};
    const struct http_header headers[] = {{"Host", traffic->host}, {NULL, NULL}};
    struct http_request request = {.url = traffic->url,
                                   .headers = headers,
                                   .timeout_ms = TIMEOUT_MS,
                                   .max_body = MAX_BODY,
                                   .proxy = ""};
    http_send(traffic->http, &request, on_reply, asked);
    traffic->sent++;
}

/* As many as the rate asks for since the beginning: a late timer is made good. */
static void on_tick(void *arg)
{
    struct traffic *traffic = arg;
    int64_t elapsed = clock_monotonic_ms() - traffic->began_ms;
    uint64_t wanted = (uint64_t)elapsed * (uint64_t)traffic->rate / 1000;
    while (traffic->sent < wanted)
        send_one(traffic);
}

struct traffic *traffic_new(struct loop *loop, struct http_client *http, const char *url,
                            const char *host, int rate)
{
    struct traffic *traffic = heap_alloc(sizeof(*traffic));
    *traffic = (struct traffic){.loop = loop, .http = http, .url = url, .host = host, .rate = rate};
    return traffic;
}

void traffic_start(struct traffic *traffic)
{
    traffic->began_ms = clock_monotonic_ms();
    traffic->timer = timer_start(traffic->loop, TICK_MS, TICK_MS, on_tick, traffic);
}

void traffic_stop(struct traffic *traffic)
{
    timer_stop(traffic->timer);
    traffic->timer = NULL;
}

size_t traffic_sent(const struct traffic *traffic)
{
    return traffic->sent;
}

void traffic_free(struct traffic *traffic)
{
    if (!traffic)
        return;
    traffic_stop(traffic);
    for (int i = 0; i < traffic->n_versions; i++)
        free(traffic->versions[i]);
    free(traffic->samples);
    free(traffic);
}

const struct sample *traffic_samples(const struct traffic *traffic, size_t *count)
{
    *count = traffic->count;
    return traffic->samples;
}

const char *traffic_version(const struct traffic *traffic, int version)
{
    return version >= 0 && version < traffic->n_versions ? traffic->versions[version] : "";
}

const char *traffic_last_failure(const struct traffic *traffic)
{
    return traffic->last_failure;
}

static int compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The 99th percentile of n > 0 values, which are sorted in place. */
static int p99(int *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare_int);
    size_t at = n * 99 / 100;
    return values[at < n ? at : n - 1];
}

struct traffic_view traffic_look(const struct traffic *traffic, int64_t from_ms, int64_t to_ms,
                                 const char *version)
{
    struct traffic_view view = {.success_rate = -1, .p99_ms = -1};
    int *elapsed = heap_array(traffic->count + 1, sizeof(*elapsed));
    size_t good = 0;
    for (size_t i = 0; i < traffic->count; i++) {
        const struct sample *sample = &traffic->samples[i];
        if (sample->at_ms < from_ms || sample->at_ms >= to_ms)
            continue;
        view.requests++;
        view.failed += is_failed(sample);
        view.errors += !is_failed(sample) && sample->status >= 500;
        if (!version || sample->version < 0 ||
            strcmp(traffic->versions[sample->version], version) != 0)
            continue;
        good += sample->status < 500;
        elapsed[view.of_version++] = sample->elapsed_ms;
    }
    if (view.of_version > 0) {
        view.success_rate = 100.0 * (double)good / (double)view.of_version;
        view.p99_ms = p99(elapsed, view.of_version);
    }
    free(elapsed);
    return view;
}

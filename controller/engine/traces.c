#include "engine/traces.h"

#include <math.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "net/loop.h"

enum {
    DELAY_MS = 1000,
    TIMEOUT_MS = 10 * 1000,
    FIRST_WAIT_MS = 1000,
    MAX_WAIT_MS = 30 * 1000,
    MAX_ANSWER = 64 * 1024,
    SAID_MAX = 200
};

static struct metrics_family sent = {.name = "flagger_trace_spans_sent_total",
                                     .help = "Spans of releases that the collector has taken",
                                     .type = METRICS_COUNTER};
static struct metrics_family dropped = {.name = "flagger_trace_spans_dropped_total",
                                        .help =
                                            "Spans of releases that were dropped: no room in the "
                                            "queue, refused, or not taken in several tries",
                                        .type = METRICS_COUNTER,
                                        .labels = {"reason"}};

struct queued {
    struct queued *next;
    size_t len;
    char text[]; /* the span as JSON */
};

struct traces {
    struct traces_options options;
    char *url;
    struct queued *first, **last;
    size_t count, bytes;
    /* The request under way, or its next try; NULL if there is none. */
    struct buf body;
    size_t batch; /* spans in it; 0: none */
    int tries;
    struct http_call *call;
    struct timer *timer;
    bool freed;
    bool told; /* the problem was logged; logged again after a success */
};

/* --- ids and attributes */

void trace_id_of(const char *text, char id[TRACE_ID_TEXT])
{
    char hex[SHA256_TEXT];

    memcpy(id, sha256_hex(text, strlen(text), hex), TRACE_ID_TEXT - 1);
    id[TRACE_ID_TEXT - 1] = '\0';
}

void span_id_of(const char *trace_id, const char *text, char id[SPAN_ID_TEXT])
{
    char hex[SHA256_TEXT];
    struct arena *arena = arena_new();
    const char *both = arena_printf(arena, "%s\n%s", trace_id, text);

    memcpy(id, sha256_hex(both, strlen(both), hex), SPAN_ID_TEXT - 1);
    id[SPAN_ID_TEXT - 1] = '\0';
    arena_free(arena);
}

struct json_object *span_attributes(struct arena *arena)
{
    return json_own(arena, json_object_new_array());
}

/* Takes value. */
static void add_attribute(struct json_object *attributes, const char *key, const char *type,
                          struct json_object *value)
{
    struct json_object *one = json_object_new_object();

    json_set_str(one, "key", key);
    json_object_object_add(json_sub(one, "value"), type, value);
    json_object_array_add(attributes, one);
}

void span_text(struct json_object *attributes, const char *key, const char *value)
{
    size_t len = value ? strlen(value) : 0;

    if (len > TRACES_TEXT)
        len = utf8_cut(value, TRACES_TEXT);
    if (len > 0)
        add_attribute(attributes, key, "stringValue", json_object_new_string_len(value, (int)len));
}

/* In OTLP's JSON a 64-bit number is a string. */
void span_int(struct json_object *attributes, const char *key, int64_t value)
{
    struct json_object *number = json_object_new_int64(value);

    add_attribute(attributes, key, "intValue",
                  json_object_new_string(json_object_get_string(number)));
    json_object_put(number);
}

void span_double(struct json_object *attributes, const char *key, double value)
{
    if (isfinite(value))
        add_attribute(attributes, key, "doubleValue", json_object_new_double(value));
}

void span_bool(struct json_object *attributes, const char *key, bool value)
{
    add_attribute(attributes, key, "boolValue", json_object_new_boolean(value));
}

/* --- the queue */

static void set_time(struct arena *arena, struct json_object *span, const char *key, int64_t ms)
{
    json_set_str(span, key, arena_printf(arena, "%lld000000", (long long)ms));
}

static const char *span_json(struct arena *arena, const struct span *span)
{
    enum { STATUS_ERROR = 2 };
    struct json_object *out = json_own(arena, json_object_new_object());

    json_set_str(out, "traceId", span->trace_id);
    json_set_str(out, "spanId", span->id);
    if (*span->parent_id)
        json_set_str(out, "parentSpanId", span->parent_id);
    json_set_str(out, "name", span->name);
    json_set_int(out, "kind", span->kind);
    set_time(arena, out, "startTimeUnixNano", span->start_ms);
    set_time(arena, out, "endTimeUnixNano",
             span->end_ms > span->start_ms ? span->end_ms : span->start_ms);
    if (json_len(span->attributes) > 0)
        json_set(out, "attributes", span->attributes);
    if (span->error) {
        size_t len = strlen(span->error);
        json_set_int(json_sub(out, "status"), "code", STATUS_ERROR);
        json_set_str(json_sub(out, "status"), "message",
                     arena_strndup(arena, span->error,
                                   len <= TRACES_TEXT ? len : utf8_cut(span->error, TRACES_TEXT)));
    }
    return json_text(arena, out);
}

static void send_batch(void *arg);

static void schedule(struct traces *traces, int64_t ms)
{
    if (!traces->timer && !traces->call)
        traces->timer = timer_start(traces->options.loop, ms, 0, send_batch, traces);
}

void traces_add(struct traces *traces, const struct span *span)
{
    if (!traces)
        return;
    struct arena *arena = arena_new();
    const char *text = span_json(arena, span);
    size_t len = strlen(text);
    if (traces->count >= TRACES_MAX_SPANS || traces->bytes + len > TRACES_MAX_BYTES) {
        metrics_add(&dropped, 1, "no room");
    } else {
        struct queued *queued = heap_alloc(sizeof(*queued) + len + 1);
        queued->next = NULL;
        queued->len = len;
        memcpy(queued->text, text, len + 1);
        *traces->last = queued;
        traces->last = &queued->next;
        traces->count++;
        traces->bytes += len;
        schedule(traces, traces->options.delay_ms);
    }
    arena_free(arena);
}

static void drop_first(struct traces *traces)
{
    struct queued *queued = traces->first;

    traces->first = queued->next;
    if (!traces->first)
        traces->last = &traces->first;
    traces->count--;
    traces->bytes -= queued->len;
    free(queued);
}

/* --- requests */

static const char *head_text(struct arena *arena, const struct traces *traces)
{
    struct json_object *attributes = span_attributes(arena);

    span_text(attributes, "service.name", "flagger-controller");
    span_text(attributes, "service.version", FLAGGER_VERSION);
    span_text(attributes, "k8s.cluster.name", traces->options.cluster);
    return arena_printf(
        arena,
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":%s},\"scopeSpans\":[{"
        "\"scope\":{\"name\":\"flagger-controller\",\"version\":\"%s\"},\"spans\":[",
        json_text(arena, attributes), FLAGGER_VERSION);
}

/* Moves the first spans of the queue into the body of a request. */
static void fill_batch(struct traces *traces)
{
    struct arena *arena = arena_new();

    buf_init(&traces->body, 2 * TRACES_MAX_BYTES);
    buf_puts(&traces->body, head_text(arena, traces));
    for (; traces->first && traces->batch < TRACES_MAX_BATCH; traces->batch++) {
        if (traces->batch > 0)
            buf_puts(&traces->body, ",");
        buf_add(&traces->body, traces->first->text, traces->first->len);
        drop_first(traces);
    }
    buf_puts(&traces->body, "]}]}]}");
    traces->tries = 0;
    arena_free(arena);
}

static void end_batch(struct traces *traces, size_t refused, const char *reason)
{
    metrics_add(&sent, (double)(traces->batch - refused));
    if (refused > 0)
        metrics_add(&dropped, (double)refused, reason);
    buf_fini(&traces->body);
    traces->batch = 0;
    if (traces->first)
        schedule(traces, 0);
}

/* Logged once, until a request succeeds; without the headers, which a collector may echo. */
static void tell(struct traces *traces, const char *why)
{
    struct arena *arena = arena_new();

    if (!traces->told)
        log_warn("traces_not_taken", NULL,
                 secret_headers_redact(trace_headers_list(traces->options.headers), arena, why),
                 LOG_STR("to", url_origin(arena, traces->url)));
    traces->told = true;
    arena_free(arena);
}

static bool may_pass(const struct http_result *result)
{
    if (result->err != ERR_OK)
        return result->err == ERR_RETRY;
    return result->status == 429 || (result->status >= 502 && result->status <= 504);
}

/* The number of spans that the collector rejected according to a 2xx answer; *why is its reason. */
static size_t refused_of(struct arena *arena, const struct traces *traces,
                         const struct http_result *result, const char **why)
{
    struct json_object *reply = NULL;
    struct errinfo ignored;

    if (json_parse(arena, result->body, result->body_len, MAX_ANSWER, &reply, &ignored) != ERR_OK)
        return 0;
    struct json_object *partial = json_at(reply, "partialSuccess", NULL);
    const char *text = json_str_at(partial, "rejectedSpans", NULL); /* a 64-bit number */
    int64_t n = text ? strtoll(text, NULL, 10) : json_int_at(partial, 0, "rejectedSpans", NULL);
    *why = json_str_at(partial, "errorMessage", NULL);
    return n <= 0 ? 0 : n < (int64_t)traces->batch ? (size_t)n : traces->batch;
}

static void take_success(struct traces *traces, const struct http_result *result)
{
    struct arena *arena = arena_new();
    const char *why = NULL;
    size_t refused = refused_of(arena, traces, result, &why);

    traces->told = traces->told && refused > 0;
    if (refused > 0)
        tell(traces, arena_printf(arena, "the collector refuses %zu of %zu spans: %.*s", refused,
                                  traces->batch, (int)SAID_MAX, why ? why : "no reason given"));
    end_batch(traces, refused, "refused");
    arena_free(arena);
}

static void take_failure(struct traces *traces, const struct http_result *result)
{
    struct arena *arena = arena_new();
    int64_t wait = result->retry_after_ms > 0 ? result->retry_after_ms
                                              : (int64_t)FIRST_WAIT_MS << traces->tries;

    tell(traces, result->err != ERR_OK ? result->info->text
                                       : arena_printf(arena, "the collector answers %d: %.*s",
                                                      result->status, (int)SAID_MAX, result->body));
    if (may_pass(result) && ++traces->tries < TRACES_TRIES)
        schedule(traces, wait < MAX_WAIT_MS ? wait : MAX_WAIT_MS);
    else
        end_batch(traces, traces->batch, may_pass(result) ? "not taken" : "refused");
    arena_free(arena);
}

static void destroy(struct traces *traces)
{
    while (traces->first)
        drop_first(traces);
    if (traces->batch > 0)
        buf_fini(&traces->body);
    free(traces->url);
    free(traces);
}

static void on_answer(void *arg, const struct http_result *result)
{
    struct traces *traces = arg;

    traces->call = NULL;
    if (traces->freed)
        destroy(traces);
    else if (result->err == ERR_OK && result->status >= 200 && result->status < 300)
        take_success(traces, result);
    else
        take_failure(traces, result);
}

static void send_batch(void *arg)
{
    struct traces *traces = arg;
    const struct secret_headers *given = trace_headers_list(traces->options.headers);
    struct http_header headers[SECRET_HEADERS_MAX + 2] = {{"Content-Type", "application/json"}};

    memcpy(headers + 1, given->list, (size_t)given->count * sizeof(headers[0]));
    traces->timer = NULL;
    if (traces->batch == 0)
        fill_batch(traces);
    const struct http_request request = {.method = "POST",
                                         .url = traces->url,
                                         .headers = headers,
                                         .body = traces->body.data,
                                         .body_len = traces->body.len,
                                         .timeout_ms = TIMEOUT_MS,
                                         .max_body = MAX_ANSWER,
                                         .own_address = true};
    traces->call = http_send(traces->options.http, &request, on_answer, traces);
}

struct traces *traces_new(const struct traces_options *options)
{
    struct traces *traces = heap_alloc(sizeof(*traces));
    struct arena *arena = arena_new();
    size_t len = strlen(options->endpoint);

    while (len > 0 && options->endpoint[len - 1] == '/')
        len--;
    *traces = (struct traces){.options = *options};
    traces->url = heap_strdup(arena_printf(arena, "%.*s/v1/traces", (int)len, options->endpoint));
    traces->last = &traces->first;
    if (traces->options.delay_ms == 0)
        traces->options.delay_ms = DELAY_MS;
    arena_free(arena);
    return traces;
}

void traces_free(struct traces *traces)
{
    if (!traces)
        return;
    timer_stop(traces->timer);
    traces->timer = NULL;
    traces->freed = true;
    if (traces->call)
        http_cancel(traces->call); /* on_answer frees it */
    else
        destroy(traces);
}

enum { MAX_FILE = 64 * 1024 };

struct trace_headers {
    struct file_watch *file_watch; /* NULL without a file */
    char *path;
    struct arena *arena; /* of the list */
    struct secret_headers list;
};

static enum err read_text(struct trace_headers *headers, const char *text, struct errinfo *ei)
{
    struct secret_headers list = {0};
    struct arena *arena = arena_new();

    enum err err = secret_headers_parse(&list, arena, text, ei);
    if (err == ERR_OK && list.count == 0)
        err = err_set(ei, ERR_INVALID, "there is no header in it");
    if (err != ERR_OK) {
        arena_free(arena);
        return err;
    }
    arena_free(headers->arena);
    headers->arena = arena;
    headers->list = list;
    return ERR_OK;
}

static enum err read_file(struct trace_headers *headers, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    char *text = NULL;
    size_t len = 0;

    enum err err = file_read(arena, headers->path, MAX_FILE, &text, &len, ei);
    if (err == ERR_OK && strlen(text) != len)
        err = err_set(ei, ERR_INVALID, "%s: expected text, found a byte 0", headers->path);
    else if (err == ERR_OK && (err = read_text(headers, text, ei)) != ERR_OK)
        err = err_wrap(ei, err, "%s", headers->path);
    if (text)
        OPENSSL_cleanse(text, len);
    arena_free(arena);
    return err;
}

static bool on_changed(void *arg)
{
    struct trace_headers *headers = arg;
    struct errinfo info = {0};

    if (read_file(headers, &info) != ERR_OK) {
        log_warn("trace_headers_unread", NULL, info.text);
        return false;
    }
    log_info("trace_headers_read", NULL, "the headers for the collector of traces have changed",
             LOG_INT("headers", headers->list.count));
    return true;
}

enum err trace_headers_new(struct loop *loop, const char *path, const char *text,
                           struct trace_headers **out, struct errinfo *ei)
{
    struct trace_headers *headers = heap_alloc(sizeof(*headers));

    *headers = (struct trace_headers){.arena = arena_new()};
    if (path) {
        headers->path = heap_strdup(path);
        headers->file_watch = file_watch_start(loop, &path, 1, on_changed, headers);
    }
    enum err err = path ? read_file(headers, ei) : read_text(headers, text, ei);
    if (err != ERR_OK) {
        trace_headers_free(headers);
        return err;
    }
    *out = headers;
    return ERR_OK;
}

const struct secret_headers *trace_headers_list(const struct trace_headers *headers)
{
    static const struct secret_headers none = {.count = 0};

    return headers ? &headers->list : &none;
}

void trace_headers_stop(struct trace_headers *headers)
{
    if (!headers)
        return;
    file_watch_stop(headers->file_watch);
    headers->file_watch = NULL;
}

void trace_headers_free(struct trace_headers *headers)
{
    if (!headers)
        return;
    file_watch_stop(headers->file_watch);
    arena_free(headers->arena);
    free(headers->path);
    free(headers);
}

void trace_headers_reload(struct trace_headers *headers)
{
    file_watch_check(headers->file_watch);
}

/* A release as the status describes it: status.release, or at its end status.history[0]. */
struct record {
    struct json_object *json;
    const char *began;
    char trace_id[TRACE_ID_TEXT], root_id[SPAN_ID_TEXT];
};

/* False if there is no release, or if Flagger began it: then the beginning is unknown. */
static bool record_read(struct arena *arena, const struct canary *canary, struct json_object *json,
                        struct record *out)
{
    const char *began = json_str_at(json, "began", NULL);

    if (!began || !canary->uid)
        return false;
    *out = (struct record){.json = json, .began = began};
    trace_id_of(arena_printf(arena, "%s\n%s", canary->uid, began), out->trace_id);
    span_id_of(out->trace_id, "release", out->root_id);
    return true;
}

static int64_t time_of(const char *text)
{
    int64_t ms = 0;

    return text && clock_parse(text, &ms, NULL) == ERR_OK ? ms : 0;
}

static struct json_object *attributes_of(struct arena *arena, const struct canary *canary,
                                         const struct record *record)
{
    struct json_object *attributes = span_attributes(arena);

    span_text(attributes, "k8s.namespace.name", canary->namespace_);
    span_text(attributes, "flagger.canary", canary->name);
    span_text(attributes, "flagger.revision", json_str_at(record->json, "revision", NULL));
    return attributes;
}

/* The id of step `number`, 0 before the first entry: derived from its time, which is in seconds,
 * and from the routed traffic. */
static void step_id(struct arena *arena, const struct record *record, size_t number,
                    char id[SPAN_ID_TEXT])
{
    struct json_object *steps = json_at(record->json, "steps", NULL);
    struct json_object *step = number > 0 ? json_elem(steps, number - 1) : NULL;
    struct json_object *weight = json_at(step, "weight", NULL);
    const char *routes =
        weight ? json_text(arena, weight)
               : arena_printf(arena, "%lld", (long long)json_int_at(step, -1, "iteration", NULL));
    const char *at = json_str_at(step, "at", NULL);

    span_id_of(record->trace_id, arena_printf(arena, "step %s %s", at ? at : record->began, routes),
               id);
}

static const char *step_at(const struct record *record, struct json_object *steps, size_t number)
{
    const char *at =
        number == 0 ? record->began : json_str_at(json_elem(steps, number - 1), "at", NULL);

    return at ? at : "";
}

/* --- steps and the release */

static void add_checks(struct arena *arena, struct json_object *attributes,
                       struct json_object *step)
{
    struct json_object *checks = json_at(step, "checks", NULL);

    for (size_t i = 0; i < json_len(checks); i++) {
        struct json_object *check = json_elem(checks, i);
        struct json_object *value = json_at(check, "value", NULL);
        if (value)
            span_double(attributes,
                        arena_printf(arena, "flagger.check.%s", json_str_at(check, "name", NULL)),
                        json_object_get_double(value));
    }
}

/* In percent. */
static void set_weight(struct json_object *attributes, struct json_object *weight)
{
    int64_t whole;

    if (json_to_int(weight, &whole))
        span_int(attributes, "flagger.weight", whole);
    else
        span_double(attributes, "flagger.weight", json_object_get_double(weight));
}

/* Step `number` of the release, 0 before the first entry; `next` is the entry that ended it, which
 * records its checks. */
static void send_step(struct traces *traces, struct arena *arena, const struct canary *canary,
                      const struct record *record, size_t number, const char *end)
{
    struct json_object *steps = json_at(record->json, "steps", NULL);
    struct json_object *step = number > 0 ? json_elem(steps, number - 1) : NULL;
    struct json_object *next = json_elem(steps, number);
    const char *begin = step_at(record, steps, number);
    struct span span = {.name = "begin",
                        .kind = SPAN_INTERNAL,
                        .start_ms = time_of(begin),
                        .end_ms = time_of(end),
                        .attributes = attributes_of(arena, canary, record)};

    if (json_at(step, "weight", NULL)) {
        span.name = "step";
        set_weight(span.attributes, json_at(step, "weight", NULL));
    } else if (step) {
        span.name = "iteration";
        span_int(span.attributes, "flagger.iteration", json_int_at(step, 0, "iteration", NULL));
    }
    add_checks(arena, span.attributes, next);
    if (json_bool_at(next, false, "failed", NULL))
        span.error = "a check has failed";
    memcpy(span.trace_id, record->trace_id, sizeof(span.trace_id));
    memcpy(span.parent_id, record->root_id, sizeof(span.parent_id));
    step_id(arena, record, number, span.id);
    traces_add(traces, &span);
}

static void send_release(struct traces *traces, struct arena *arena, const struct canary *canary,
                         const struct record *record)
{
    const char *outcome = json_str_at(record->json, "outcome", NULL);
    const char *reason = json_str_at(record->json, "reason", NULL);
    struct span span = {.name =
                            arena_printf(arena, "release %s.%s", canary->name, canary->namespace_),
                        .kind = SPAN_INTERNAL,
                        .start_ms = time_of(record->began),
                        .end_ms = time_of(json_str_at(record->json, "ended", NULL)),
                        .attributes = attributes_of(arena, canary, record)};

    span_text(span.attributes, "flagger.image", json_str_at(record->json, "image", NULL));
    span_text(span.attributes, "flagger.outcome", outcome);
    if (!outcome || strcmp(outcome, "promoted") != 0)
        span.error = reason ? reason : "the release was not promoted";
    memcpy(span.trace_id, record->trace_id, sizeof(span.trace_id));
    memcpy(span.id, record->root_id, sizeof(span.id));
    traces_add(traces, &span);
}

/* Number of the step that ran before the write: the count of entries that the write did not
 * make. */
static size_t steps_before(struct json_object *before, const struct record *record)
{
    struct json_object *old = json_at(before, "release", "steps", NULL);
    struct json_object *steps = json_at(record->json, "steps", NULL);
    const char *last = json_str_at(json_elem(old, json_len(old) - 1), "at", NULL);

    if (json_len(old) == 0 || !last)
        return 0;
    for (size_t i = json_len(steps); i-- > 0;) {
        const char *at = json_str_at(json_elem(steps, i), "at", NULL);
        if (at && strcmp(at, last) == 0)
            return i + 1;
    }
    return 0;
}

void release_spans_status(struct traces *traces, const struct canary *canary,
                          struct json_object *patch)
{
    struct json_object *before = canary->status.json;
    struct record record;

    if (!traces)
        return;
    struct arena *arena = arena_new();
    struct json_object *after = json_merge(arena, before, json_at(patch, "status", NULL));
    const char *began = json_str_at(before, "release", "began", NULL);
    const char *still = json_str_at(after, "release", "began", NULL);
    bool ends = began && (!still || strcmp(began, still) != 0);
    struct json_object *json =
        ends ? json_elem(json_at(after, "history", NULL), 0) : json_at(after, "release", NULL);
    if (began && record_read(arena, canary, json, &record) && strcmp(record.began, began) == 0) {
        struct json_object *steps = json_at(record.json, "steps", NULL);
        size_t n = json_len(steps);
        for (size_t i = steps_before(before, &record); i < n; i++)
            send_step(traces, arena, canary, &record, i, step_at(&record, steps, i + 1));
        if (ends) {
            send_step(traces, arena, canary, &record, n, json_str_at(record.json, "ended", NULL));
            send_release(traces, arena, canary, &record);
        }
    }
    arena_free(arena);
}

/* --- metrics and webhooks */

/* The ids of a span below the running step. False if no release is under way. */
static bool child_of_step(struct arena *arena, const struct canary *canary, const char *what,
                          int64_t elapsed_ms, struct span *span)
{
    struct json_object *json = json_at(canary->status.json, "release", NULL);
    struct json_object *steps = json_at(json, "steps", NULL);
    struct record record;

    if (!record_read(arena, canary, json, &record))
        return false;
    span->kind = SPAN_CLIENT;
    span->end_ms = clock_wall_ms();
    span->start_ms = span->end_ms - elapsed_ms;
    span->attributes = attributes_of(arena, canary, &record);
    memcpy(span->trace_id, record.trace_id, sizeof(span->trace_id));
    step_id(arena, &record, json_len(steps), span->parent_id);
    span_id_of(record.trace_id,
               arena_printf(arena, "%s %s %lld", span->parent_id, what, (long long)span->start_ms),
               span->id);
    return true;
}

void release_spans_metric(struct traces *traces, const struct canary *canary,
                          const struct metric_question *question,
                          const struct metric_answer *answer, int64_t elapsed_ms)
{
    struct span span = {.name = ""};

    if (!traces)
        return;
    struct arena *arena = arena_new();
    span.name = arena_printf(arena, "metric %s", question->id);
    if (child_of_step(arena, canary, span.name, elapsed_ms, &span)) {
        span_text(span.attributes, "flagger.metric.backend", question->backend);
        if (question->address && *question->address)
            span_text(span.attributes, "server.address", url_origin(arena, question->address));
        if (answer->outcome == METRIC_VALUE)
            span_double(span.attributes, "flagger.metric.value", answer->value);
        else
            span.error = answer->text;
        traces_add(traces, &span);
    }
    arena_free(arena);
}

void release_spans_hook(struct traces *traces, const struct canary *canary,
                        const struct canary_webhook *webhook, const struct hook_answer *answer,
                        int64_t elapsed_ms)
{
    struct span span = {.name = ""};

    if (!traces)
        return;
    struct arena *arena = arena_new();
    span.name = arena_printf(arena, "webhook %s", webhook->name);
    if (child_of_step(arena, canary, span.name, elapsed_ms, &span)) {
        span_text(span.attributes, "flagger.webhook.type", hook_type_name(webhook->type));
        span_text(span.attributes, "server.address", url_origin(arena, webhook->url));
        span_bool(span.attributes, "flagger.webhook.passed", answer->passed);
        if (!answer->passed)
            span.error = answer->text;
        traces_add(traces, &span);
    }
    arena_free(arena);
}

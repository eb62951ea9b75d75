#include "engine/traces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/utf8.h"
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
    bool told; /* the trouble was logged; again after a success */
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

/* Spans that the collector says it has not taken, of an answer of 2xx; *why is its reason. */
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

/*
 * Spans of releases, sent to an OpenTelemetry collector by OTLP over HTTP in its JSON encoding
 * (--otlp-endpoint): POST ENDPOINT/v1/traces, many spans per request, one request at a time.
 *
 * Nothing waits for the collector. Spans are queued within limits; those that find no room, that
 * the collector rejects, or that it does not accept in several tries are dropped and counted
 * (flagger_trace_spans_dropped_total). Spans still queued when the process ends are lost.
 */
#ifndef ENGINE_TRACES_H
#define ENGINE_TRACES_H

#include "kube/secret.h"
#include "net/client.h"
#include "net/loop.h"
#include "tick/need.h"

enum {
    TRACE_ID_TEXT = 33, /* hexadecimal digits, and the NUL */
    SPAN_ID_TEXT = 17,
    TRACES_MAX_SPANS = 2048,            /* queued */
    TRACES_MAX_BYTES = 4 * 1024 * 1024, /* queued */
    TRACES_MAX_BATCH = 512,             /* spans per request */
    TRACES_TRIES = 5,                   /* for a request that may succeed later */
    TRACES_TEXT = 256                   /* bytes of an attribute */
};

enum span_kind { SPAN_INTERNAL = 1, SPAN_CLIENT = 3 }; /* as in OTLP */

struct span {
    char trace_id[TRACE_ID_TEXT], id[SPAN_ID_TEXT];
    char parent_id[SPAN_ID_TEXT]; /* "": the root */
    const char *name;
    enum span_kind kind;
    int64_t start_ms, end_ms;       /* wall clock */
    const char *error;              /* NULL: none */
    struct json_object *attributes; /* a list made by span_text() and the like; NULL if none */
};

/* Attributes; a NULL or empty text is left out. The list is owned by the arena. */
struct json_object *span_attributes(struct arena *arena);
void span_text(struct json_object *attributes, const char *key, const char *value);
void span_int(struct json_object *attributes, const char *key, int64_t value);
void span_double(struct json_object *attributes, const char *key, double value);
void span_bool(struct json_object *attributes, const char *key, bool value);
/* Ids derived from texts, so that every process makes the same ones. */
void trace_id_of(const char *text, char id[TRACE_ID_TEXT]);
void span_id_of(const char *trace_id, const char *text, char id[SPAN_ID_TEXT]);

struct trace_headers;

struct traces_options {
    struct loop *loop;
    struct http_client *http;
    const char *endpoint;                /* "http://collector:4318" */
    const char *cluster;                 /* NULL if it has no name */
    const struct trace_headers *headers; /* of each request; NULL if none */
    int64_t delay_ms;                    /* time to collect spans for a request; 0: 1 s */
};
struct traces;
/* The options' pointers must outlive the result. */
struct traces *traces_new(const struct traces_options *options);
void traces_free(struct traces *traces); /* NULL is allowed */
/* Queues a copy. traces may be NULL: then nothing happens. */
void traces_add(struct traces *traces, const struct span *span);

/*
 * --- headers of the requests to the collector of traces: credentials, from a file that is watched
 * for changes (--otlp-headers-file), such as a mounted Secret, or from OTEL_EXPORTER_OTLP_HEADERS.
 */

struct trace_headers;

/* path NULL: the list is `text`, which is read once. File and text have the form of
 * secret_headers_parse(). ERR_INVALID if the list is invalid; if it becomes invalid later, the last
 * valid list is kept. */
enum err trace_headers_new(struct loop *loop, const char *path, const char *text,
                           struct trace_headers **out, struct errinfo *ei) MUST_USE;
/* Valid until the loop's next turn. headers may be NULL: an empty list. */
const struct secret_headers *trace_headers_list(const struct trace_headers *headers);
/* Stops watching the file, so that the loop can end; NULL is allowed, also in the functions
 * below. */
void trace_headers_stop(struct trace_headers *headers);
void trace_headers_free(struct trace_headers *headers);
/* Reads the file if it has changed; for tests. */
void trace_headers_reload(struct trace_headers *headers);

/*
 * --- the trace of a release: a root span from its beginning to its end, below it a span for each
 * step, and below the running step a span for each metric and each webhook that the rules wait for.
 *
 * Ids are derived from the Canary's uid and the times in its status (status.release,
 * status.history), so that a later process continues the same trace. A step is sent when it has
 * ended, the root at the end of the release. traces may be NULL in all of these functions: then
 * nothing happens.
 */

/* The status was written: `patch` is the whole body of its merge patch. Sends the steps that it
 * ends, and the release. */
void release_spans_status(struct traces *traces, const struct canary *canary,
                          struct json_object *patch);
/* elapsed_ms: the duration until now, when the answer has arrived. */
void release_spans_metric(struct traces *traces, const struct canary *canary,
                          const struct metric_question *question,
                          const struct metric_answer *answer, int64_t elapsed_ms);
void release_spans_hook(struct traces *traces, const struct canary *canary,
                        const struct canary_webhook *webhook, const struct hook_answer *answer,
                        int64_t elapsed_ms);

#endif

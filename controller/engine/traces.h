/*
 * Spans of releases, sent to a collector of OpenTelemetry by OTLP over HTTP in its JSON encoding
 * (--otlp-endpoint): POST ENDPOINT/v1/traces, many spans at a time, one request after the other.
 *
 * Nothing waits for it. Spans are queued within bounds; those that find no room, that the collector
 * refuses, or that it does not take in several tries are dropped and counted
 * (flagger_trace_spans_dropped_total). What is queued when the process ends is lost.
 */
#ifndef ENGINE_TRACES_H
#define ENGINE_TRACES_H

#include "engine/trace_headers.h"
#include "net/client.h"

enum {
    TRACE_ID_TEXT = 33, /* hexadecimal digits, and the NUL */
    SPAN_ID_TEXT = 17,
    TRACES_MAX_SPANS = 2048,            /* queued */
    TRACES_MAX_BYTES = 4 * 1024 * 1024, /* queued */
    TRACES_MAX_BATCH = 512,             /* spans of a request */
    TRACES_TRIES = 5,                   /* of a request that may succeed later */
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
/* Ids that follow from texts, so that every process makes the same. */
void trace_id_of(const char *text, char id[TRACE_ID_TEXT]);
void span_id_of(const char *trace_id, const char *text, char id[SPAN_ID_TEXT]);

struct traces_options {
    struct loop *loop;
    struct http_client *http;
    const char *endpoint;                /* "http://collector:4318" */
    const char *cluster;                 /* NULL if it has no name */
    const struct trace_headers *headers; /* of each request; NULL if none */
    int64_t delay_ms;                    /* collects spans before a request is made; 0: 1 s */
};
struct traces;
/* The options' pointers must outlive it. */
struct traces *traces_new(const struct traces_options *options);
void traces_free(struct traces *traces); /* NULL is allowed */
/* A copy is queued. traces may be NULL: nothing happens. */
void traces_add(struct traces *traces, const struct span *span);

#endif

/*
 * Headers of the requests to the collector of traces: credentials, from a file that is followed
 * (--otlp-headers-file), such as a mounted Secret, or from OTEL_EXPORTER_OTLP_HEADERS.
 */
#ifndef ENGINE_TRACE_HEADERS_H
#define ENGINE_TRACE_HEADERS_H

#include "kube/secret_headers.h"
#include "net/loop.h"

struct trace_headers;

/* path NULL: the list is `text`, which is read once. Both are in the form of
 * secret_headers_parse(). An invalid list is ERR_INVALID; later, the last valid one is kept. */
enum err trace_headers_new(struct loop *loop, const char *path, const char *text,
                           struct trace_headers **out, struct errinfo *ei) MUST_USE;
/* Valid until the loop's next turn. headers may be NULL: an empty list. */
const struct secret_headers *trace_headers_list(const struct trace_headers *headers);
/* Stops to follow the file, so that the loop can end; NULL is allowed, also below. */
void trace_headers_stop(struct trace_headers *headers);
void trace_headers_free(struct trace_headers *headers);
/* Reads the file if it has changed; for tests. */
void trace_headers_reload(struct trace_headers *headers);

#endif

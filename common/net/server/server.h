/*
 * HTTP server on h2o (HTTP/1.1; TLS and mutual TLS optional): routes, limits, metrics, health,
 * graceful stop.
 *
 * A handler gets a request and answers now or later with exactly one http_reply() or
 * http_stream_start(). After http_reply() the request must not be touched. When the client goes
 * away first (it closes its side of the connection), on_gone is called once from the loop and the
 * request must not be touched any more; a reply that is never given is closed with 500 when the
 * server stops. /healthz, /readyz and /metrics are answered by the server itself. When handlers
 * have taken some milliseconds of a turn of the loop, other requests wait for the next turn;
 * /healthz and /readyz never do.
 */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"

struct http_server;
struct http_conn_request; /* one request being answered */

typedef void (*http_handler_fn)(void *arg, struct http_conn_request *req);

struct http_route {
    const char *method; /* NULL: any */
    const char *path; /* exact; ends with "/" + "*" for a prefix ("/apis/" "*"); first match in the
                         table wins */
    http_handler_fn fn;
};

struct http_server_options {
    const char *address;             /* "127.0.0.1", "0.0.0.0" (default), "unix:/path" */
    int port;                        /* 0: a free one, see http_server_port() */
    const struct http_route *routes; /* ended by path NULL */
    void *arg;                       /* given to handlers and to ready */
    size_t max_body;                 /* 0: 1 MiB; more is answered 413 */
    int64_t request_timeout_ms;      /* headers, body and keep-alive idle; 0: 30 s */
    /* 0: 1024, or half of the descriptors. When more come, the oldest that asks nothing gives way;
     * some places are kept for /healthz, /readyz and /metrics: without one a request is answered
     * 503. */
    int max_connections;
    /* Bytes of all clients' requests and answers together, whole and half-sent; 0: 32 MiB. When
     * there are more, the oldest half-sent request, or answer that nobody takes, gives way; a
     * stream whose client is slow is cut. */
    size_t max_held;
    /* PEM files, borrowed. New connections follow when they change (within 10 s); files that have
     * become unfit are logged and leave what was read. Client CA: mutual TLS. */
    const char *tls_cert_file, *tls_key_file, *tls_client_ca_file;
    bool tls_client_optional; /* a client may show no certificate, but none of another CA */
    /* Asked before a route: false when it has answered itself. NULL: every request is admitted. */
    bool (*admits)(void *arg, struct http_conn_request *req);
    /*
     * Asked when the headers have come and a body is awaited, or is too long: false when the sender
     * is nobody who may ask anything, and then it is answered 401 without reading the body. It may
     * look at the headers, not answer. Not asked of a body that came along with its headers: admits
     * or the route refuses that. NULL: everybody's body is read.
     */
    bool (*knows)(void *arg, struct http_conn_request *req);
    bool (*ready)(void *arg); /* /readyz: 200 or 503; NULL: ready while not draining */
    const char
        *name; /* metric prefix, e.g. "flagger_gate": {name}_http_requests_total{path,method,code},
                * {name}_http_request_duration_seconds{path}; path is the route's, never the
                * client's. NULL: none kept */
    bool no_builtin; /* leaves /healthz, /readyz and /metrics to the routes */
};

/* Listens at once; ERR_INVALID (bad address, files) or ERR_DENIED/ERR_CONFLICT (port) with one
 * sentence. */
enum err http_server_new(struct loop *loop, const struct http_server_options *options,
                         struct http_server **out, struct errinfo *ei) MUST_USE;
int http_server_port(const struct http_server *server);
/* Its clients and what they hold now, and the most of each. */
struct http_server_look {
    int connections, max_connections;
    int busy, max_busy; /* requests that are being answered */
    size_t held, max_held;
};
void http_server_look(const struct http_server *server, struct http_server_look *out);
/* Stops listening, closes idle connections, lets requests finish; called by itself on drain. */
void http_server_stop(struct http_server *server);
void http_server_free(struct http_server *server); /* after the loop has ended */

/* What was asked. Texts are NUL-terminated and live as long as the request. */
struct arena *http_req_arena(struct http_conn_request *req); /* freed with the request */
const char *http_req_method(const struct http_conn_request *req);
const char *
http_req_path(const struct http_conn_request *req); /* decoded? no: as sent, without the query */
const char *http_req_query(const struct http_conn_request *req); /* after '?', "" if none */
/* Value of a query parameter, percent-decoded, NULL if absent; the first one wins. */
const char *http_req_param(struct http_conn_request *req, const char *name);
/* Segment of the path, from 0, percent-decoded: of "/v1/gates" the second is "gates". NULL past the
 * end. */
const char *http_req_segment(struct http_conn_request *req, int index);
const char *http_req_header(struct http_conn_request *req, const char *name); /* NULL if absent */
const char *http_req_body(const struct http_conn_request *req, size_t *len);  /* "" if none */
/* Common name of the certificate that the client has shown and its CA has signed; UTF-8. NULL
 * without one, and when it has no name or two. */
const char *http_req_client_name(const struct http_conn_request *req);
void http_req_on_gone(struct http_conn_request *req, void (*fn)(void *arg), void *arg);

/* Body is copied. content_type NULL with an empty body sends none. */
void http_reply(struct http_conn_request *req, int status, const char *content_type,
                const void *body, size_t len);
void http_reply_text(struct http_conn_request *req, int status, const char *text); /* text/plain */
void http_reply_json(struct http_conn_request *req, int status, const char *json);
void http_reply_error(struct http_conn_request *req, int status,
                      const char *text); /* {"error": text} */
/*
 * An answer that takes long to make and is the same for every client, by a key. http_reply_shared()
 * answers with the text that http_reply_share() gave to another request, provided that this request
 * came before the text was made: no client gets an answer that is older than its request. False: it
 * has not answered. Both answer 200; the caller has checked that the client may see the text. The
 * text is taken and not copied: the buffer is empty then.
 */
bool http_reply_shared(struct http_conn_request *req, const char *key) MUST_USE;
void http_reply_share(struct http_conn_request *req, const char *key, const char *content_type,
                      struct buf *body);
/* The same with a copy of a JSON text. */
void http_reply_share_json(struct http_conn_request *req, const char *key, const char *json);
/* An extra response header, before the reply. Copied. */
void http_reply_header(struct http_conn_request *req, const char *name, const char *value);

/* Closes the connection without an answer, as a failing network does; for tests. From the loop, not
 * inside the handler; on_gone is not called. */
void http_req_drop(struct http_conn_request *req);

/*
 * A streamed reply (watches, server-sent events), chunked. Pieces are queued up to max_queue bytes
 * (0: 1 MiB): a client that is slower is cut off and on_gone is called. http_stream_end() finishes
 * it; after that, and after on_gone, req must not be touched.
 */
void http_stream_start(struct http_conn_request *req, int status, const char *content_type,
                       size_t max_queue);
bool http_stream_send(struct http_conn_request *req, const void *data,
                      size_t len); /* false: it was cut off */
void http_stream_end(struct http_conn_request *req);
/* Bytes that wait for the client to take them. */
size_t http_stream_queued(const struct http_conn_request *req);
/* Calls fn once, when no byte waits any more; only while some do. */
void http_stream_on_sent(struct http_conn_request *req, void (*fn)(void *arg), void *arg);

#endif

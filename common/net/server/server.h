/*
 * HTTP server on h2o (HTTP/1.1; TLS and mutual TLS optional): routes, limits, metrics, health,
 * graceful stop.
 *
 * A handler gets a request and answers now or later with exactly one http_reply() or
 * http_stream_start(). After http_reply() the request must not be touched. If the client
 * disconnects first (it closes its side of the connection), on_gone is called once from the loop,
 * and the request must not be touched after that. A request without a reply gets 500 when the
 * server stops. /healthz, /readyz and /metrics are answered by the server itself. When handlers
 * have used some milliseconds of an iteration of the loop, other requests wait for the next one;
 * /healthz and /readyz never wait.
 */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"

struct http_server;
struct http_conn_request; /* one request */

typedef void (*http_handler_fn)(void *arg, struct http_conn_request *req);

struct http_route {
    const char *method; /* NULL for any */
    /* Exact, or a prefix that ends with "/" + "*" ("/apis/" "*"); the first match wins. */
    const char *path;
    http_handler_fn fn;
};

struct http_server_options {
    const char *address;             /* "127.0.0.1", "0.0.0.0" (default), "unix:/path" */
    int port;                        /* 0: any free port, see http_server_port() */
    const struct http_route *routes; /* ends with a route whose path is NULL */
    void *arg;                       /* passed to handlers and to the callbacks below */
    size_t max_body;                 /* 0: 1 MiB; longer bodies get 413 */
    int64_t request_timeout_ms;      /* limit for headers, body and keep-alive each; 0: 30 s */
    /*
     * 0: 1024; at most half of the descriptors. If more clients connect, the oldest idle connection
     * of the address with the most connections is closed. Some connections are reserved for
     * /healthz, /readyz and /metrics: other requests get 503 if no other connection is left, as do
     * those of an address that has three times what is then free.
     */
    int max_connections;
    /*
     * Bytes of requests and answers of all clients, including partial ones; 0: 32 MiB. Above it,
     * the oldest partial request of the address with the most bytes gets 503, or its oldest unread
     * answer is cut off, and so is a stream with a slow client.
     */
    size_t max_held;
    /*
     * PEM files, borrowed. Changed files are used for new connections within 10 s; files that have
     * become invalid are logged, and the old ones stay in use. A client CA enables mutual TLS.
     */
    const char *tls_cert_file, *tls_key_file, *tls_client_ca_file;
    bool tls_client_optional; /* a client may send no certificate, but not one of another CA */
    /* Called before a route; returns false if it has sent the reply itself. NULL if every
     * request is accepted. */
    bool (*authorize)(void *arg, struct http_conn_request *req);
    bool (*ready)(void *arg); /* /readyz: 200 or 503; NULL: ready until draining */
    /* Metric prefix, e.g. "flagger_gate": {name}_http_requests_total{path,method,code},
     * {name}_http_request_duration_seconds{path}; path is the route's, never the client's. NULL: no
     * metrics. */
    const char *name;
    bool no_builtin; /* leaves /healthz, /readyz and /metrics to the routes */
};

/* Listens at once. ERR_INVALID (address, files), ERR_DENIED or ERR_CONFLICT (port), with one
 * sentence. */
enum err http_server_new(struct loop *loop, const struct http_server_options *options,
                         struct http_server **out, struct errinfo *ei) MUST_USE;
int http_server_port(const struct http_server *server);
/* Current use of the limits. */
struct http_server_snapshot {
    int connections, max_connections;
    int busy, max_busy; /* requests being answered */
    size_t held, max_held;
};
void http_server_snapshot(const struct http_server *server, struct http_server_snapshot *out);
/* Stops listening, closes idle connections, and lets requests finish. Called by the server
 * itself on drain. */
void http_server_stop(struct http_server *server);
void http_server_free(struct http_server *server); /* after the loop has ended */

/* The request. Texts are NUL-terminated and live as long as the request. */
struct arena *http_req_arena(struct http_conn_request *req); /* freed with the request */
const char *http_req_method(const struct http_conn_request *req);
const char *
http_req_path(const struct http_conn_request *req); /* as sent (not decoded), without the query */
const char *http_req_query(const struct http_conn_request *req); /* after '?', "" if none */
/* Value of a query parameter, percent-decoded, NULL if absent; the first one wins. */
const char *http_req_param(struct http_conn_request *req, const char *name);
/* Segment of the path, from 0, percent-decoded: segment 1 of "/v1/gates" is "gates". NULL past the
 * end. */
const char *http_req_segment(struct http_conn_request *req, int index);
const char *http_req_header(struct http_conn_request *req, const char *name); /* NULL if absent */
const char *http_req_body(const struct http_conn_request *req, size_t *len);  /* "" if none */
/* Common name of the verified client certificate, UTF-8. NULL without a certificate, and if it has
 * no common name or several. */
const char *http_req_client_name(const struct http_conn_request *req);
void http_req_on_gone(struct http_conn_request *req, void (*fn)(void *arg), void *arg);

/* Copies the body. No Content-Type is sent if content_type is NULL, which needs an empty body. */
void http_reply(struct http_conn_request *req, int status, const char *content_type,
                const void *body, size_t len);
void http_reply_text(struct http_conn_request *req, int status, const char *text); /* text/plain */
void http_reply_json(struct http_conn_request *req, int status, const char *json);
void http_reply_error(struct http_conn_request *req, int status,
                      const char *text); /* {"error": text} */
/*
 * An answer that takes long to make and is the same for every client, identified by a key.
 * http_reply_shared() replies with the text that http_reply_share() gave to another request, if
 * this request arrived before the text was made: no client gets an answer that is older than its
 * request. Returns false if it has not replied. Both reply 200; the caller has checked that the
 * client may see the text. The buffer is taken, and empty afterwards.
 */
bool http_reply_shared(struct http_conn_request *req, const char *key) MUST_USE;
void http_reply_share(struct http_conn_request *req, const char *key, const char *content_type,
                      struct buf *body);
/* The same with a copy of a JSON text. */
void http_reply_share_json(struct http_conn_request *req, const char *key, const char *json);
/* Adds a response header; before the reply. Copied. */
void http_reply_header(struct http_conn_request *req, const char *name, const char *value);

/* For tests: closes the connection without a reply, as a failing network does. Must be called from
 * the loop, not in the handler; on_gone is not called. */
void http_req_drop(struct http_conn_request *req);

/*
 * A streamed reply (watches, server-sent events), chunked. Up to max_queue bytes (0: 1 MiB) are
 * queued: a slower client is cut off, and on_gone is called. http_stream_end() finishes the reply;
 * after that, and after on_gone, req must not be touched.
 */
void http_stream_start(struct http_conn_request *req, int status, const char *content_type,
                       size_t max_queue);
bool http_stream_send(struct http_conn_request *req, const void *data,
                      size_t len); /* false if cut off */
void http_stream_end(struct http_conn_request *req);
/* Bytes that the client has not read yet. */
size_t http_stream_queued(const struct http_conn_request *req);
/* Calls fn once, when all bytes are sent. Only while some are queued. */
void http_stream_on_sent(struct http_conn_request *req, void (*fn)(void *arg), void *arg);

/* Files of a web page that are part of the program. They contain no data, so every client may
 * read them; the page requests its data with its user's credentials. */
#define HTTP_FILE_HTML "text/html; charset=utf-8"
#define HTTP_FILE_CSS  "text/css; charset=utf-8"
#define HTTP_FILE_JS   "text/javascript; charset=utf-8"
#define HTTP_FILE_SVG  "image/svg+xml"

struct http_file {
    const char *path; /* path of the request; NULL ends a table */
    const char *type, *text;
};

/*
 * Replies with the file for the request's path, 304 if the client has it, or 404. The headers allow
 * a browser to run only such files and to load nothing from elsewhere, and allow no other site to
 * frame the page; a script that turns data into markup fails (trusted types), even if a name
 * contains markup.
 */
void http_files_serve(struct http_conn_request *req, const struct http_file *files);

/*
 * --- Common parts of the answers below /debug/ of a daemon.
 *
 * Such an answer changes nothing, is made from state that is kept anyway, and is bounded: lists are
 * paged. If the daemon has no authentication, the answer is as public as /metrics to any client
 * that reaches the port: it contains names, states, times and counts, the hosts of URLs without
 * their paths, and nothing of the content of objects, messages or answers.
 */
enum { DEBUG_PAGE = 100, DEBUG_MAX_PAGE = 500 };

/* Must be called first by every handler. Returns false after replying 403 if another site's page
 * made a browser send the request, since the browser may reach networks that the site's owner
 * cannot. */
bool debug_admits(struct http_conn_request *req) MUST_USE;

/* The requested part of a list: ?limit=1..500 (default 100) and ?continue=, the text that the
 * previous page ended with; `after` is NULL for the first page. */
struct debug_page {
    int limit;
    const char *after;
};
/* Returns false after replying 400. */
bool debug_read_page(struct http_conn_request *req, struct debug_page *out) MUST_USE;

/* Must be called before making an answer; forbids caches. Returns true if it has replied with
 * the answer to another request for the same path and query, see http_reply_shared(). If false,
 * debug_reply() must follow. */
bool debug_shared(struct http_conn_request *req) MUST_USE;
/* Replies 200 with the object, and shares it with other requests for the same path and query. */
void debug_reply(struct http_conn_request *req, struct json_object *object);

/* Sets version, now, memory, and server: connections, requests and bytes of clients. */
void debug_process(const struct http_server *server, struct json_object *out);

/* Sets an RFC 3339 time, given by the monotonic clock. */
void debug_set_time(struct json_object *object, const char *key, int64_t monotonic_ms);

#endif

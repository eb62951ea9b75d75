/*
 * HTTP client on curl's multi interface: keep-alive pools, caps, time-outs, cancel, size limits,
 * TLS, proxies.
 *
 * http_send() starts a call. Its `done` is called exactly once, never before http_send() has
 * returned, also after http_cancel() (with ERR_CANCELLED) and when the client is freed. The request
 * struct and everything it points to may go when http_send() returns; the result is valid only
 * inside `done`.
 */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "net/loop.h"
#include "net/reach.h"

struct http_client;
struct http_call;

struct http_header {
    const char *name;
    const char *value;
};

/* Which certificates to trust and which to show. Paths or PEM text; NULL means not set. Equal
 * contents share connections. */
struct http_tls {
    const char *ca_pem; /* instead of the system's certificates */
    const char *ca_file;
    const char *cert_pem; /* client certificate and key */
    const char *key_pem;
    const char *cert_file;
    const char *key_file;
    const char *server_name; /* name to verify instead of the URL's host */
    bool insecure;           /* no verification */
};

/* The defaults: the longest answer, and the bytes that all answers of one client may take at once.
 */
enum { HTTP_MAX_BODY = 4 * 1024 * 1024, HTTP_MAX_HELD = 256 * 1024 * 1024 };

struct http_request {
    const char *method; /* NULL: GET */
    const char *url;
    const struct http_header *headers; /* ended by name NULL; may be NULL */
    const void *body;
    size_t body_len;
    const struct http_tls *tls; /* may be NULL */
    const char *proxy;          /* URL; NULL: the environment's; "" : none */
    int64_t timeout_ms;         /* from its turn to its end, 0: 10 s; -1: none (streams) */
    int64_t connect_timeout_ms; /* 0: 5 s */
    int64_t idle_timeout_ms;    /* stream: no byte for so long ends it with ERR_RETRY; 0: none */
    size_t max_body;            /* 0: HTTP_MAX_BODY; a longer reply is ERR_INVALID */
    bool cuts_body;             /* of a longer reply the rest is left out instead */
    const char *owner;          /* counted for it, such as a namespace; NULL: this process itself */
    int max_redirects;          /* 0: a redirect is a normal reply; http(s) only */
    bool own_address;           /* of an option, or of the program: options.reach does not hold */
    bool secret_path;           /* as of chat services: no message shows more than the host */
    /*
     * Stream: called with each piece of a 2xx body as it comes; the body is then not kept in the
     * result. Returning false ends the call with ERR_CANCELLED.
     */
    bool (*on_data)(void *arg, const char *data, size_t len);
};

struct http_result {
    enum err err; /* ERR_OK: a reply came, with any status. ERR_RETRY: none came, or not whole.
                   * ERR_INVALID: bad URL, too long. ERR_DENIED: TLS verification failed,
                   * or an address that options.reach refuses.
                   * ERR_CANCELLED. */
    const struct errinfo
        *info; /* "GET http://x/y: connection refused"; no credentials of the URL */
    int status;
    const char *body; /* NUL-terminated */
    size_t body_len;
    int64_t elapsed_ms;
    int64_t retry_after_ms;   /* Retry-After in either form, 0 if none */
    const char *content_type; /* "" if none */
    const char *redirect_url; /* where a redirect that was not followed leads, absolute; or NULL */
    bool no_room;     /* ERR_RETRY: its owner has more than its share of what answers may take */
    bool sent;        /* false: the request certainly never reached the server */
    bool unconnected; /* ERR_RETRY: no such host, refused, no TLS, or not in time; false for one
                               * that has only waited for a connection of others */
};
/* Value of a response header, case-insensitive, NULL if absent. Only inside done. */
const char *http_result_header(const struct http_result *result, const char *name);

typedef void (*http_done_fn)(void *arg, const struct http_result *result);

struct http_client_options {
    int max_per_host; /* connections, 0: 8; -1: no limit */
    int max_total;    /* 0: 256; -1: no limit */
    /*
     * Calls under way at once, streams apart; 0: no limit. A further one waits for its turn, and
     * its time-out only counts from then on. The connections' limits know no turns: who waits for a
     * connection spends the time-out on it. An owner has at most a fourth of them.
     */
    int max_calls;
    /* Bytes of answers at once; 0: HTTP_MAX_HELD. For more, answers of the owner that has most end
     * (http_result.no_room). */
    size_t max_held;
    /* After so long without a byte the rest of an answer is not waited for; 0: 30 s. */
    int64_t stalled_ms;
    const char *user_agent;
    /* PEM: authorities that are believed beside the system's, by requests without a CA of
     * their own. A changed file is followed within seconds, as those of struct http_tls are. */
    const char *ca_file;
    /* Addresses that are not connected to, told by ERR_DENIED; NULL: all are. Borrowed. */
    const struct reach *reach;
    const char *reach_option; /* that opens them, for messages */
};

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options);
/* Cancels what is under way (done is called) and closes the pools. Call it before the loop ends:
 * its handles keep the loop alive only while calls are under way. Called from inside a callback it
 * takes effect when that returns. */
void http_client_free(struct http_client *client);

struct http_call *http_send(struct http_client *client, const struct http_request *request,
                            http_done_fn done, void *arg);
/* done follows from the loop with ERR_CANCELLED, not inside http_cancel(). May be called again
 * until then. */
void http_cancel(struct http_call *call);
/* Calls under way. */
size_t http_client_active(const struct http_client *client);

/* A header that makes another request, or two, of the one that is sent: Content-Length, Host, Proxy-* and
 * the like. No text from outside may set it. */
bool http_header_is_reserved(const char *name);
/* Whether two http(s) URLs have scheme, host and port in common. False when one is no URL. */
bool url_same_origin(const char *one, const char *other);
/* Whether two http(s) URLs have the host in common. */
bool url_same_host(const char *one, const char *other);
/* "https://host:port" of a URL, for messages; "(not a URL)" when it is none. Owned by the arena. */
const char *url_origin(struct arena *arena, const char *url);
/* Text of a URL component, percent-encoded (RFC 3986 unreserved kept), owned by the arena. */
const char *url_encode(struct arena *arena, const char *text);
/* application/x-www-form-urlencoded: as url_encode but space becomes '+'. */
const char *url_encode_form(struct arena *arena, const char *text);

#endif

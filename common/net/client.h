/*
 * HTTP client on curl's multi interface: keep-alive pools, limits, time-outs, cancel, TLS, proxies.
 *
 * http_send() starts a call. Its `done` is called exactly once, never before http_send() has
 * returned, even after http_cancel() (with ERR_CANCELLED) and when the client is freed. The request
 * is copied; the result is valid only inside `done`.
 */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/shares.h"
#include "net/loop.h"

struct http_client;
struct http_call;

struct http_header {
    const char *name;
    const char *value;
};

/* Trusted authorities and the client certificate, as paths or PEM text; NULL if not set. Equal
 * settings share connections. */
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

/* Defaults: maximum length of an answer, and of all answers in progress of a client. */
enum { HTTP_MAX_BODY = 4 * 1024 * 1024, HTTP_MAX_HELD = 256 * 1024 * 1024 };

struct http_request {
    const char *method; /* NULL for GET */
    const char *url;
    const struct http_header *headers; /* ends with a header whose name is NULL; may be NULL */
    const void *body;
    size_t body_len;
    const struct http_tls *tls; /* may be NULL */
    const char *proxy;          /* URL; NULL for the environment's, "" for none */
    int64_t timeout_ms;         /* from its start, without queuing, to its end; 0: 10 s, -1: none
                                 * (streams) */
    int64_t connect_timeout_ms; /* 0: 5 s */
    int64_t idle_timeout_ms;    /* streams: ERR_RETRY after this time without a byte; 0 if none */
    size_t max_body;            /* 0: HTTP_MAX_BODY; a longer reply is ERR_INVALID */
    bool cuts_body;             /* truncates a longer reply instead */
    const char *owner;          /* for fair shares, e.g. a namespace; NULL for this process */
    int max_redirects;          /* 0 if a redirect is a normal reply; http(s) only */
    bool own_address;           /* the address comes from an option or the program: options.reach
                                 * does not apply */
    bool secret_path;           /* as in URLs of chat services: messages show only the host */
    /* Streams: called with each piece of a 2xx body, which is then not kept in the result.
     * Returning false ends the call with ERR_CANCELLED. */
    bool (*on_data)(void *arg, const char *data, size_t len);
};

struct http_result {
    enum err err; /* ERR_OK: a reply arrived, with any status. ERR_RETRY: no reply, or a partial
                   * one. ERR_INVALID: bad URL, reply too long. ERR_DENIED: TLS verification
                   * failed, or address refused by options.reach. ERR_CANCELLED. */
    const struct errinfo *info; /* "GET http://x/y: connection refused"; without credentials */
    int status;
    const char *body; /* NUL-terminated */
    size_t body_len;
    int64_t elapsed_ms;
    int64_t retry_after_ms;   /* Retry-After in either form, 0 if none */
    const char *content_type; /* "" if none */
    const char *redirect_url; /* absolute target of a redirect that was not followed, or NULL */
    bool no_room;     /* with ERR_RETRY: its owner's answers exceed their share of max_held */
    bool sent;        /* false if the request certainly never reached the server */
    bool unconnected; /* with ERR_RETRY: no such host, refused, no TLS, or no time left; false if
                       * it only waited for a connection used by other calls */
};
/* Value of a response header, case-insensitive, NULL if absent. Only inside done. */
const char *http_result_header(const struct http_result *result, const char *name);

typedef void (*http_done_fn)(void *arg, const struct http_result *result);

struct http_client_options {
    int max_per_host; /* connections; 0: 8, -1: no limit */
    int max_total;    /* 0: 256, -1: no limit */
    /*
     * Calls in progress, not counting streams; 0 for no limit. Further calls are queued, and their
     * time-outs start only when they leave the queue. In contrast, a call that waits for a
     * connection uses up its time-out. An owner gets at most a fourth.
     */
    int max_calls;
    /* Bytes of answers in progress; 0: HTTP_MAX_HELD. Above it, answers of the owner with the
     * most bytes are ended (http_result.no_room). */
    size_t max_held;
    enum budget budget; /* its row of budgets.def */
    /* Time-out without a byte once an answer has begun; 0: 30 s. */
    int64_t stalled_ms;
    const char *user_agent;
    /* PEM: authorities trusted in addition to the system's, by requests without a CA of their
     * own. Changed files are used within seconds, like those of struct http_tls. */
    const char *ca_file;
    /* Refused addresses (ERR_DENIED); NULL if none. Borrowed. */
    const struct reach *reach;
    const char *reach_option; /* the option that allows them, for messages */
};

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options);
/* Cancels all calls (done is called) and closes the pools. Not needed for the loop to end: handles
 * keep it alive only during calls. Within a callback it takes effect when that returns. */
void http_client_free(struct http_client *client);

struct http_call *http_send(struct http_client *client, const struct http_request *request,
                            http_done_fn done, void *arg);
/* Only in on_data: counts what the receiver of a stream keeps in the buffer, as if it were an
 * answer. Returns false if it exceeds max_held: the call ends, and on_data must return false. A
 * call that ends for lack of room, even later, frees the contents of the buffer at once, so that
 * other calls may take as much before done is called. The buffer must live until then. */
bool http_call_hold(struct http_call *call, struct buf *kept);
/* done is called from the loop with ERR_CANCELLED, not inside http_cancel(). May be called again
 * until then. */
void http_cancel(struct http_call *call);
/* Number of calls, including queued ones. */
size_t http_client_active(const struct http_client *client);

/* Returns true for headers that change how the request is framed or routed: Content-Length, Host,
 * Proxy-* and the like. Text from outside must not set them. */
bool http_header_is_reserved(const char *name);
/* Returns true if two http(s) URLs have the same scheme, host and port; false if either is
 * invalid. */
bool url_same_origin(const char *one, const char *other);
/* The same for the host only. */
bool url_same_host(const char *one, const char *other);
/* "https://host:port" of a URL, for messages; "(not a URL)" if invalid. Owned by the arena. */
const char *url_origin(struct arena *arena, const char *url);
/* Percent-encodes a URL component (RFC 3986, unreserved kept). Owned by the arena. */
const char *url_encode(struct arena *arena, const char *text);
/* The same, but space becomes '+' (application/x-www-form-urlencoded). */
const char *url_encode_form(struct arena *arena, const char *text);

/*
 * --- reach.c: filter of the addresses that a client connects to, regardless of the name or
 * redirect that leads there. Addresses of the machine and of the link are refused, as are metadata
 * services of clouds; a list opens and closes further ranges. IPv4 addresses within IPv6 (mapped,
 * NAT64) count as IPv4. Pure.
 */

struct reach;

/*
 * text: "+10.0.0.5,-10.0.0.0/8,+loopback": opens (+) or closes (-) an address, a range, or one of
 * the words loopback and link-local; the last match wins. NULL or "" is an empty list. loopback:
 * refuse the machine's own addresses if the list does not mention them. Lives in the arena.
 * ERR_INVALID with the item that is invalid.
 */
enum err reach_read(struct arena *arena, const char *text, bool loopback, const struct reach **out,
                    struct errinfo *ei) MUST_USE;
/* The daemons' option for such a list. */
#define REACH_OPTION "--tenant-addresses"
/* The same for that option, which is named in the error. In a pod the machine's own addresses
 * are refused: they belong to sidecars and to this process. */
enum err reach_option(struct arena *arena, const char *text, const struct reach **out,
                      struct errinfo *ei) MUST_USE;
bool reach_refuses(const struct reach *reach, const struct sockaddr *address);
/* The same for a numeric address, "127.0.0.1"; false if the text is not an address. */
bool reach_refuses_text(const struct reach *reach, const char *address);

#endif

/*
 * What the files of the HTTP server share. server.c owns the listener and h2o, and makes each turn
 * of the loop; server_accept.c takes clients in; server_read.c sees what they send, before h2o
 * does; server_conn.c and server_state.c how far connections and requests are; server_places.c who
 * gives way when connections or memory run short; server_turns.c who waits for the loop's next
 * turn; server_admission.c whose body is read; server_request.c what was asked; server_route.c who
 * answers; server_reply.c, server_share.c, server_stream.c and server_error.c the answer.
 *
 * A request's memory belongs to h2o's request pool: when h2o ends the request, for whatever reason,
 * the pool calls server_request_dispose(). Until then the struct is there, so that a late reply
 * finds state REQUEST_OVER and not freed memory.
 */
#ifndef NET_SERVER_INTERNAL_H
#define NET_SERVER_INTERNAL_H

#include <h2o.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "net/server/server.h"

/*
 * PENDING: the handler has not answered. STREAMING: http_stream_start() was called. REPLIED: the
 * whole answer is with h2o. OVER: the client has gone, or was cut off, and the owner was told or
 * does not want to know.
 */
enum request_state { REQUEST_PENDING, REQUEST_STREAMING, REQUEST_REPLIED, REQUEST_OVER };

/*
 * READING: a request has not come yet, or not whole. BUSY: it is being answered. SENDING: the
 * answer is whole and on its way. LEAVING: closed, or about to be.
 */
enum conn_state { CONN_READING, CONN_BUSY, CONN_SENDING, CONN_LEAVING };

struct server_conn {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv; /* first, for the close callback */
    TAILQ_ENTRY(server_conn) link;
    TAILQ_ENTRY(server_conn) turn; /* in readers or senders */
    TAILQ_ENTRY(server_conn) bare; /* in bares while is_bare */
    struct http_server *server;
    h2o_socket_t *sock; /* NULL once h2o has closed it */
    enum conn_state state;
    h2o_socket_cb read_cb; /* h2o's, called by ours */
    size_t held;           /* bytes of requests and answers, as they count for the server */
    uint64_t entered;      /* the turn of the loop */
    int64_t entered_ms;
    bool headers_seen; /* of the request that is being read */
    bool is_bare;      /* what is read does not pass by us yet */
    struct http_conn_request *request;
    h2o_req_t *coming;  /* h2o's, once it was looked for */
    bool coming_seen;   /* the head of what is read was looked at before h2o was shown it */
    bool body_judged;   /* whether its sender is known */
    bool is_unknown;    /* and he is not: it is handed over without its body */
    size_t input_start; /* bytes that were buffered when watching began */
    int linger_fd;      /* a duplicate that outlives the close, or -1 */
    SSL_CTX *tls;       /* held: h2o keeps a bare pointer to it until the client speaks; or NULL */
    char *client_name;  /* of its verified certificate, or NULL */
    bool read_shut;     /* by us: an end of file then says nothing of the client */
};

struct http_conn_request {
    h2o_generator_t generator; /* first, h2o hands it back */
    TAILQ_ENTRY(http_conn_request) link;
    TAILQ_ENTRY(http_conn_request) spent; /* while is_spent */
    TAILQ_ENTRY(http_conn_request) turn;  /* while is_queued */
    uint64_t number;                      /* of the server's requests, by their coming */
    h2o_req_t *req;
    struct http_server *server;
    struct server_conn *conn;
    struct arena *arena; /* NULL: the answer is out, and what it was made of has gone */
    const char *route;   /* label of the metrics */
    const char *method;
    const char *path;
    const char *query;
    const char *body;
    size_t body_len;
    size_t reply_len; /* of the copy that is being sent */
    void (*on_gone)(void *arg);
    void *gone_arg;
    int64_t started_ms;
    int status;
    enum request_state state;
    bool is_spent;  /* answered, its arena goes when the handler has returned */
    bool is_queued; /* for a turn of the loop that has time for it */
    bool ambiguous; /* another parser could read it differently */
    /* streams: flying is being written, waiting comes next */
    struct buf waiting;
    struct buf flying;
    size_t max_queue;
    void (*on_sent)(void *arg);
    void *sent_arg;
    struct timer *cut; /* set: too slow, about to be cut off */
    bool writing;
    bool end_asked;
};

struct server_metrics;
struct server_linger;

/* A text that answers several requests; see http_reply_share(). */
struct server_shared {
    char *key;        /* NULL: none */
    char *type;       /* of the content */
    struct buf *text; /* h2o counts who holds it */
    uint64_t last;    /* number of the last request that had come when it was made */
};

enum { SERVER_SHARED = 4 };

struct http_server {
    h2o_globalconf_t conf;
    h2o_context_t ctx;
    h2o_accept_ctx_t accept;
    struct http_server_options options; /* texts and routes are borrowed */
    struct loop *loop;
    struct rotation *rotation;      /* of the TLS files; NULL without any, and once stopped */
    struct server_metrics *metrics; /* NULL: none kept */
    char *unix_path;
    uv_stream_t *listener; /* NULL once stopped */
    TAILQ_HEAD(server_conns, server_conn) conns;
    struct server_conns readers, senders; /* the oldest first */
    struct server_conns bares;
    h2o_socket_cb read_cb; /* ours, that stands before h2o's */
    TAILQ_HEAD(server_requests, http_conn_request) requests;
    struct server_requests spent;
    struct server_requests queue; /* the oldest first */
    TAILQ_HEAD(, server_linger) lingers;
    struct server_shared shared[SERVER_SHARED];
    uv_prepare_t *prepare;
    uv_idle_t *idle;      /* runs while requests are queued, so that the loop does not wait */
    uint64_t turn_ns;     /* that requests have taken of this turn */
    int free_turns;       /* that queued requests leave to those who come */
    uint64_t last_number; /* of a request */
    unsigned next_shared; /* is given up for the next text */
    struct timer *again;  /* set: the loop must not wait for long, a client does */
    struct timer *trim;   /* set: much was held, what is free goes back then */
    uint64_t turns;
    int64_t cut_told_ms;
    size_t max_body;
    size_t held, max_held;
    int conn_count; /* with those that libuv is closing */
    int open_count;
    int busy_count;
    int linger_count;
    int max_connections, max_busy;
    int port;
    bool accept_waiting; /* a client waits in libuv for a free place */
    bool stopping;
    bool freeing;
};

/* server_listen.c: binds and listens; *out is on the heap. unix_path is set for a Unix socket. */
enum err server_listen(struct loop *loop, const struct http_server_options *options,
                       uv_connection_cb on_connection, uv_stream_t **out, int *port,
                       char **unix_path, struct errinfo *ei) MUST_USE;

/* server_accept.c: takes the next client, if there is a place. */
void server_accept_next(struct http_server *server);

/* server_conn.c */
void server_conn_move(struct server_conn *conn, enum conn_state state);
void server_conn_set_bare(struct server_conn *conn, bool bare);
/* What was received is still answered; then the connection reads its end. */
void server_conn_shut_read(struct server_conn *conn);
/* h2o is done with the request of this connection. */
void server_conn_request_over(struct server_conn *conn);
/*
 * After a read that failed (a reset, not an end) libuv refuses writes at once, and h2o, which does
 * not look at what uv_write() returns, would wait for the completion for ever: it is told here. Not
 * from inside a handler: h2o closes the connection.
 */
void server_conn_complete_lost_write(struct server_conn *conn);

/* server_places.c */
void server_places_start(struct http_server *server);
/* Makes a place for one more client; false: it has to wait. */
bool server_places_take(struct http_server *server);
void server_places_enter(struct server_conn *conn); /* once h2o has it */
void server_places_leave(struct server_conn *conn);
/* Counts anew what the connection holds. False: it is more than there is room for, although others
 * have given way. */
bool server_places_count(struct server_conn *conn);
/* It is cut off. The socket's close callback, or the loop's next turn, does the rest. */
void server_places_give_way(struct server_conn *conn, const char *why);

/* server_read.c */
void server_read_start(struct http_server *server);
void server_read_enter(struct server_conn *conn); /* once it has its place */
/* Before the loop waits: looks at those whose bytes have not passed by us. */
void server_read_bares(struct http_server *server);

/* server_tls.c: accept.ssl_ctx is NULL without a certificate, and follows the files. */
enum err server_tls_start(struct http_server *server, struct errinfo *ei) MUST_USE;
void server_tls_stop(struct http_server *server); /* no longer follows the files */

/* server_admission.c */
#define SERVER_UNKNOWN_TEXT                                                                        \
    "{\"error\":\"this request brings no credentials that are known; its body is not read\"}"
/* Before h2o is shown what has come: it must not ask somebody who is not known for a body. */
void server_hide_expectation(struct server_conn *conn);
/* Whether the daemon knows who sends this; before its body was read. */
bool server_knows(struct http_server *server, h2o_req_t *req);
/* True: a body is awaited from somebody who is not known, and the request was refused. */
bool server_refuses_body(struct server_conn *conn);
void server_reply_unknown(struct http_conn_request *r);

/* server_request.c */
/* Fills method, path and query of what r->req says, in r->arena. */
void server_request_read_head(struct http_conn_request *r);
struct http_conn_request *server_request_new(struct http_server *server, h2o_req_t *req);
/* What a request that was spent was made of goes. */
void server_request_free_spent(struct http_conn_request *r);
void server_request_free_all_spent(struct http_server *server);
/* Reads on while the owner works, to notice that the client has gone. */
void server_request_watch(struct http_conn_request *r);

/* server_state.c */
void server_request_set_state(struct http_conn_request *r, enum request_state state);
/*
 * The answer is a copy of h2o's: what it was made of, a tree often, must not wait for a client that
 * does not take it. Its maker may still look at it until he returns.
 */
void server_request_spend(struct http_conn_request *r);
void server_request_unspend(struct http_conn_request *r); /* if it was */
void server_request_unwatch(struct http_conn_request *r);
/* The client has gone: tells the owner, if it still works on the request. */
void server_request_give_up(struct http_conn_request *r);
/* The client has gone or must go: tells the owner (unless it has replied) and ends the connection.
 */
void server_request_abort(struct http_conn_request *r);

/* server_ambiguous.c: before anything of it was moved. */
bool server_request_is_ambiguous(h2o_req_t *req);

/* server_turns.c */
void server_turns_start(struct http_server *server);
void server_turns_stop(struct http_server *server); /* before the last turns of the loop */
/* Whether a request that has come may be answered now. */
bool server_turns_allow(const struct http_server *server);
void server_turns_enter(struct http_conn_request *r); /* the queue */
void server_turns_leave(struct http_conn_request *r); /* if it is there */
void server_turns_begin(struct http_server *server);  /* a turn of the loop */
/* The next that is queued and may be answered now, which leaves; or NULL. */
struct http_conn_request *server_turns_next(struct http_server *server);

/* server_route.c */
/* True: the request was refused, or asked how the daemon is; it takes no time that counts. */
bool server_route_at_once(struct http_conn_request *r);
void server_route(struct http_conn_request *r); /* any other */

/* server_reply.c */
void server_reply_begin(struct http_conn_request *r, int status, const char *content_type);
bool server_is_head(const struct http_conn_request *r);
const char *server_reason(int status); /* "Not Found" */

/* server_error.c: gives h2o's own error replies (413, 400) our form. */
void server_error_filter_register(struct http_server *server, h2o_pathconf_t *pathconf);

/* server_share.c: a text by its key; NULL when there is none that was made after request r had
 * come. Both are borrowed until the next call. The text is taken, and the buffer is empty then. */
const struct server_shared *server_share_find(const struct http_conn_request *r, const char *key);
const struct server_shared *server_share_put(struct http_conn_request *r, const char *key,
                                             const char *type, struct buf *text);
void server_share_forget(struct http_server *server);

/* server_stream.c */
void server_stream_fini(struct http_conn_request *r);

/* server_linger.c: takes fd and reads what comes, for a while, before it closes. The oldest of too
 * many ends at once. */
void server_linger_start(struct http_server *server, int fd);
void server_linger_after(h2o_req_t *req); /* once its connection is closed */
void server_linger_end_all(struct http_server *server);

/* server_metrics.c */
struct server_metrics *server_metrics_get(const char *name);
void server_metrics_count(const struct http_conn_request *r);
void server_metrics_cut(struct http_server *server, const char *why);

#endif

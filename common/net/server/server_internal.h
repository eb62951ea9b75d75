/*
 * Private to the HTTP server. server.c: life of a server, listening, accepting, certificates.
 * server_conn.c: states, limits and closing of connections. server_request.c: requests before a
 * route sees them. server_route.c: queue, routes, metrics, answers below /debug/. server_reply.c:
 * replies and streams.
 *
 * A request's memory belongs to h2o's request pool: when h2o ends the request, for any reason, the
 * pool calls request_dispose(). Until then the struct exists, so that a late reply finds the state
 * REQUEST_OVER and not freed memory.
 */
#ifndef NET_SERVER_INTERNAL_H
#define NET_SERVER_INTERNAL_H

#include <h2o.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/shares.h"
#include "net/server/server.h"

/*
 * PENDING: the handler has not replied. STREAMING: http_stream_start() was called. REPLIED: h2o has
 * the whole answer. OVER: the client has disconnected or was cut off, and the owner was notified or
 * had not asked for it.
 */
enum request_state { REQUEST_PENDING, REQUEST_STREAMING, REQUEST_REPLIED, REQUEST_OVER };

/*
 * READING: no request has arrived yet, or only part of one. BUSY: a request is being answered.
 * SENDING: the answer is complete and being sent. LEAVING: closed, or about to be.
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
    TAILQ_ENTRY(server_conn) age_link; /* in readers or senders */
    struct http_server *server;
    h2o_socket_t *sock; /* NULL once h2o has closed it */
    enum conn_state state;
    size_t held; /* bytes of requests and answers, as counted in server->byte_shares */
    uint64_t accepted_iteration; /* server->iteration when it was accepted */
    int64_t accepted_ms;
    bool headers_seen; /* the headers of this request are complete */
    bool is_counted;   /* counted in server->conn_shares and byte_shares; not once it is evicted */
    bool is_watched;   /* part of server->hang_up_fd */
    struct http_conn_request *request;
    int linger_fd; /* duplicate for server_linger_start(), or -1 */
    SSL_CTX *tls;  /* a reference, since h2o takes none before the handshake; NULL without TLS */
    char *client_name;   /* from its verified certificate, or NULL */
    char *address;       /* address of the client; "" on a Unix socket */
    bool read_shut;      /* by us: an end of file then does not come from the client */
    uv_read_cb h2o_read; /* h2o's callback, called by ours in server_conn.c; NULL without TLS */
};

struct http_conn_request {
    h2o_generator_t generator; /* first: h2o passes a pointer to it */
    TAILQ_ENTRY(http_conn_request) link;
    TAILQ_ENTRY(http_conn_request) finished;   /* while is_finished */
    TAILQ_ENTRY(http_conn_request) queue_link; /* while is_queued */
    uint64_t number;                           /* among the server's requests, in order of
                                                * arrival */
    h2o_req_t *req;
    struct http_server *server;
    struct server_conn *conn;
    struct arena *arena; /* NULL once the reply is made and the arena freed */
    const char *route;   /* label of the metrics */
    const char *method;
    const char *path;
    const char *query;
    const char *body;
    size_t body_len;
    size_t reply_len; /* length of the copy that is being sent */
    void (*on_gone)(void *arg);
    void *gone_arg;
    int64_t started_ms;
    int status;
    enum request_state state;
    bool is_finished; /* replied: the arena is freed once the handler has returned */
    bool is_queued;   /* waits for a turn of the loop that has time for it */
    bool ambiguous;   /* another parser could read it differently */
    /* streams: `flying` is being written, `waiting` comes next */
    struct buf waiting;
    struct buf flying;
    size_t max_queue;
    void (*on_sent)(void *arg);
    void *sent_arg;
    struct timer *cut;        /* set if the client is too slow and about to be cut off */
    h2o_ostream_t *transport; /* the last of h2o's output filters */
    bool writing;
    bool end_asked;
    bool end_sent; /* h2o has the last piece */
};

struct server_metrics;
struct server_linger;

/* A text that answers several requests; see http_reply_share(). */
struct server_shared {
    char *key;        /* NULL if unused */
    char *type;       /* content type */
    struct buf *text; /* reference-counted by h2o */
    uint64_t last;    /* number of the last request that had arrived when the text was made */
};

enum { SERVER_SHARED = 4 };

struct http_server {
    h2o_globalconf_t conf;
    h2o_context_t ctx;
    h2o_accept_ctx_t accept;
    struct http_server_options options; /* texts and routes are borrowed */
    struct loop *loop;
    struct file_watch *file_watch;  /* watches the TLS files; NULL without TLS, and once stopped */
    struct server_metrics *metrics; /* NULL if none are kept */
    char *unix_path;
    uv_stream_t *listener; /* NULL once stopped */
    TAILQ_HEAD(server_conns, server_conn) conns;
    struct server_conns readers, senders; /* oldest first */
    TAILQ_HEAD(server_requests, http_conn_request) requests;
    struct server_requests finished;
    struct server_requests queue; /* oldest first */
    TAILQ_HEAD(, server_linger) lingers;
    struct server_shared shared[SERVER_SHARED];
    uv_prepare_t *prepare;
    uv_check_t *check;
    uv_poll_t *hang_up;        /* polls hang_up_fd */
    int hang_up_fd;            /* epoll: the connections with a request that is being answered */
    int watched_count;         /* number of its connections */
    struct timer *watch;       /* set while requests wait to be watched */
    struct timer *queue_timer; /* set while requests are queued */
    uint64_t last_number;      /* number of the last request */
    unsigned next_shared;      /* slot of the next text */
    struct timer *wakeup;      /* set while a client waits to be accepted */
    struct timer *trim;        /* set while many bytes are held: free memory is returned when it
                                * fires */
    uint64_t iteration;
    int accepts; /* attempts in this iteration */
    int64_t evict_logged_ms;
    size_t max_body;
    int conn_count;            /* including those that libuv is closing */
    struct shares conn_shares; /* connections, by the client's address */
    struct shares busy_shares; /* requests being answered, likewise */
    struct shares byte_shares; /* bytes of requests and answers, likewise */
    int linger_count;
    int max_connections;
    int port;
    bool accept_waiting; /* a client waits in libuv until it can be accepted */
    bool stopping;
    bool freeing;
};

/* server_conn.c */
void server_limits_start(struct http_server *server, size_t max_held);
void server_limits_end(struct http_server *server);
/* Makes room for one more client, by eviction where needed. Returns false if it has to wait. */
bool server_limits_make_room(struct http_server *server);
/* Counts the connection, after h2o_accept(). */
void server_conn_enter(struct server_conn *conn);
/* Stops counting it; before h2o closes the socket. May be called again. */
void server_conn_leave(struct server_conn *conn);
void server_conn_set_state(struct server_conn *conn, enum conn_state state);
/* Stops reading. What was received is still answered; then the connection reads an end of file. */
void server_conn_shut_read(struct server_conn *conn);
/* Called when h2o is done with the request of this connection. */
void server_conn_request_over(struct server_conn *conn);
/* Returns true if the client has more requests in progress, including this one, than its share. */
bool server_conn_exceeds_share(const struct server_conn *conn);
/* Counts the connection's bytes again. Returns false if they exceed the limit even after other
 * connections were evicted. */
bool server_conn_account(struct server_conn *conn);
/* Keeps reads that found nothing from h2o; called before the loop polls, and after all else that
 * may have made h2o read. */
void server_guard_reads(struct http_server *server);
/* Counts the bytes of all partial requests, and refuses endless headers; called after the loop
 * has polled. */
void server_limits_check(struct http_server *server);
/* Starts soon to watch requests that are being answered, and aborts them if their client closes
 * its side. */
void server_watch_soon(struct http_server *server);
void server_conn_unwatch(struct server_conn *conn);
enum err server_watch_start(struct http_server *server, struct errinfo *ei) MUST_USE;
void server_watch_stop(struct http_server *server);
/* Takes fd, and discards for a while what the client sends before closing it. Ends the oldest of
 * too many. */
/* LINGER_READ: signals that no more is sent, then reads and discards the rest of the request.
 * LINGER_UNREAD: only keeps the connection open. */
enum linger_kind { LINGER_READ, LINGER_UNREAD };
void server_linger_start(struct http_server *server, int fd, enum linger_kind kind);
/* The same once h2o has closed the connection of req: the rest of the request may be on its way. */
void server_linger_after(h2o_req_t *req);
void server_linger_end_all(struct http_server *server);

/* server_request.c */
struct http_conn_request *server_request_new(struct http_server *server, h2o_req_t *req);
void server_request_set_state(struct http_conn_request *r, enum request_state state);
/* Frees the arena of a request that was replied to, of which h2o has a copy of the answer. A
 * tree must not wait for a slow client, but the handler may still read it until it returns. */
void server_request_free_finished(struct http_conn_request *r);
void server_request_free_all_finished(struct http_server *server);
void server_request_finish(struct http_conn_request *r); /* marks it for that */
/* The client has disconnected or must be cut off: calls on_gone, unless the request was replied
 * to, and ends the connection. */
void server_request_abort(struct http_conn_request *r);

/* server_route.c */
void server_route_register(struct http_server *server, h2o_pathconf_t *path);
void server_queue_remove(struct http_conn_request *r); /* if queued */
struct server_metrics *server_metrics_get(const char *name);
void server_metrics_count(const struct http_conn_request *r);
void server_metrics_evicted(struct http_server *server, const char *why);

/* server_reply.c */
void server_error_filter_register(struct http_server *server, h2o_pathconf_t *pathconf);
bool server_is_head(const struct http_conn_request *r);
void server_share_clear(struct http_server *server); /* forgets the shared texts */
void server_stream_fini(struct http_conn_request *r);

#endif

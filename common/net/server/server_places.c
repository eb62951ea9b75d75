/*
 * Who gives way when connections or memory run short.
 *
 * Whoever reaches the port can open connections and say nothing, or begin requests and never end
 * them. Nothing tells them from slow clients, so there is one rule: the oldest gives way, first of
 * those that have sent no whole request, then of those that do not take their answer. A request
 * that is being answered never gives way, but there are fewer places for these than in all: the
 * rest is for probes, which are answered from any place.
 */
#include <malloc.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/clock.h"
#include "net/server/server_internal.h"

enum {
    PROBE_PLACES = 32,
    PROBE_SHARE = 4,  /* of few places one in four */
    UNREAD_TURNS = 2, /* of the loop, until what a client has brought along was surely read */
    FRESH_MS = 25,    /* a client's moment between its connect() and what it came to say */
    MUCH_HELD = 256 * 1024,
    TRIM_MS = 2000
};

void server_places_give_way(struct server_conn *conn, const char *why)
{
    h2o_socket_t *sock = conn->sock;
    bool ours = sock->_cb.read == conn->server->read_cb;
    h2o_socket_cb read_cb = ours ? conn->read_cb : sock->_cb.read;

    server_metrics_cut(conn->server, why);
    if (conn->state == CONN_READING && read_cb && !h2o_socket_is_writing(sock)) {
        read_cb(sock, "the connection gave way to others");
        return;
    }
    struct http_conn_request *request = conn->request;
    server_conn_move(conn, CONN_LEAVING);
    if (request)
        server_request_abort(request);
    else
        shutdown(h2o_socket_get_fd(sock), SHUT_RDWR);
}

/* The oldest of a list that holds at least so much. */
static struct server_conn *oldest(struct server_conns *conns, size_t least,
                                  const struct server_conn *but)
{
    struct server_conn *conn;

    TAILQ_FOREACH(conn, conns, turn)
    {
        if (conn != but && conn->held >= least)
            return conn;
    }
    return NULL;
}

static void on_again(void *arg)
{
    struct http_server *server = arg;

    server->again = NULL; /* the loop has turned, which was the purpose */
}

/* How long it is still given to say something; 0 when only what has been read counts. */
static int64_t grace_ms(const struct server_conn *conn)
{
    int64_t rest = conn->entered_ms + FRESH_MS - clock_monotonic_ms();

    return rest > 0 ? rest : 0;
}

/* A crowd that comes at once must not displace unread who came with it, nor who is not as fast: the
 * next one waits for a moment. */
bool server_places_take(struct http_server *server)
{
    if (server->open_count < server->max_connections)
        return true;
    struct server_conn *conn = oldest(&server->readers, 0, NULL);
    int64_t grace = conn ? grace_ms(conn) : 0;
    bool fresh = conn && (grace > 0 || server->turns - conn->entered < UNREAD_TURNS);
    if (!conn)
        conn = oldest(&server->senders, 0, NULL);
    if (fresh && !server->again)
        server->again = timer_start(server->loop, grace, 0, on_again, server);
    else if (conn && !fresh)
        server_places_give_way(conn, "places");
    return server->open_count < server->max_connections;
}

void server_places_enter(struct server_conn *conn)
{
    conn->server->open_count++;
    conn->entered = conn->server->turns;
    conn->entered_ms = clock_monotonic_ms();
    server_conn_move(conn, CONN_READING);
}

void server_places_leave(struct server_conn *conn)
{
    server_conn_move(conn, CONN_LEAVING);
    conn->server->open_count--;
    conn->server->held -= conn->held;
    conn->held = 0;
}

/* h2o frees a buffer when all of it is used, and does not shrink it before. */
static size_t held_by(const struct server_conn *conn)
{
    const h2o_buffer_t *input = conn->sock->input;
    const struct http_conn_request *r = conn->request;
    size_t held = input->bytes ? input->capacity : 0;

    return held + (r ? r->body_len + r->reply_len + r->waiting.cap + r->flying.cap : 0);
}

static void trim_later(struct http_server *server);

/* malloc() keeps what was freed below something that is still used: without this an attack that is
 * over would still be seen in the resident memory. */
static void on_trim(void *arg)
{
    struct http_server *server = arg;

    server->trim = NULL;
    malloc_trim(0);
    trim_later(server);
}

static void trim_later(struct http_server *server)
{
    if (server->held > MUCH_HELD && !server->trim && !server->stopping)
        server->trim = timer_start(server->loop, TRIM_MS, 0, on_trim, server);
}

bool server_places_count(struct server_conn *conn)
{
    struct http_server *server = conn->server;
    size_t held = conn->sock ? held_by(conn) : 0;

    server->held += held - conn->held;
    conn->held = held;
    trim_later(server);
    while (server->held > server->max_held) {
        struct server_conn *other = oldest(&server->readers, 1, conn);
        if (!other)
            other = oldest(&server->senders, 1, conn);
        if (!other)
            return false;
        server_places_give_way(other, "memory");
    }
    return true;
}

void server_places_start(struct http_server *server)
{
    int kept = server->max_connections / PROBE_SHARE;

    TAILQ_INIT(&server->readers);
    TAILQ_INIT(&server->senders);
    server->max_busy = server->max_connections - (kept < PROBE_PLACES ? kept : PROBE_PLACES);
}

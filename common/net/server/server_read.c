/*
 * What a client has sent is known only when it has passed by: our callback stands before h2o's on
 * the socket. h2o sets its own when a request is over, or when it has written "100 Continue"; such
 * a connection is bare, and gets ours before the loop waits again.
 */
#define _GNU_SOURCE /* memmem() */
#include <string.h>

#include "net/server/server_internal.h"

enum { MAX_HEADERS = 16 * 1024 };

static void on_read(h2o_socket_t *sock, const char *err);

/* While h2o writes, it may set its callback when that is done. */
static void stand_before(struct server_conn *conn)
{
    h2o_socket_t *sock = conn->sock;

    if (sock->_cb.read && sock->_cb.read != on_read) {
        conn->read_cb = sock->_cb.read;
        sock->_cb.read = on_read;
    }
    server_conn_set_bare(conn, !sock->_cb.read || h2o_socket_is_writing(sock));
}

/* h2o takes 400 KiB of them, and looks through all at each read. Looked at once, when there might
 * be too many. */
static bool headers_are_endless(struct server_conn *conn)
{
    const h2o_buffer_t *input = conn->sock->input;

    if (conn->headers_seen || input->size <= MAX_HEADERS)
        return false;
    conn->headers_seen = true;
    return !memmem(input->bytes, MAX_HEADERS, "\r\n\r\n", 4) &&
           !memmem(input->bytes, MAX_HEADERS, "\n\n", 2);
}

static void look(struct server_conn *conn)
{
    if (!conn->sock || conn->state != CONN_READING)
        return;
    stand_before(conn);
    if (server_refuses_body(conn))
        return;
    if (!server_places_count(conn) || headers_are_endless(conn))
        server_places_give_way(conn, "memory");
}

static void on_read(h2o_socket_t *sock, const char *err)
{
    struct server_conn *conn = sock->on_close.data; /* outlives the socket */

    if (!err)
        server_hide_expectation(conn);
    conn->read_cb(sock, err);
    look(conn);
}

void server_read_start(struct http_server *server)
{
    TAILQ_INIT(&server->bares);
    server->read_cb = on_read;
}

void server_read_enter(struct server_conn *conn)
{
    stand_before(conn);
}

void server_read_bares(struct http_server *server)
{
    struct server_conn *conn, *next;

    for (conn = TAILQ_FIRST(&server->bares); conn; conn = next) {
        next = TAILQ_NEXT(conn, bare); /* may give way; its memory stays until the turn is over */
        look(conn);
    }
}

/* How far a connection is: the one place where its state changes, and with it the list it is in. */
#include <sys/socket.h>

#include "net/server/server_internal.h"

void server_conn_set_bare(struct server_conn *conn, bool bare)
{
    if (conn->is_bare == bare)
        return;
    conn->is_bare = bare;
    if (bare)
        TAILQ_INSERT_TAIL(&conn->server->bares, conn, bare);
    else
        TAILQ_REMOVE(&conn->server->bares, conn, bare);
}

void server_conn_move(struct server_conn *conn, enum conn_state state)
{
    struct http_server *server = conn->server;

    if (conn->state == state)
        return;
    if (conn->state == CONN_READING)
        TAILQ_REMOVE(&server->readers, conn, turn);
    else if (conn->state == CONN_SENDING)
        TAILQ_REMOVE(&server->senders, conn, turn);
    else if (conn->state == CONN_BUSY)
        server->busy_count--;
    conn->state = state;
    conn->headers_seen = false;
    conn->body_judged = false;
    conn->coming_seen = false;
    if (state == CONN_READING)
        TAILQ_INSERT_TAIL(&server->readers, conn, turn);
    else if (state == CONN_SENDING)
        TAILQ_INSERT_TAIL(&server->senders, conn, turn);
    else if (state == CONN_BUSY)
        server->busy_count++;
    server_conn_set_bare(conn, state == CONN_READING);
}

/* What was received is still answered; then the connection reads its end. */
void server_conn_shut_read(struct server_conn *conn)
{
    if (!conn->sock || conn->read_shut)
        return;
    conn->read_shut = true;
    shutdown(h2o_socket_get_fd(conn->sock), SHUT_RD);
}

void server_conn_request_over(struct server_conn *conn)
{
    conn->request = NULL;
    if (conn->sock && conn->state != CONN_LEAVING)
        server_conn_move(conn, CONN_READING);
    if (conn->server->stopping)
        server_conn_shut_read(conn);
}

void server_conn_complete_lost_write(struct server_conn *conn)
{
    h2o_socket_t *sock = conn->sock;

    if (!sock || uv_is_writable(&conn->uv.stream) || !h2o_socket_is_writing(sock))
        return;
    h2o_socket_cb done = sock->_cb.write;
    sock->_cb.write = NULL;
    done(sock, "the connection was reset");
}

/* Takes clients in, as long as there are places. */
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "net/server/server_internal.h"

enum { KEEPALIVE_S = 60 };

static void free_conn(uv_handle_t *handle)
{
    struct server_conn *conn = (struct server_conn *)handle;
    struct http_server *server = conn->server;

    TAILQ_REMOVE(&server->conns, conn, link);
    server->conn_count--;
    SSL_CTX_free(conn->tls);
    free(conn->client_name);
    free(conn);
    if (server->accept_waiting)
        server_accept_next(server);
}

static void on_sock_close(void *arg)
{
    struct server_conn *conn = arg;

    server_places_leave(conn);
    conn->sock = NULL;
    if (conn->linger_fd >= 0)
        server_linger_start(conn->server, conn->linger_fd);
    conn->linger_fd = -1;
}

static struct server_conn *conn_new(struct http_server *server)
{
    struct server_conn *conn = heap_alloc(sizeof(*conn));

    *conn = (struct server_conn){.server = server, .linger_fd = -1, .state = CONN_LEAVING};
    if (server->unix_path)
        uv_pipe_init(loop_uv(server->loop), &conn->uv.pipe, 0);
    else
        uv_tcp_init(loop_uv(server->loop), &conn->uv.tcp);
    TAILQ_INSERT_TAIL(&server->conns, conn, link);
    server->conn_count++;
    return conn;
}

/*
 * h2o waits without end for a client that takes no more of its reply. The kernel gives such a
 * connection up, and one whose other end has vanished, after the request's own time.
 */
static void bound_waiting(struct http_server *server, struct server_conn *conn)
{
    unsigned int timeout_ms = (unsigned int)server->conf.http1.req_timeout;

    uv_tcp_nodelay(&conn->uv.tcp, 1);
    uv_tcp_keepalive(&conn->uv.tcp, 1, KEEPALIVE_S);
    setsockopt(h2o_socket_get_fd(conn->sock), IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms,
               sizeof(timeout_ms));
}

/* libuv holds one client back, and stops listening, until uv_accept() is called. */
void server_accept_next(struct http_server *server)
{
    if (!server->listener)
        return;
    server->accept_waiting = !server_places_take(server);
    if (server->accept_waiting)
        return;
    struct server_conn *conn = conn_new(server);
    if (uv_accept(server->listener, &conn->uv.stream) != 0) {
        uv_close(&conn->uv.handle, free_conn);
        return;
    }
    conn->sock = h2o_uv_socket_create(&conn->uv.stream, free_conn);
    conn->sock->on_close.cb = on_sock_close;
    conn->sock->on_close.data = conn;
    if (!server->unix_path)
        bound_waiting(server, conn);
    conn->tls = server->accept.ssl_ctx;
    if (conn->tls)
        SSL_CTX_up_ref(conn->tls);
    h2o_accept(&server->accept, conn->sock);
    server_places_enter(conn);
    server_read_enter(conn);
}

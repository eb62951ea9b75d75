#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/server/server_internal.h"

/*
 * Closing a socket that still has unread bytes resets the connection, and the client may lose the
 * reply that told it why: what a refused request goes on sending is read and thrown away for a
 * while.
 */
enum { LINGER_MS = 2000, LINGER_BYTES = 64 * 1024 * 1024, MAX_LINGERS = 64 };

struct server_linger {
    uv_poll_t poll;
    TAILQ_ENTRY(server_linger) link;
    struct http_server *server;
    struct timer *timer;
    size_t bytes;
    int fd;
};

static void on_closed(uv_handle_t *handle)
{
    struct server_linger *linger = handle->data;

    close(linger->fd);
    free(linger);
}

static void linger_end(struct server_linger *linger)
{
    if (uv_is_closing((uv_handle_t *)&linger->poll))
        return;
    TAILQ_REMOVE(&linger->server->lingers, linger, link);
    linger->server->linger_count--;
    timer_stop(linger->timer);
    linger->timer = NULL;
    uv_close((uv_handle_t *)&linger->poll, on_closed);
}

static void on_timeout(void *arg)
{
    struct server_linger *linger = arg;

    linger->timer = NULL;
    linger_end(linger);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct server_linger *linger = poll->data;
    char buf[16 * 1024];

    (void)events;
    ssize_t n = status == 0 ? recv(linger->fd, buf, sizeof(buf), MSG_DONTWAIT) : -1;
    if (n < 0 && status == 0 && (errno == EAGAIN || errno == EINTR))
        return;
    linger->bytes += n > 0 ? (size_t)n : 0;
    if (n <= 0 || linger->bytes > LINGER_BYTES)
        linger_end(linger);
}

void server_linger_start(struct http_server *server, int fd)
{
    struct server_linger *linger = heap_alloc(sizeof(*linger));

    *linger = (struct server_linger){.server = server, .fd = fd};
    if (server->freeing || uv_poll_init(loop_uv(server->loop), &linger->poll, fd) != 0) {
        close(fd);
        free(linger);
        return;
    }
    linger->poll.data = linger;
    if (server->linger_count >= MAX_LINGERS)
        linger_end(TAILQ_FIRST(&server->lingers));
    TAILQ_INSERT_TAIL(&server->lingers, linger, link);
    server->linger_count++;
    linger->timer = timer_start(server->loop, LINGER_MS, 0, on_timeout, linger);
    shutdown(fd, SHUT_WR);
    uv_poll_start(&linger->poll, UV_READABLE, on_readable);
}

void server_linger_end_all(struct http_server *server)
{
    while (!TAILQ_EMPTY(&server->lingers))
        linger_end(TAILQ_FIRST(&server->lingers));
}

/* The rest of the request may still be on its way. */
void server_linger_after(h2o_req_t *req)
{
    h2o_socket_t *sock = req->conn->callbacks->get_socket(req->conn);
    struct server_conn *conn = sock->on_close.data;

    if (conn->linger_fd < 0)
        conn->linger_fd = fcntl(h2o_socket_get_fd(sock), F_DUPFD_CLOEXEC, 0);
}

#include "cluster/forward.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"

enum { BACKLOG = 512, PIECE = 16 * 1024 };

struct forward {
    struct loop *loop;
    char address[16];
    int port;
    uv_tcp_t *listener; /* NULL while nobody could be served */
    struct forward_target *targets;
    size_t count;
    size_t next;
    struct link *links;
};

/* One direction of a connection: what is read from one side is written to the other before more is
 * read. */
struct half {
    struct link *link;
    uv_stream_t *from, *to;
    uv_write_t write;
    uv_shutdown_t shutdown;
    bool ended;
    char piece[PIECE];
};

struct link {
    struct forward *forward;
    struct link *next, *prev;
    uv_tcp_t client, server;
    uv_connect_t connect;
    size_t at; /* the target to try next; each connection goes round on its own */
    size_t tries;
    int handles; /* not closed yet */
    bool closing;
    bool server_open;
    struct half up, down;
};

static bool link_connect(struct link *link);

static void on_link_closed(uv_handle_t *handle)
{
    struct link *link = handle->data;
    if (--link->handles > 0)
        return;
    if (link->prev)
        link->prev->next = link->next;
    else if (link->forward)
        link->forward->links = link->next;
    if (link->next)
        link->next->prev = link->prev;
    free(link);
}

static void link_close(struct link *link, bool reset)
{
    if (link->closing)
        return;
    link->closing = true;
    if (!reset || uv_tcp_close_reset(&link->client, on_link_closed) != 0)
        uv_close((uv_handle_t *)&link->client, on_link_closed);
    if (link->server_open && (!reset || uv_tcp_close_reset(&link->server, on_link_closed) != 0))
        uv_close((uv_handle_t *)&link->server, on_link_closed);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct link *link = handle->data;
    struct half *half = handle == (uv_handle_t *)&link->client ? &link->up : &link->down;
    (void)size;
    *buf = uv_buf_init(half->piece, PIECE);
}

static void on_shutdown(uv_shutdown_t *req, int status)
{
    struct half *half = req->data;
    struct link *link = half->link;
    if (status != UV_ECANCELED && link->up.ended && link->down.ended)
        link_close(link, false);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf);

static void on_written(uv_write_t *req, int status)
{
    struct half *half = req->data;
    if (status == UV_ECANCELED || half->link->closing)
        return;
    if (status < 0 || uv_read_start(half->from, on_alloc, on_read) != 0)
        link_close(half->link, true);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct link *link = stream->data;
    struct half *half = stream == (uv_stream_t *)&link->client ? &link->up : &link->down;

    if (len == 0)
        return;
    uv_read_stop(stream);
    if (len == UV_EOF) {
        half->ended = true;
        half->shutdown.data = half;
        if (uv_shutdown(&half->shutdown, half->to, on_shutdown) != 0)
            link_close(link, false);
        return;
    }
    uv_buf_t out = uv_buf_init(buf->base, len > 0 ? (unsigned)len : 0);
    half->write.data = half;
    if (len < 0 || uv_write(&half->write, half->to, &out, 1, on_written) != 0)
        link_close(link, true);
}

static void on_server_closed_for_retry(uv_handle_t *handle)
{
    struct link *link = handle->data;
    if (link->closing) {
        on_link_closed(handle);
        return;
    }
    link->handles--;
    if (!link_connect(link))
        link_close(link, true);
}

static void on_connected(uv_connect_t *req, int status)
{
    struct link *link = req->data;
    if (link->closing)
        return;
    if (status < 0) { /* a socket cannot be used twice: close it, then try the next target */
        link->server_open = false;
        uv_close((uv_handle_t *)&link->server, on_server_closed_for_retry);
        return;
    }
    uv_tcp_nodelay(&link->server, 1);
    if (uv_read_start(link->up.from, on_alloc, on_read) != 0 ||
        uv_read_start(link->down.from, on_alloc, on_read) != 0)
        link_close(link, true);
}

/* False when no target is left to try. */
static bool link_connect(struct link *link)
{
    struct forward *forward = link->forward;
    struct sockaddr_in addr;

    if (!forward || link->tries >= forward->count)
        return false;
    link->tries++;
    const struct forward_target *target = &forward->targets[link->at++ % forward->count];
    if (uv_ip4_addr(target->address, target->port, &addr) != 0)
        return false;
    uv_tcp_init(loop_uv(forward->loop), &link->server);
    link->server.data = link;
    link->server_open = true;
    link->handles++;
    link->connect.data = link;
    return uv_tcp_connect(&link->connect, &link->server, (const struct sockaddr *)&addr,
                          on_connected) == 0;
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct forward *forward = stream->data;
    if (status < 0)
        return;
    struct link *link = heap_alloc(sizeof(*link));
    *link = (struct link){
        .forward = forward, .next = forward->links, .at = forward->next++, .handles = 1};
    uv_tcp_init(loop_uv(forward->loop), &link->client);
    link->client.data = link;
    link->up.link = link->down.link = link;
    link->up.from = link->down.to = (uv_stream_t *)&link->client;
    link->up.to = link->down.from = (uv_stream_t *)&link->server;
    if (forward->links)
        forward->links->prev = link;
    forward->links = link;
    if (uv_accept(stream, (uv_stream_t *)&link->client) != 0) {
        link_close(link, false);
        return;
    }
    uv_tcp_nodelay(&link->client, 1);
    if (!link_connect(link))
        link_close(link, true);
}

static void on_listener_closed(uv_handle_t *handle)
{
    free(handle);
}

static void stop_listening(struct forward *forward)
{
    if (forward->listener)
        uv_close((uv_handle_t *)forward->listener, on_listener_closed);
    forward->listener = NULL;
}

static enum err start_listening(struct forward *forward, struct errinfo *ei)
{
    struct sockaddr_in addr;
    if (uv_ip4_addr(forward->address, forward->port, &addr) != 0)
        return err_set(ei, ERR_INVALID, "%s is no IPv4 address", forward->address);
    forward->listener = heap_alloc(sizeof(*forward->listener));
    uv_tcp_init(loop_uv(forward->loop), forward->listener);
    forward->listener->data = forward;
    int rc = uv_tcp_bind(forward->listener, (const struct sockaddr *)&addr, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)forward->listener, BACKLOG, on_connection);
    if (rc == 0)
        return ERR_OK;
    stop_listening(forward);
    if (rc == UV_EACCES)
        return err_set(ei, ERR_DENIED,
                       "cannot listen on %s:%d: ports below 1024 need root, or the sysctl "
                       "net.ipv4.ip_unprivileged_port_start lowered",
                       forward->address, forward->port);
    return err_set(ei, ERR_CONFLICT, "cannot listen on %s:%d: %s", forward->address, forward->port,
                   uv_strerror(rc));
}

struct forward *forward_new(struct loop *loop, const char *address, int port)
{
    struct forward *forward = heap_alloc(sizeof(*forward));
    *forward = (struct forward){.loop = loop, .port = port};
    snprintf(forward->address, sizeof(forward->address), "%s", address);
    return forward;
}

void forward_free(struct forward *forward)
{
    if (!forward)
        return;
    stop_listening(forward);
    for (struct link *link = forward->links, *next; link; link = next) {
        next = link->next;
        link->forward = NULL;
        link->next = link->prev = NULL;
        link_close(link, true);
    }
    free(forward->targets);
    free(forward);
}

enum err forward_set(struct forward *forward, const struct forward_target *targets, size_t count,
                     struct errinfo *ei)
{
    free(forward->targets);
    forward->targets = heap_array(count ? count : 1, sizeof(*targets));
    if (count)
        memcpy(forward->targets, targets, count * sizeof(*targets));
    forward->count = count;
    if (count == 0)
        stop_listening(forward);
    else if (!forward->listener)
        return start_listening(forward, ei);
    return ERR_OK;
}

int forward_port(const struct forward *forward)
{
    struct sockaddr_in addr;
    int len = sizeof(addr);
    if (!forward->listener ||
        uv_tcp_getsockname(forward->listener, (struct sockaddr *)&addr, &len) != 0)
        return 0;
    return ntohs(addr.sin_port);
}

/*
 * Connections: their states, the limits on them, and how they are closed.
 *
 * Any client that reaches the port can open connections and stay silent, or begin requests and
 * never end them. Nothing distinguishes such clients from slow ones, so there is one rule: the
 * oldest connection is evicted, first among those that have not sent a whole request, then among
 * those that do not read their answer. A client whose body has arrived in part gets 503, others are
 * cut off. A request that is being answered is never evicted, but fewer of these are allowed than
 * connections: the rest is for probes, which are answered on any connection. All of this is counted
 * per client address (base/shares.h), and connections of the address with the most go first.
 *
 * Bytes that a client has sent are counted after each poll of the loop; the size of the kernel's
 * buffer bounds what one poll can read from a connection. An evicted connection is shut down, or
 * reset if it has sent part of a head, so that h2o reads an error before anything else that
 * arrived.
 *
 * h2o does not read while a request is being answered. If that takes longer, an epoll instance of
 * our own reports clients that close their side meanwhile.
 */
#define _GNU_SOURCE /* memmem() */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "net/server/server_internal.h"

enum {
    MAX_HEADERS = 16 * 1024,
    PROBE_CONNS = 32,
    PROBE_SHARE = 4, /* with few connections, one in four is for probes */
    /* Iterations of the loop after which the first bytes of a client have been read. */
    UNREAD_ITERATIONS = 2,
    MAX_ACCEPTS = 256, /* clients accepted in an iteration */
    FRESH_MS = 25,     /* grace between connect() and the first bytes */
    MAX_EVICTED = 128, /* connections that are shut down and not yet closed */
    WATCH_MS = 20,     /* most requests are answered sooner */
    MUCH_HELD = 256 * 1024,
    TRIM_MS = 2000,
    LINGER_MS = 2000,
    LINGER_BYTES = 64 * 1024 * 1024,
    MAX_LINGERS = 64
};

void server_conn_set_state(struct server_conn *conn, enum conn_state state)
{
    struct http_server *server = conn->server;

    if (conn->state == state)
        return;
    if (conn->state == CONN_READING)
        TAILQ_REMOVE(&server->readers, conn, age_link);
    else if (conn->state == CONN_SENDING)
        TAILQ_REMOVE(&server->senders, conn, age_link);
    else if (conn->state == CONN_BUSY)
        shares_give_back(&server->busy_shares, conn->address, 1);
    conn->state = state;
    conn->headers_seen = false;
    if (state == CONN_READING)
        TAILQ_INSERT_TAIL(&server->readers, conn, age_link);
    else if (state == CONN_SENDING)
        TAILQ_INSERT_TAIL(&server->senders, conn, age_link);
    else if (state == CONN_BUSY)
        shares_take(&server->busy_shares, conn->address, 1);
}

/*
 * libuv reports a read that found nothing as one of 0 bytes, as after each that filled the buffer
 * exactly. Under TLS, h2o 2.2 takes that for an I/O error and closes the connection
 * (lib/common/socket/uv-binding.c.h, on_read_ssl()).
 */
static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf);

static void guard_reads(struct server_conn *conn)
{
    uv_stream_t *stream = &conn->uv.stream;

    if (!conn->tls || !stream->read_cb || stream->read_cb == on_read)
        return;
    conn->h2o_read = stream->read_cb;
    stream->read_cb = on_read;
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct server_conn *conn = (struct server_conn *)stream;

    if (len == 0)
        return;
    conn->h2o_read(stream, len, buf);
    guard_reads(conn); /* libuv may read again before the next iteration */
}

void server_guard_reads(struct http_server *server)
{
    struct server_conn *conn;

    if (!server->accept.ssl_ctx)
        return;
    TAILQ_FOREACH(conn, &server->readers, age_link)
    {
        guard_reads(conn);
    }
}

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
        server_conn_set_state(conn, CONN_READING);
    if (conn->server->stopping)
        server_conn_shut_read(conn);
}

void server_conn_leave(struct server_conn *conn)
{
    server_conn_set_state(conn, CONN_LEAVING);
    server_conn_unwatch(conn);
    if (!conn->is_counted)
        return;
    conn->is_counted = false;
    shares_give_back(&conn->server->conn_shares, conn->address, 1);
    shares_give_back(&conn->server->byte_shares, conn->address, conn->held);
    conn->held = 0;
}

/*
 * Answers a request whose body has arrived in part, bypassing h2o, which answers no request before
 * it is whole; under TLS only h2o could write. The client can continue sending for a while, so that
 * no reset overtakes the answer. Returns false if there is no such request.
 */
static bool refuse_rest(struct server_conn *conn, int fd)
{
    static const char text[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        "Content-Length: 74\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
        "{\"error\":\"others need the room of this request, which has not come whole\"}";
    const h2o_buffer_t *input = conn->sock->input;

    if (conn->tls || conn->state != CONN_READING || h2o_socket_is_writing(conn->sock) ||
        input->size == 0 || !memmem(input->bytes, input->size, "\r\n\r\n", 4))
        return false;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return false;
    (void)send(fd, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    server_linger_start(conn->server, copy, LINGER_UNREAD);
    return true;
}

/* Cuts the client off; its bytes and slot are free at once. h2o closes the connection in the
 * next iteration of the loop. */
static void server_conn_evict(struct server_conn *conn, const char *why)
{
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    int fd = h2o_socket_get_fd(conn->sock);
    bool refused = refuse_rest(conn, fd);

    server_metrics_evicted(conn->server, why);
    server_conn_leave(conn);
    if (conn->request) {
        server_request_abort(conn->request);
        return;
    }
    if (refused) {
        shutdown(fd, SHUT_RD);
        (void)recv(fd, NULL, INT_MAX, MSG_DONTWAIT | MSG_TRUNC); /* so that h2o need not parse
                                                                  * that first */
    } else if (conn->sock->input->size == 0 || connect(fd, &nowhere, sizeof(nowhere)) != 0) {
        shutdown(fd, SHUT_RDWR);
    }
}

/* The oldest connection in a list that holds at least `least` bytes; of one address, or of any
 * if NULL. */
static struct server_conn *oldest(struct server_conns *conns, size_t least,
                                  const struct server_conn *but, const char *address)
{
    struct server_conn *conn;

    TAILQ_FOREACH(conn, conns, age_link)
    {
        if (conn != but && conn->held >= least && (!address || strcmp(conn->address, address) == 0))
            return conn;
    }
    return NULL;
}

/* The connection to evict: of the address that has most of the scarce resource, else any, unless
 * that address is the one that needs room. NULL if none may be evicted. */
static struct server_conn *eviction_candidate(struct http_server *server, size_t least,
                                              const struct server_conn *but, const char *largest)
{
    struct server_conn *conn = largest ? oldest(&server->readers, least, but, largest) : NULL;

    if (!conn && largest)
        conn = oldest(&server->senders, least, but, largest);
    if (conn || (largest && but && strcmp(largest, but->address) == 0))
        return conn;
    conn = oldest(&server->readers, least, but, NULL);
    return conn ? conn : oldest(&server->senders, least, but, NULL);
}

static void on_wakeup(void *arg)
{
    struct http_server *server = arg;

    server->wakeup = NULL; /* its only purpose was to end the poll */
}

/* Rest of the grace period, 0 if it is over. */
static int64_t grace_ms(const struct server_conn *conn)
{
    int64_t rest = conn->accepted_ms + FRESH_MS - clock_monotonic_ms();

    return rest > 0 ? rest : 0;
}

static void wake_in(struct http_server *server, int64_t ms)
{
    if (!server->wakeup)
        server->wakeup = timer_start(server->loop, ms, 0, on_wakeup, server);
}

/* Connections of the same burst are not evicted before they could send a request: the next one
 * waits a moment. */
bool server_limits_make_room(struct http_server *server)
{
    if (server->conn_count >= server->max_connections + MAX_EVICTED)
        return false; /* evicted connections still have to be closed */
    if (server->accepts >= MAX_ACCEPTS) {
        wake_in(server, 0);
        return false;
    }
    server->accepts++;
    const char *largest = shares_yields(&server->conn_shares, "", 1);
    if (!largest)
        return true;
    struct server_conn *conn = eviction_candidate(server, 0, NULL, largest);
    bool reads = conn && conn->state == CONN_READING;
    int64_t grace = reads ? grace_ms(conn) : 0;
    bool fresh =
        reads && (grace > 0 || server->iteration - conn->accepted_iteration < UNREAD_ITERATIONS);
    if (fresh)
        wake_in(server, grace);
    else if (conn)
        server_conn_evict(conn, "places");
    return server->conn_shares.taken < server->conn_shares.most;
}

/* Counts whole buffers: h2o frees a buffer only when all of it is used, and never shrinks it. */
static size_t held_by(const struct server_conn *conn)
{
    const h2o_buffer_t *input = conn->sock->input;
    const struct http_conn_request *r = conn->request;
    size_t held = input->bytes ? input->capacity : 0;

    return held + (r ? r->body_len + r->reply_len + r->waiting.cap + r->flying.cap : 0);
}

static void trim_later(struct http_server *server);

/* malloc() keeps free memory below blocks in use: without this, the resident size would stay high
 * after an attack. */
static void on_trim(void *arg)
{
    struct http_server *server = arg;

    server->trim = NULL;
    malloc_trim(0);
    trim_later(server);
}

static void trim_later(struct http_server *server)
{
    if (server->byte_shares.taken > MUCH_HELD && !server->trim && !server->stopping)
        server->trim = timer_start(server->loop, TRIM_MS, 0, on_trim, server);
}

bool server_conn_account(struct server_conn *conn)
{
    struct http_server *server = conn->server;
    size_t held = conn->sock && conn->is_counted ? held_by(conn) : 0;

    if (held == conn->held && server->byte_shares.taken <= server->byte_shares.most)
        return true;
    shares_take(&server->byte_shares, conn->address, held);
    shares_give_back(&server->byte_shares, conn->address, conn->held);
    conn->held = held;
    trim_later(server);
    while (server->byte_shares.taken > server->byte_shares.most) {
        const char *largest = shares_yields(&server->byte_shares, conn->address, 0);
        struct server_conn *other = eviction_candidate(server, 1, conn, largest);
        if (!other)
            return false;
        server_conn_evict(other, "memory");
    }
    return true;
}

bool server_conn_exceeds_share(const struct server_conn *conn)
{
    enum { PART = 3 };
    const struct shares *busy = &conn->server->busy_shares;

    return *conn->address && shares_of(busy, conn->address) / PART > busy->most - busy->taken;
}

/*
 * h2o accepts 400 KiB of headers and scans all of them at each read. Returns false if a connection
 * that waits for the rest of its request has sent too many.
 */
static bool check_headers(struct server_conn *conn)
{
    const h2o_buffer_t *input = conn->sock->input;
    size_t len = input->size < MAX_HEADERS ? input->size : MAX_HEADERS;

    if (conn->headers_seen || input->size == 0)
        return true;
    conn->headers_seen =
        memmem(input->bytes, len, "\r\n\r\n", 4) || memmem(input->bytes, len, "\n\n", 2);
    return conn->headers_seen || input->size < MAX_HEADERS;
}

void server_conn_enter(struct server_conn *conn)
{
    shares_take(&conn->server->conn_shares, conn->address, 1);
    conn->is_counted = true;
    conn->accepted_iteration = conn->server->iteration;
    conn->accepted_ms = clock_monotonic_ms();
    server_conn_set_state(conn, CONN_READING);
}

void server_limits_check(struct http_server *server)
{
    struct server_conn *conn;

    TAILQ_FOREACH(conn, &server->conns, link)
    {
        if (conn->state != CONN_READING)
            continue;
        if (!server_conn_account(conn) || !check_headers(conn))
            server_conn_evict(conn, "memory");
    }
}

static void on_hang_up(uv_poll_t *poll, int status, int events)
{
    enum { AT_ONCE = 256 };
    struct http_server *server = poll->data;
    struct epoll_event event;

    (void)status;
    (void)events;
    for (int i = 0; i < AT_ONCE && epoll_wait(server->hang_up_fd, &event, 1, 0) == 1; i++) {
        struct server_conn *conn = event.data.ptr;
        server_conn_unwatch(conn);
        if (conn->request && !conn->read_shut)
            server_request_abort(conn->request);
    }
}

/* Only watched connections keep the loop alive. */
static void watch(struct server_conn *conn)
{
    struct http_server *server = conn->server;
    struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = conn};

    if (!conn->sock || conn->read_shut || conn->is_watched)
        return;
    if (epoll_ctl(server->hang_up_fd, EPOLL_CTL_ADD, h2o_socket_get_fd(conn->sock), &event) != 0)
        return;
    conn->is_watched = true;
    if (server->watched_count++ == 0)
        uv_ref((uv_handle_t *)server->hang_up);
}

static void on_watch(void *arg)
{
    struct http_server *server = arg;
    struct http_conn_request *r;

    server->watch = NULL;
    TAILQ_FOREACH(r, &server->requests, link)
    {
        if (r->state == REQUEST_PENDING || r->state == REQUEST_STREAMING)
            watch(r->conn);
    }
}

void server_watch_soon(struct http_server *server)
{
    if (!server->watch)
        server->watch = timer_start(server->loop, WATCH_MS, 0, on_watch, server);
}

void server_conn_unwatch(struct server_conn *conn)
{
    struct http_server *server = conn->server;

    if (!conn->is_watched)
        return;
    (void)epoll_ctl(server->hang_up_fd, EPOLL_CTL_DEL, h2o_socket_get_fd(conn->sock), NULL);
    conn->is_watched = false;
    if (--server->watched_count == 0)
        uv_unref((uv_handle_t *)server->hang_up);
}

static void on_watch_closed(uv_handle_t *handle)
{
    free(handle);
}

enum err server_watch_start(struct http_server *server, struct errinfo *ei)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    server->hang_up = heap_alloc(sizeof(*server->hang_up));
    server->hang_up->data = server;
    server->hang_up_fd = fd;
    int rc = fd < 0 ? -errno : uv_poll_init(loop_uv(server->loop), server->hang_up, fd);
    if (rc == 0)
        rc = uv_poll_start(server->hang_up, UV_READABLE, on_hang_up);
    if (rc == 0) {
        uv_unref((uv_handle_t *)server->hang_up);
        return ERR_OK;
    }
    free(server->hang_up);
    server->hang_up = NULL;
    if (fd >= 0)
        close(fd);
    return err_set(ei, ERR_RETRY, "cannot watch connections: %s", uv_strerror(rc));
}

void server_watch_stop(struct http_server *server)
{
    if (!server->hang_up)
        return;
    timer_stop(server->watch);
    server->watch = NULL;
    uv_close((uv_handle_t *)server->hang_up, on_watch_closed);
    close(server->hang_up_fd);
    server->hang_up = NULL;
}

/*
 * Closing a socket that has unread bytes resets the connection, and the client may lose the reply
 * that gives the reason. So the rest of a rejected request is read and discarded for a while.
 */
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

void server_linger_start(struct http_server *server, int fd, enum linger_kind kind)
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
    if (kind == LINGER_UNREAD)
        return; /* the socket's buffer takes further bytes */
    shutdown(fd, SHUT_WR);
    uv_poll_start(&linger->poll, UV_READABLE, on_readable);
}

void server_linger_end_all(struct http_server *server)
{
    while (!TAILQ_EMPTY(&server->lingers))
        linger_end(TAILQ_FIRST(&server->lingers));
}

void server_linger_after(h2o_req_t *req)
{
    h2o_socket_t *sock = req->conn->callbacks->get_socket(req->conn);
    struct server_conn *conn = sock->on_close.data;

    if (conn->linger_fd < 0)
        conn->linger_fd = fcntl(h2o_socket_get_fd(sock), F_DUPFD_CLOEXEC, 0);
}

void server_limits_start(struct http_server *server, size_t max_held)
{
    int kept = server->max_connections / PROBE_SHARE;

    TAILQ_INIT(&server->readers);
    TAILQ_INIT(&server->senders);
    kept = kept < PROBE_CONNS ? kept : PROBE_CONNS;
    shares_init(&server->conn_shares, BUDGET_CONNECTIONS, (size_t)server->max_connections);
    shares_init(&server->busy_shares, BUDGET_REQUESTS, (size_t)(server->max_connections - kept));
    shares_init(&server->byte_shares, BUDGET_BODIES, max_held);
}

void server_limits_end(struct http_server *server)
{
    shares_fini(&server->conn_shares);
    shares_fini(&server->busy_shares);
    shares_fini(&server->byte_shares);
}

/* A pool of connections: one curl multi handle on the event loop. */
#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "net/client_internal.h"

/* Transfers that curl begins at a time: each compares itself with all connections. */
enum { MAX_NEW = 8 };

struct client_pool {
    CURLM *multi;
    struct loop *loop;
    uv_timer_t *timer;  /* curl's timer; keeps the loop alive only while there are transfers */
    struct timer *rest; /* serves what this turn of the loop has no time for */
    TAILQ_HEAD(, pool_socket) waiting; /* for `rest` */
    client_pool_done_fn on_done;
    void *arg;
    int transfers, new_ones; /* new_ones: added since curl began the last */
    int depth; /* calls that use the pool; client_pool_free() takes effect when the last one
                * returns */
    bool in_curl;
    bool expired;    /* curl's timer, left for `rest` */
    bool unreported; /* completed transfers, likewise */
    bool freed;
};

struct pool_socket {
    uv_poll_t poll;
    struct client_pool *pool;
    curl_socket_t fd;
    TAILQ_ENTRY(pool_socket) link;
    int flags; /* events to report to curl; 0 if not in `waiting` */
};

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void free_socket(uv_handle_t *handle)
{
    free(handle->data);
}

static void destroy(struct client_pool *pool)
{
    pool->in_curl = true;
    curl_multi_cleanup(pool->multi);
    uv_close((uv_handle_t *)pool->timer, free_handle);
    timer_stop(pool->rest);
    free(pool);
}

static void on_rest(void *arg);

static void want_rest(struct client_pool *pool)
{
    if (!pool->rest)
        pool->rest = timer_start(pool->loop, 0, 0, on_rest, pool);
}

static void report(struct client_pool *pool)
{
    CURLMsg *msg;
    int left;

    pool->unreported = false;
    while (!pool->freed) {
        if (!(msg = curl_multi_info_read(pool->multi, &left)))
            return;
        if (msg->msg != CURLMSG_DONE)
            continue;
        /* The message is freed with the handle, which on_done may remove. */
        CURL *easy = msg->easy_handle;
        CURLcode code = msg->data.result;
        pool->on_done(pool->arg, easy, code);
        if (!pool->freed && !loop_has_time(pool->loop)) {
            pool->unreported = true;
            want_rest(pool);
            return;
        }
    }
}

static void leave(struct client_pool *pool)
{
    if (--pool->depth == 0 && pool->freed)
        destroy(pool);
}

/* Lets curl handle one socket (or its timers), and reports completed transfers. */
static void run_curl(struct client_pool *pool, curl_socket_t fd, int events)
{
    int running;

    pool->depth++;
    pool->in_curl = true;
    if (fd == CURL_SOCKET_TIMEOUT)
        pool->new_ones = 0;
    curl_multi_socket_action(pool->multi, fd, events, &running);
    pool->in_curl = false;
    report(pool);
    leave(pool);
}

static void undefer(struct pool_socket *socket)
{
    if (socket->flags)
        TAILQ_REMOVE(&socket->pool->waiting, socket, link);
    socket->flags = 0;
}

static void defer_socket(struct pool_socket *socket, int flags)
{
    if (!socket->flags)
        TAILQ_INSERT_TAIL(&socket->pool->waiting, socket, link);
    socket->flags |= flags;
    want_rest(socket->pool);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct pool_socket *socket = poll->data;
    int flags = 0;

    /* Errors are left to curl to find: with CURL_CSELECT_ERR it would not retry on a new connection
     * after a reset of a kept one. */
    if (status < 0)
        flags = CURL_CSELECT_IN | CURL_CSELECT_OUT;
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    if (loop_may_work(socket->pool->loop))
        run_curl(socket->pool, socket->fd, flags);
    else if (flags)
        defer_socket(socket, flags);
}

/* Does one thing that had to wait. Returns false if there was none. */
static bool serve_waiting(struct client_pool *pool)
{
    struct pool_socket *socket = TAILQ_FIRST(&pool->waiting);

    if (pool->unreported) {
        report(pool);
    } else if (pool->expired) {
        pool->expired = false;
        run_curl(pool, CURL_SOCKET_TIMEOUT, 0);
    } else if (socket) {
        int flags = socket->flags;
        undefer(socket);
        run_curl(pool, socket->fd, flags);
    } else {
        return false;
    }
    return true;
}

static void on_rest(void *arg)
{
    struct client_pool *pool = arg;

    pool->rest = NULL;
    pool->depth++;
    while (!pool->freed && serve_waiting(pool))
        if (!loop_has_time(pool->loop)) {
            want_rest(pool);
            break;
        }
    leave(pool);
}

static void on_timer(uv_timer_t *timer)
{
    struct client_pool *pool = timer->data;

    pool->expired = true;
    want_rest(pool);
}

static int set_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct client_pool *pool = arg;

    (void)multi;
    pool->expired = timeout_ms == 0;
    if (pool->expired)
        want_rest(pool);
    if (timeout_ms <= 0)
        return uv_timer_stop(pool->timer);
    uv_update_time(loop_uv(pool->loop));
    return uv_timer_start(pool->timer, on_timer, (uint64_t)timeout_ms, 0);
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct client_pool *pool = arg;
    struct pool_socket *socket = socket_arg;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (socket) {
            curl_multi_assign(pool->multi, fd, NULL);
            undefer(socket);
            uv_close((uv_handle_t *)&socket->poll, free_socket);
        }
        return 0;
    }
    if (!socket) {
        socket = heap_alloc(sizeof(*socket));
        *socket = (struct pool_socket){.pool = pool, .fd = fd};
        if (uv_poll_init_socket(loop_uv(pool->loop), &socket->poll, fd) != 0) {
            free(socket);
            return -1;
        }
        socket->poll.data = socket;
        curl_multi_assign(pool->multi, fd, socket);
    }
    if (what & CURL_POLL_IN)
        events |= UV_READABLE;
    if (what & CURL_POLL_OUT)
        events |= UV_WRITABLE;
    return uv_poll_start(&socket->poll, events, on_poll);
}

struct client_pool *client_pool_new(struct loop *loop, long max_per_host, long max_total,
                                    long max_idle, client_pool_done_fn on_done, void *arg)
{
    struct client_pool *pool = heap_alloc(sizeof(*pool));

    *pool = (struct client_pool){
        .multi = curl_multi_init(),
        .loop = loop,
        .timer = heap_alloc(sizeof(*pool->timer)),
        .on_done = on_done,
        .arg = arg,
    };
    assert(pool->multi);
    uv_timer_init(loop_uv(loop), pool->timer);
    pool->timer->data = pool;
    uv_unref((uv_handle_t *)pool->timer);
    TAILQ_INIT(&pool->waiting);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_MAX_HOST_CONNECTIONS, max_per_host);
    curl_multi_setopt(pool->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, max_total);
    curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, max_idle);
    return pool;
}

void client_pool_free(struct client_pool *pool)
{
    if (!pool)
        return;
    assert(pool->transfers == 0);
    pool->freed = true;
    if (pool->depth == 0)
        destroy(pool);
}

void client_pool_add(struct client_pool *pool, CURL *easy)
{
    assert(!pool->in_curl && !pool->freed);
    pool->new_ones++;
    if (pool->transfers++ == 0)
        uv_ref((uv_handle_t *)pool->timer);
    CURLMcode code = curl_multi_add_handle(pool->multi, easy);
    assert(code == CURLM_OK);
}

void client_pool_remove(struct client_pool *pool, CURL *easy)
{
    assert(!pool->in_curl && !pool->freed);
    curl_multi_remove_handle(pool->multi, easy);
    assert(pool->transfers > 0);
    if (--pool->transfers == 0)
        uv_unref((uv_handle_t *)pool->timer);
}

bool client_pool_busy(const struct client_pool *pool)
{
    return pool->in_curl;
}

bool client_pool_takes(const struct client_pool *pool)
{
    return !pool->in_curl && pool->new_ones < MAX_NEW;
}

#include "net/client_engine.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

struct engine {
    CURLM *multi;
    uv_loop_t *uv;
    uv_timer_t *timer; /* curl's own clock; keeps the loop alive only while there are transfers */
    engine_done_fn on_done;
    void *arg;
    int transfers;
    int depth; /* client_engine_free() waits until the last frame that uses the engine has returned
                */
    bool in_curl;
    bool freed;
};

struct engine_socket {
    uv_poll_t poll;
    struct engine *engine;
    curl_socket_t fd;
};

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void free_socket(uv_handle_t *handle)
{
    free(handle->data);
}

static void destroy(struct engine *engine)
{
    engine->in_curl = true;
    curl_multi_cleanup(engine->multi);
    uv_close((uv_handle_t *)engine->timer, free_handle);
    free(engine);
}

static void report(struct engine *engine)
{
    CURLMsg *msg;
    int left;

    while (!engine->freed && (msg = curl_multi_info_read(engine->multi, &left))) {
        if (msg->msg != CURLMSG_DONE)
            continue;
        /* The message goes with the handle, which on_done may remove. */
        CURL *easy = msg->easy_handle;
        CURLcode code = msg->data.result;
        engine->on_done(engine->arg, easy, code);
    }
}

/* Lets curl work on one socket (or its timers) and reports what came to an end. */
static void act(struct engine *engine, curl_socket_t fd, int events)
{
    int running;

    engine->depth++;
    engine->in_curl = true;
    curl_multi_socket_action(engine->multi, fd, events, &running);
    engine->in_curl = false;
    report(engine);
    if (--engine->depth == 0 && engine->freed)
        destroy(engine);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct engine_socket *socket = poll->data;
    int flags = 0;

    /* curl finds out itself what is wrong. Told that there is an error, it would not try again on a
     * new connection where a kept one was reset. */
    if (status < 0)
        flags = CURL_CSELECT_IN | CURL_CSELECT_OUT;
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    act(socket->engine, socket->fd, flags);
}

static void on_timer(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int set_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct engine *engine = arg;

    (void)multi;
    if (timeout_ms < 0)
        return uv_timer_stop(engine->timer);
    uv_update_time(engine->uv);
    return uv_timer_start(engine->timer, on_timer, (uint64_t)timeout_ms, 0);
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct engine *engine = arg;
    struct engine_socket *socket = socket_arg;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (socket) {
            curl_multi_assign(engine->multi, fd, NULL);
            uv_close((uv_handle_t *)&socket->poll, free_socket);
        }
        return 0;
    }
    if (!socket) {
        socket = heap_alloc(sizeof(*socket));
        *socket = (struct engine_socket){.engine = engine, .fd = fd};
        if (uv_poll_init_socket(engine->uv, &socket->poll, fd) != 0) {
            free(socket);
            return -1;
        }
        socket->poll.data = socket;
        curl_multi_assign(engine->multi, fd, socket);
    }
    if (what & CURL_POLL_IN)
        events |= UV_READABLE;
    if (what & CURL_POLL_OUT)
        events |= UV_WRITABLE;
    return uv_poll_start(&socket->poll, events, on_poll);
}

struct engine *client_engine_new(struct loop *loop, long max_per_host, long max_total,
                                 long max_idle, engine_done_fn on_done, void *arg)
{
    struct engine *engine = heap_alloc(sizeof(*engine));

    *engine = (struct engine){
        .multi = curl_multi_init(),
        .uv = loop_uv(loop),
        .timer = heap_alloc(sizeof(*engine->timer)),
        .on_done = on_done,
        .arg = arg,
    };
    assert(engine->multi);
    uv_timer_init(engine->uv, engine->timer);
    engine->timer->data = engine;
    uv_unref((uv_handle_t *)engine->timer);
    curl_multi_setopt(engine->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(engine->multi, CURLMOPT_SOCKETDATA, engine);
    curl_multi_setopt(engine->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(engine->multi, CURLMOPT_TIMERDATA, engine);
    curl_multi_setopt(engine->multi, CURLMOPT_MAX_HOST_CONNECTIONS, max_per_host);
    curl_multi_setopt(engine->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, max_total);
    curl_multi_setopt(engine->multi, CURLMOPT_MAXCONNECTS, max_idle);
    return engine;
}

void client_engine_free(struct engine *engine)
{
    if (!engine)
        return;
    assert(engine->transfers == 0);
    engine->freed = true;
    if (engine->depth == 0)
        destroy(engine);
}

void engine_add(struct engine *engine, CURL *easy)
{
    assert(!engine->in_curl && !engine->freed);
    if (engine->transfers++ == 0)
        uv_ref((uv_handle_t *)engine->timer);
    CURLMcode code = curl_multi_add_handle(engine->multi, easy);
    assert(code == CURLM_OK);
}

void engine_remove(struct engine *engine, CURL *easy)
{
    assert(!engine->in_curl && !engine->freed);
    curl_multi_remove_handle(engine->multi, easy);
    assert(engine->transfers > 0);
    if (--engine->transfers == 0)
        uv_unref((uv_handle_t *)engine->timer);
}

bool engine_busy(const struct engine *engine)
{
    return engine->in_curl;
}

#include "net/client_engine.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/arena.h"

/* What answers may take of a turn. One that takes longer by itself is not interrupted. */
enum { TURN_NS = 5 * 1000 * 1000 };

struct engine {
    CURLM *multi;
    uv_loop_t *uv;
    uv_timer_t *timer; /* curl's own clock; keeps the loop alive only while there are transfers */
    uv_prepare_t *turn;
    uv_idle_t *idle;                     /* keeps the loop from waiting while somebody waits */
    TAILQ_HEAD(, engine_socket) waiting; /* for the next turn */
    uint64_t began_ns, spent_ns;         /* of the present act; of this turn by those before */
    engine_done_fn on_done;
    void *arg;
    int transfers;
    int depth; /* client_engine_free() waits until the last frame that uses the engine has returned
                */
    bool in_curl;
    bool unreported; /* curl has told of ends that were not reported for want of time */
    bool freed;
};

struct engine_socket {
    uv_poll_t poll;
    struct engine *engine;
    curl_socket_t fd;
    TAILQ_ENTRY(engine_socket) link;
    int flags; /* what curl is to be told about it; 0: it does not wait */
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
    uv_close((uv_handle_t *)engine->turn, free_handle);
    uv_close((uv_handle_t *)engine->idle, free_handle);
    free(engine);
}

static bool has_time(const struct engine *engine)
{
    uint64_t now = engine->depth > 0 ? uv_hrtime() - engine->began_ns : 0;

    return engine->spent_ns + now < TURN_NS;
}

/* Only keeps the loop from waiting. */
static void on_idle(uv_idle_t *idle)
{
    (void)idle;
}

static void want_turn(struct engine *engine)
{
    uv_idle_start(engine->idle, on_idle);
}

static void report(struct engine *engine)
{
    CURLMsg *msg;
    int left;

    engine->unreported = false;
    while (!engine->freed) {
        if (!has_time(engine)) {
            engine->unreported = true;
            want_turn(engine);
            return;
        }
        if (!(msg = curl_multi_info_read(engine->multi, &left)))
            return;
        if (msg->msg != CURLMSG_DONE)
            continue;
        /* The message goes with the handle, which on_done may remove. */
        CURL *easy = msg->easy_handle;
        CURLcode code = msg->data.result;
        engine->on_done(engine->arg, easy, code);
    }
}

static void enter(struct engine *engine)
{
    if (engine->depth++ == 0)
        engine->began_ns = uv_hrtime();
}

static void leave(struct engine *engine)
{
    if (--engine->depth > 0)
        return;
    engine->spent_ns += uv_hrtime() - engine->began_ns;
    if (engine->freed)
        destroy(engine);
}

/* Lets curl work on one socket (or its timers) and reports what came to an end. */
static void act(struct engine *engine, curl_socket_t fd, int events)
{
    int running;

    enter(engine);
    engine->in_curl = true;
    curl_multi_socket_action(engine->multi, fd, events, &running);
    engine->in_curl = false;
    report(engine);
    leave(engine);
}

static void stop_waiting(struct engine_socket *socket)
{
    if (socket->flags)
        TAILQ_REMOVE(&socket->engine->waiting, socket, link);
    socket->flags = 0;
}

static void wait_for_turn(struct engine_socket *socket, int flags)
{
    if (!socket->flags)
        TAILQ_INSERT_TAIL(&socket->engine->waiting, socket, link);
    socket->flags |= flags;
    want_turn(socket->engine);
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
    if (TAILQ_EMPTY(&socket->engine->waiting) && has_time(socket->engine))
        act(socket->engine, socket->fd, flags);
    else if (flags)
        wait_for_turn(socket, flags);
}

/* A new turn: those first that had to wait for it. */
static void on_turn(uv_prepare_t *turn)
{
    struct engine *engine = turn->data;
    struct engine_socket *socket;

    engine->spent_ns = 0;
    if (!engine->unreported && TAILQ_EMPTY(&engine->waiting)) {
        uv_idle_stop(engine->idle);
        return;
    }
    enter(engine);
    if (engine->unreported)
        report(engine);
    while (!engine->freed && has_time(engine) && (socket = TAILQ_FIRST(&engine->waiting))) {
        int flags = socket->flags;
        stop_waiting(socket);
        act(engine, socket->fd, flags);
    }
    leave(engine);
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
            stop_waiting(socket);
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

static void start_turns(struct engine *engine)
{
    TAILQ_INIT(&engine->waiting);
    uv_prepare_init(engine->uv, engine->turn);
    engine->turn->data = engine;
    uv_prepare_start(engine->turn, on_turn);
    uv_unref((uv_handle_t *)engine->turn);
    uv_idle_init(engine->uv, engine->idle);
    uv_unref((uv_handle_t *)engine->idle);
}

struct engine *client_engine_new(struct loop *loop, long max_per_host, long max_total,
                                 long max_idle, engine_done_fn on_done, void *arg)
{
    struct engine *engine = heap_alloc(sizeof(*engine));

    *engine = (struct engine){
        .multi = curl_multi_init(),
        .uv = loop_uv(loop),
        .timer = heap_alloc(sizeof(*engine->timer)),
        .turn = heap_alloc(sizeof(*engine->turn)),
        .idle = heap_alloc(sizeof(*engine->idle)),
        .on_done = on_done,
        .arg = arg,
    };
    assert(engine->multi);
    uv_timer_init(engine->uv, engine->timer);
    engine->timer->data = engine;
    uv_unref((uv_handle_t *)engine->timer);
    start_turns(engine);
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

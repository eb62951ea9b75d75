#include "net/loop.h"

#include <assert.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"

struct drain_hook {
    struct drain_hook *next;
    loop_drain_fn fn;
    void *arg;
};

/*
 * SKIP_TURNS: after a full turn, no piece is begun in the next two: one accepts a new client, the
 * other reads its request.
 */
enum { TURN_NS = 5 * 1000 * 1000, SKIP_TURNS = 2 };

/*
 * libuv runs a timer of 0 ms that is started by a timer in the same iteration, so a chain of them
 * would starve the sockets. Here such a timer is queued for the next iteration.
 */
struct timer {
    uv_timer_t uv; /* not used if `soon` */
    TAILQ_ENTRY(timer) soon_link;
    struct loop *loop;
    struct timer *next;
    struct timer **link; /* pointer to this timer; NULL once stopped */
    timer_fn fn;
    void *arg;
    bool repeats;
    bool soon;
    bool running;
};

struct loop {
    uv_loop_t uv;
    uv_signal_t signals[2];
    uv_signal_t hangup; /* active once restart is set */
    const char *restart;
    struct drain_hook *hangup_hooks;
    uv_timer_t deadline;
    int64_t drain_deadline_ms;
    struct drain_hook *hooks; /* not yet called, in the order they were added */
    struct drain_hook **hooks_end;
    struct timer *timers;
    uv_idle_t idle; /* runs while `soon` is not empty */
    TAILQ_HEAD(, timer) soon;
    size_t soon_count;
    struct timer *drain_timer;
    uv_prepare_t prepare;
    uint64_t turn_ns; /* start of the first piece of this turn; 0 if there was none */
    int skip_turns;   /* turns left without a piece */
    int signal_count;
    bool draining;
    bool forced;
};

static void call_hooks(void *arg)
{
    struct loop *loop = arg;

    loop->drain_timer = NULL;
    while (loop->hooks) {
        struct drain_hook *hook = loop->hooks;
        loop->hooks = hook->next;
        if (!loop->hooks)
            loop->hooks_end = &loop->hooks;
        hook->fn(hook->arg);
        free(hook);
    }
}

/* Hooks run from the loop, so that loop_drain() may be called anywhere. */
static void schedule_hooks(struct loop *loop)
{
    if (!loop->drain_timer)
        loop->drain_timer = timer_start(loop, 0, 0, call_hooks, loop);
}

static void force_end(struct loop *loop)
{
    loop->forced = true;
    uv_stop(&loop->uv);
}

static void on_deadline(uv_timer_t *timer)
{
    force_end(timer->data);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct loop *loop = handle->data;

    log_info("signal", NULL,
             loop->signal_count > 0 ? "second signal: ending at once" : "signal: draining",
             LOG_STR("signal", signum == SIGINT ? "SIGINT" : "SIGTERM"));
    if (loop->signal_count++ > 0)
        force_end(loop);
    else
        loop_drain(loop);
}

static void on_hangup(uv_signal_t *handle, int signum)
{
    struct loop *loop = handle->data;
    struct drain_hook *next;

    (void)signum;
    log_info("reload", NULL, "SIGHUP: files that may change are looked at now",
             LOG_STR("restart", loop->restart));
    for (struct drain_hook *hook = loop->hangup_hooks; hook; hook = next) {
        next = hook->next;
        hook->fn(hook->arg);
    }
}

void loop_take_hangup(struct loop *loop, const char *restart)
{
    if (!loop->restart) {
        int rc = uv_signal_init(&loop->uv, &loop->hangup);
        assert(rc == 0);
        loop->hangup.data = loop;
        rc = uv_signal_start(&loop->hangup, on_hangup, SIGHUP);
        assert(rc == 0);
        uv_unref((uv_handle_t *)&loop->hangup);
    }
    loop->restart = restart;
}

void loop_on_hangup(struct loop *loop, loop_drain_fn fn, void *arg)
{
    struct drain_hook *hook = heap_alloc(sizeof(*hook));

    *hook = (struct drain_hook){.next = loop->hangup_hooks, .fn = fn, .arg = arg};
    loop->hangup_hooks = hook;
}

void loop_off_hangup(struct loop *loop, loop_drain_fn fn, void *arg)
{
    for (struct drain_hook **at = &loop->hangup_hooks; *at; at = &(*at)->next) {
        struct drain_hook *hook = *at;
        if (hook->fn != fn || hook->arg != arg)
            continue;
        *at = hook->next;
        free(hook);
        return;
    }
}

/* Runs before the loop polls. */
static void end_turn(uv_prepare_t *prepare)
{
    struct loop *loop = prepare->data;

    if (loop->skip_turns > 0)
        loop->skip_turns--;
    else if (loop->turn_ns && uv_hrtime() - loop->turn_ns >= TURN_NS)
        loop->skip_turns = SKIP_TURNS;
    loop->turn_ns = 0;
}

bool loop_has_time(struct loop *loop)
{
    if (loop->skip_turns > 0)
        return false;
    if (loop->turn_ns)
        return uv_hrtime() - loop->turn_ns < TURN_NS;
    loop->turn_ns = uv_hrtime();
    return true;
}

bool loop_may_work(struct loop *loop)
{
    return TAILQ_EMPTY(&loop->soon) && loop_has_time(loop);
}

struct loop *loop_new(int64_t drain_deadline_ms)
{
    static const int signums[2] = {SIGTERM, SIGINT};
    struct loop *loop = heap_alloc(sizeof(*loop));

    memset(loop, 0, sizeof(*loop));
    loop->drain_deadline_ms = drain_deadline_ms;
    loop->hooks_end = &loop->hooks;
    signal(SIGPIPE, SIG_IGN);
    int rc = uv_loop_init(&loop->uv);
    assert(rc == 0 && "the kernel has descriptors for one event loop");
    loop->uv.data = loop;
    for (int i = 0; i < 2; i++) {
        rc = uv_signal_init(&loop->uv, &loop->signals[i]);
        assert(rc == 0);
        loop->signals[i].data = loop;
        rc = uv_signal_start(&loop->signals[i], on_signal, signums[i]);
        assert(rc == 0);
        uv_unref((uv_handle_t *)&loop->signals[i]);
    }
    TAILQ_INIT(&loop->soon);
    uv_idle_init(&loop->uv, &loop->idle);
    loop->idle.data = loop;
    uv_prepare_init(&loop->uv, &loop->prepare);
    loop->prepare.data = loop;
    uv_prepare_start(&loop->prepare, end_turn);
    uv_unref((uv_handle_t *)&loop->prepare);
    uv_timer_init(&loop->uv, &loop->deadline);
    loop->deadline.data = loop;
    uv_unref((uv_handle_t *)&loop->deadline);
    return loop;
}

/* Leaves unread what arrives once the owners are freed. */
static void stop_reading(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (uv_is_closing(handle))
        return;
    if (handle->type == UV_POLL)
        uv_poll_stop((uv_poll_t *)handle);
    else if (handle->type == UV_TCP || handle->type == UV_NAMED_PIPE)
        uv_read_stop((uv_stream_t *)handle);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    while (loop->timers)
        timer_stop(loop->timers);
    while (loop->hooks) {
        struct drain_hook *hook = loop->hooks;
        loop->hooks = hook->next;
        free(hook);
    }
    while (loop->hangup_hooks) {
        struct drain_hook *hook = loop->hangup_hooks;
        loop->hangup_hooks = hook->next;
        free(hook);
    }
    uv_walk(&loop->uv, stop_reading, NULL);
    /* Runs pending close callbacks, then closes the handles that were leaked. */
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    uv_walk(&loop->uv, close_handle, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&loop->uv);
    if (rc != 0) {
        log_error("loop_busy", NULL, "the event loop could not be closed",
                  LOG_STR("reason", uv_strerror(rc)));
        return; /* leaked, since a handle still points into it */
    }
    free(loop);
}

uv_loop_t *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

struct leftovers {
    int handles;
    char kinds[256];
};

static void count_leftover(uv_handle_t *handle, void *arg)
{
    struct leftovers *left = arg;

    if (!uv_is_active(handle) || !uv_has_ref(handle))
        return;
    left->handles++;
    const char *name = uv_handle_type_name(handle->type);
    size_t used = strlen(left->kinds), len = strlen(name);
    if (!strstr(left->kinds, name) && used + len + 2 < sizeof(left->kinds)) {
        left->kinds[used] = ' ';
        memcpy(left->kinds + used + (used ? 1 : 0), name, len + 1);
    }
}

int loop_run(struct loop *loop)
{
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_timer_stop(&loop->deadline);
    if (!loop->forced)
        return 0;
    struct leftovers left = {0};
    uv_walk(&loop->uv, count_leftover, &left);
    log_warn("drain_incomplete", NULL, "ended before everything was done",
             LOG_INT("handles", left.handles), LOG_STR("kinds", left.kinds));
    return 1;
}

void loop_drain(struct loop *loop)
{
    if (loop->draining)
        return;
    loop->draining = true;
    uv_update_time(&loop->uv);
    uv_timer_start(&loop->deadline, on_deadline,
                   loop->drain_deadline_ms > 0 ? (uint64_t)loop->drain_deadline_ms : 0, 0);
    uv_unref((uv_handle_t *)&loop->deadline);
    schedule_hooks(loop);
}

bool loop_draining(const struct loop *loop)
{
    return loop->draining;
}

void loop_on_drain(struct loop *loop, loop_drain_fn fn, void *arg)
{
    struct drain_hook *hook = heap_alloc(sizeof(*hook));

    *hook = (struct drain_hook){.fn = fn, .arg = arg};
    *loop->hooks_end = hook;
    loop->hooks_end = &hook->next;
    if (loop->draining)
        schedule_hooks(loop);
}

void loop_off_drain(struct loop *loop, loop_drain_fn fn, void *arg)
{
    struct drain_hook **at = &loop->hooks;

    while (*at) {
        struct drain_hook *hook = *at;
        if (hook->fn == fn && hook->arg == arg) {
            *at = hook->next;
            free(hook);
        } else {
            at = &hook->next;
        }
    }
    loop->hooks_end = at;
}

static void free_timer(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_timer(uv_timer_t *handle)
{
    struct timer *timer = handle->data;

    timer->fn(timer->arg);
    if (!timer->repeats)
        timer_stop(timer);
}

static void unlink_soon(struct timer *timer)
{
    struct loop *loop = timer->loop;

    TAILQ_REMOVE(&loop->soon, timer, soon_link);
    if (--loop->soon_count == 0)
        uv_idle_stop(&loop->idle);
}

static void on_idle(uv_idle_t *idle)
{
    struct loop *loop = idle->data;
    struct timer *timer;

    /* Timers added meanwhile are for the next iteration. */
    for (size_t n = loop->soon_count; n > 0 && (timer = TAILQ_FIRST(&loop->soon)); n--) {
        if (!loop_has_time(loop))
            return;
        unlink_soon(timer);
        timer->running = true;
        timer->fn(timer->arg);
        timer_stop(timer);
        free(timer);
    }
}

static void start_soon(struct timer *timer)
{
    struct loop *loop = timer->loop;

    timer->soon = true;
    TAILQ_INSERT_TAIL(&loop->soon, timer, soon_link);
    if (loop->soon_count++ == 0)
        uv_idle_start(&loop->idle, on_idle);
}

struct timer *timer_start(struct loop *loop, int64_t after_ms, int64_t repeat_ms, timer_fn fn,
                          void *arg)
{
    struct timer *timer = heap_alloc(sizeof(*timer));

    *timer = (struct timer){
        .loop = loop,
        .next = loop->timers,
        .link = &loop->timers,
        .fn = fn,
        .arg = arg,
        .repeats = repeat_ms > 0,
    };
    if (loop->timers)
        loop->timers->link = &timer->next;
    loop->timers = timer;
    if (after_ms <= 0 && repeat_ms <= 0) {
        start_soon(timer);
        return timer;
    }
    uv_timer_init(&loop->uv, &timer->uv);
    timer->uv.data = timer;
    /* The loop's clock is cached; a delay counts from now. */
    uv_update_time(&loop->uv);
    uv_timer_start(&timer->uv, on_timer, after_ms > 0 ? (uint64_t)after_ms : 0,
                   repeat_ms > 0 ? (uint64_t)repeat_ms : 0);
    return timer;
}

void timer_stop(struct timer *timer)
{
    if (!timer || !timer->link)
        return;
    *timer->link = timer->next;
    if (timer->next)
        timer->next->link = timer->link;
    timer->link = NULL;
    if (timer->soon) {
        if (timer->running)
            return; /* on_idle() frees it */
        unlink_soon(timer);
        free(timer);
        return;
    }
    uv_close((uv_handle_t *)&timer->uv, free_timer);
}

/* --- watched files */

enum { MAX_PATHS = 4 };

struct file_watch {
    struct arena *arena;
    struct loop *loop;
    struct timer *timer;
    const char *paths[MAX_PATHS];
    int count;
    file_watch_fn fn;
    void *arg;
    unsigned char accepted[EVP_MAX_MD_SIZE]; /* digest of the accepted content; zero if none */
};

/* Adds the digest of a file to the digest of all files. Returns false if it cannot be read. */
static bool add_file(struct arena *arena, EVP_MD_CTX *all, const char *path)
{
    unsigned char digest[EVP_MAX_MD_SIZE] = {0};
    char *text;
    size_t len;

    if (file_read(arena, path, FILE_WATCH_MAX_FILE, &text, &len, NULL) != ERR_OK)
        return false;
    EVP_Digest(text, len, digest, NULL, EVP_sha256(), NULL);
    OPENSSL_cleanse(text, len);
    EVP_DigestUpdate(all, digest, sizeof(digest));
    return true;
}

static bool digest_all(const struct file_watch *watch, unsigned char out[EVP_MAX_MD_SIZE])
{
    struct arena *arena = arena_new();
    EVP_MD_CTX *all = EVP_MD_CTX_new();
    bool read = true;

    memset(out, 0, EVP_MAX_MD_SIZE);
    EVP_DigestInit_ex(all, EVP_sha256(), NULL);
    for (int i = 0; read && i < watch->count; i++)
        read = add_file(arena, all, watch->paths[i]);
    if (read)
        EVP_DigestFinal_ex(all, out, NULL);
    EVP_MD_CTX_free(all);
    arena_free(arena);
    return read;
}

void file_watch_check(struct file_watch *watch)
{
    unsigned char now[EVP_MAX_MD_SIZE];

    if (digest_all(watch, now) && memcmp(now, watch->accepted, sizeof(now)) == 0)
        return;
    /* The digest was made before fn reads: a write in between is noticed at the next check. */
    if (watch->fn(watch->arg))
        memcpy(watch->accepted, now, sizeof(now));
}

static void on_check(void *arg)
{
    file_watch_check(arg);
}

struct file_watch *file_watch_start(struct loop *loop, const char *const *paths, int n,
                                    file_watch_fn fn, void *arg)
{
    struct file_watch *watch = heap_alloc(sizeof(*watch));

    *watch = (struct file_watch){.arena = arena_new(), .loop = loop, .fn = fn, .arg = arg};
    assert(n <= MAX_PATHS);
    for (int i = 0; i < n; i++) {
        if (paths[i])
            watch->paths[watch->count++] = arena_strdup(watch->arena, paths[i]);
    }
    (void)digest_all(watch, watch->accepted); /* a failure is reported by the first reader of the
                                               * files */
    watch->timer = timer_start(loop, FILE_WATCH_MS, FILE_WATCH_MS, on_check, watch);
    loop_on_hangup(loop, on_check, watch);
    return watch;
}

void file_watch_stop(struct file_watch *watch)
{
    if (!watch)
        return;
    timer_stop(watch->timer);
    loop_off_hangup(watch->loop, on_check, watch);
    arena_free(watch->arena);
    free(watch);
}

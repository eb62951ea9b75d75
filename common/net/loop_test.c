#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/loop.h"
#include "test/unit.h"

struct record {
    struct loop *loop;
    struct timer *timer;
    char order[32];
    int count;
};

static void note(struct record *r, char what)
{
    size_t len = strlen(r->order);
    assert_true(len + 1 < sizeof(r->order));
    r->order[len] = what;
}

static void note_a(void *arg)
{
    note(arg, 'a');
}

static void note_b(void *arg)
{
    note(arg, 'b');
}

static void stop_other(void *arg)
{
    struct record *r = arg;
    note(r, 's');
    timer_stop(r->timer);
    r->timer = NULL;
}

CASE(test_empty_loop_ends)
{
    struct loop *loop = loop_new(10000);
    assert_int_equal(loop_run(loop), 0);
    assert_false(loop_draining(loop));
    loop_free(loop);
    loop_free(NULL);
}

CASE(test_drain_calls_hooks_in_order_once)
{
    struct record r = {.loop = loop_new(10000)};

    loop_on_drain(r.loop, note_a, &r);
    loop_on_drain(r.loop, note_b, &r);
    loop_on_drain(r.loop, stop_other, &r);
    r.timer = timer_start(r.loop, 1000000, 0, note_a, &r);
    loop_drain(r.loop);
    loop_drain(r.loop);
    assert_string_equal(r.order, ""); /* from the loop, not inside the call */
    assert_true(loop_draining(r.loop));
    assert_int_equal(loop_run(r.loop), 0);
    assert_string_equal(r.order, "abs");
    loop_on_drain(r.loop, note_b, &r); /* added late, but called */
    assert_int_equal(loop_run(r.loop), 0);
    assert_string_equal(r.order, "absb");
    loop_free(r.loop);
}

CASE(test_off_drain)
{
    struct record r = {.loop = loop_new(10000)};

    loop_on_drain(r.loop, note_a, &r);
    loop_on_drain(r.loop, note_b, &r);
    loop_off_drain(r.loop, note_b, &r);
    loop_on_drain(r.loop, stop_other, &r); /* the end of the list is still correct */
    loop_off_drain(r.loop, note_a, &r);
    loop_off_drain(r.loop, note_a, &r);
    loop_drain(r.loop);
    assert_int_equal(loop_run(r.loop), 0);
    assert_string_equal(r.order, "s");
    loop_on_drain(r.loop, note_a, &r); /* freed with the loop */
    loop_free(r.loop);
}

static void raise_signal(void *arg)
{
    kill(getpid(), *(int *)arg);
}

CASE(test_signals_drain)
{
    static const int signums[] = {SIGTERM, SIGINT};

    for (int i = 0; i < 2; i++) {
        struct record r = {.loop = loop_new(10000)};
        int signum = signums[i];
        loop_on_drain(r.loop, stop_other, &r);
        r.timer = timer_start(r.loop, 1000000, 0, note_a, &r);
        timer_start(r.loop, 1, 0, raise_signal, &signum);
        assert_int_equal(loop_run(r.loop), 0);
        assert_string_equal(r.order, "s");
        loop_free(r.loop);
    }
}

static void raise_hangup(void *arg)
{
    kill(getpid(), SIGHUP);
}

/* Drains on the second call. */
static void hear_hangup(void *arg)
{
    struct record *r = arg;

    note_a(arg);
    if (strlen(r->order) == 2)
        loop_drain(r->loop);
    else
        timer_start(r->loop, 1, 0, raise_hangup, NULL);
}

CASE(test_a_hangup_is_told_each_time)
{
    struct record r = {.loop = loop_new(10000)};

    loop_take_hangup(r.loop, "nothing takes a restart");
    loop_on_drain(r.loop, stop_other, &r);
    r.timer = timer_start(r.loop, 1000000, 0, note_b, &r);
    loop_on_hangup(r.loop, note_b, &r);
    loop_on_hangup(r.loop, hear_hangup, &r);
    loop_off_hangup(r.loop, note_b, &r);
    loop_off_hangup(r.loop, note_b, &r);
    timer_start(r.loop, 1, 0, raise_hangup, NULL);
    assert_int_equal(loop_run(r.loop), 0);
    assert_string_equal(r.order, "aas");
    loop_free(r.loop);
}

CASE(test_deadline_and_second_signal)
{
    int signum = SIGTERM;

    struct record r = {.loop = loop_new(30)};
    timer_start(r.loop, 1000000, 0, note_a, &r);
    loop_drain(r.loop);
    int64_t start = clock_monotonic_ms();
    assert_int_equal(loop_run(r.loop), 1);
    assert_true(clock_monotonic_ms() - start >= 29);
    loop_free(r.loop);

    r = (struct record){.loop = loop_new(1000000)};
    timer_start(r.loop, 1, 5, raise_signal, &signum);
    assert_int_equal(loop_run(r.loop), 1);
    loop_free(r.loop);
}

static void count_up(void *arg)
{
    struct record *r = arg;
    if (++r->count == 3) {
        timer_stop(r->timer); /* from its own callback */
        timer_stop(NULL);
    }
}

CASE(test_timers)
{
    struct record r = {.loop = loop_new(10000)};

    r.timer = timer_start(r.loop, 1, 1, count_up, &r);
    assert_int_equal(loop_run(r.loop), 0);
    assert_int_equal(r.count, 3);

    /* stopped before it fires; stopped by another timer in the same iteration */
    timer_stop(timer_start(r.loop, 0, 0, note_a, &r));
    timer_start(r.loop, 0, 0, stop_other, &r);
    r.timer = timer_start(r.loop, 0, 0, note_b, &r);
    assert_int_equal(loop_run(r.loop), 0);
    assert_string_equal(r.order, "s");

    /* left running, freed with the loop */
    timer_start(r.loop, 5, 5, note_a, &r);
    loop_free(r.loop);
}

static void again_and_again(void *arg)
{
    struct record *r = arg;
    if (++r->count < 1000000 && !r->order[0])
        timer_start(r->loop, 0, 0, again_and_again, r);
}

static void stop_self(void *arg)
{
    struct record *r = arg;
    timer_stop(r->timer);
    timer_stop(r->timer);
    note(r, 'x');
}

CASE(test_timers_of_nothing)
{
    struct record r = {.loop = loop_new(10000)};

    /* in order */
    timer_start(r.loop, 0, 0, note_a, &r);
    timer_start(r.loop, 0, 0, note_b, &r);
    struct timer *stopped = timer_start(r.loop, 0, 0, note_a, &r);
    timer_start(r.loop, 0, 0, note_b, &r);
    timer_stop(stopped);
    r.timer = timer_start(r.loop, 0, 0, stop_self, &r);
    assert_string_equal(r.order, "");
    assert_int_equal(loop_run(r.loop), 0);
    assert_string_equal(r.order, "abbx");

    /* an endless chain does not starve other handles */
    memset(r.order, 0, sizeof(r.order));
    timer_start(r.loop, 0, 0, again_and_again, &r);
    timer_start(r.loop, 5, 0, note_a, &r);
    assert_int_equal(loop_run(r.loop), 0);
    assert_string_equal(r.order, "a");
    assert_true(r.count < 1000000);

    timer_start(r.loop, 0, 0, note_a, &r);
    loop_free(r.loop);
}

enum { PIECES = 12, PIECE_NS = 3 * 1000 * 1000 };

/* Pieces of work, each of which takes some milliseconds, and the turns of the loop in which they
 * were done. */
struct work {
    struct loop *loop;
    int turn, done, most, in_this, idle_turns;
    int may_overtake;
};

static void work(void *arg)
{
    struct work *w = arg;
    uint64_t end = uv_hrtime() + PIECE_NS;

    while (uv_hrtime() < end)
        continue;
    w->done++;
    w->in_this++;
}

static void on_turn(uv_check_t *check)
{
    struct work *w = check->data;

    if (w->done > 0 && w->done < PIECES && w->in_this == 0)
        w->idle_turns++;
    w->most = w->in_this > w->most ? w->in_this : w->most;
    w->in_this = 0;
    w->may_overtake += w->done < PIECES && loop_may_work(w->loop);
}

/* Many pieces of work are spread over turns, with turns in between in which clients are served. */
CASE(test_a_turn_is_bounded)
{
    struct work w = {.loop = loop_new(10000)};
    uv_check_t check = {.data = &w};

    uv_check_init(loop_uv(w.loop), &check);
    uv_check_start(&check, on_turn);
    uv_unref((uv_handle_t *)&check);
    for (int i = 0; i < PIECES; i++)
        timer_start(w.loop, 0, 0, work, &w);
    assert_int_equal(loop_run(w.loop), 0);
    assert_int_equal(w.done, PIECES);
    assert_in_range(w.most, 1, 2);
    assert_true(w.idle_turns >= 2 * (PIECES / 2 - 1));
    assert_int_equal(w.may_overtake, 0);
    loop_free(w.loop);
}

static void ask_for_time(void *arg)
{
    struct work *w = arg;

    while (loop_has_time(w->loop))
        w->in_this++;
    w->done++;
}

CASE(test_time_is_given_again)
{
    struct work w = {.loop = loop_new(10000)};

    assert_true(loop_may_work(w.loop));
    timer_start(w.loop, 0, 0, ask_for_time, &w);
    assert_false(loop_may_work(w.loop));
    timer_start(w.loop, 0, 0, ask_for_time, &w);
    assert_int_equal(loop_run(w.loop), 0);
    assert_int_equal(w.done, 2);
    assert_true(w.in_this > 0);
    loop_free(w.loop);
}

CASE(test_broken_pipe_is_no_end)
{
    struct loop *loop = loop_new(10000);
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    assert_int_equal(write(fds[1], "x", 1), -1);
    close(fds[1]);
    loop_free(loop);
}

static void never_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    (void)stream;
    (void)n;
    (void)buf;
    fail_msg("read for an owner that is freed");
}

static void never_polled(uv_poll_t *poll, int status, int events)
{
    (void)poll;
    (void)status;
    (void)events;
    fail_msg("polled for an owner that is freed");
}

static void alloc_byte(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static char byte;

    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(&byte, 1);
}

/* The drain deadline has passed, so the program frees its parts while something is still open. */
CASE(test_what_arrives_after_a_forced_end_is_for_nobody)
{
    struct loop *loop = loop_new(1);
    uv_pipe_t stream;
    uv_poll_t poll;
    int read_end[2], poll_end[2];

    assert_int_equal(pipe(read_end), 0);
    assert_int_equal(pipe(poll_end), 0);
    uv_pipe_init(loop_uv(loop), &stream, 0);
    assert_int_equal(uv_pipe_open(&stream, read_end[0]), 0);
    assert_int_equal(uv_read_start((uv_stream_t *)&stream, alloc_byte, never_read), 0);
    assert_int_equal(uv_poll_init(loop_uv(loop), &poll, poll_end[0]), 0);
    assert_int_equal(uv_poll_start(&poll, UV_READABLE, never_polled), 0);
    loop_drain(loop);
    assert_int_equal(loop_run(loop), 1);
    assert_int_equal(write(read_end[1], "x", 1), 1);
    assert_int_equal(write(poll_end[1], "x", 1), 1);
    loop_free(loop);
    close(read_end[1]);
    close(poll_end[0]);
    close(poll_end[1]);
}

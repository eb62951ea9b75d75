#define _GNU_SOURCE /* pipe2 */
#include "net/child/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/child/child_live.h"
#include "net/child/child_nursery.h"
#include "net/child/child_order.h"
#include "net/child/child_supervisor.h"
#include "net/child/child_watch.h"

enum {
    GRACE_MS = 5000,
    SWEEP_MS = 10, /* between two looks for orphans */
    SWEEP_END_MS = 5000,
    WAKE_MS = 20,
    PATIENCE_MS = 12000, /* beyond the grace period; the supervisor itself gives up after ten s */
    MAX_OUTPUT = 64 * 1024,
    READ_SIZE = 64 * 1024,
    RETRY_MS = 5,       /* before a supervisor is asked for again */
    REAP_MS = 1,        /* a process that has closed its socket ends at once */
    LOOKS_PER_LIMIT = 8 /* a supervisor looks at its processes when a part of the limit was made */
};

/*
 * Three things end in any order: the supervisor, what it says, and the output. done follows when
 * the output has ended and the supervisor has said how the command ended, or is gone; the memory
 * goes when the supervisor has, or is somebody else's, and libuv has closed the last handle.
 */
struct child {
    struct child_live live;
    struct child_result result;
    struct errinfo info;
    uv_pipe_t socket;
    uv_pipe_t output_pipe;
    struct loop *loop;
    struct arena *arena;
    const char *name; /* argv[0] */
    struct buf output;
    size_t output_total;
    struct timer *deadline;
    struct timer *cut_off;
    struct timer *sweep; /* its supervisor was killed */
    struct timer *wake;  /* once it is to end */
    struct timer *again; /* hands over, or waits for the supervisor */
    int handed[3];       /* what the supervisor gets: socket, stdout, stderr; -1: it has them */
    int64_t patience_ends_ms, sweep_ends_ms;
    child_done_fn done;
    void (*on_output)(void *arg, const char *data, size_t len);
    void *arg;
    int64_t started_ms;
    int64_t grace_ms;
    struct supervisor_msg msg; /* being received */
    size_t msg_len;
    int pid;
    int open_handles;
    bool knows_end; /* the supervisor has said how it ended */
    bool waiting_process, waiting_socket, waiting_output, swept, finished;
};

static bool adopting;
static uv_signal_t ended_children;

/* All that ends is waited for: orphans of strangers too, which come to the first process of a
 * container. What became of our own their supervisors say. */
static void on_children_ended(uv_signal_t *handle, int signum)
{
    pid_t pid;

    (void)handle;
    (void)signum;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        child_live_ended(pid);
        child_nursery_gone(pid);
    }
}

void child_adopt_orphans(struct loop *loop)
{
    adopting = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
    uv_signal_init(loop_uv(loop), &ended_children);
    uv_signal_start(&ended_children, on_children_ended, SIGCHLD);
    uv_unref((uv_handle_t *)&ended_children);
}

void child_prepare(void)
{
    (void)child_nursery_prepare();
}

bool child_can_watch(void)
{
    return child_watch_possible();
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct child *child = handle->data;

    if (--child->open_handles > 0)
        return;
    buf_fini(&child->output);
    arena_free(child->arena);
    free(child);
}

static void close_handles(struct child *child)
{
    child->open_handles = 2;
    uv_close((uv_handle_t *)&child->socket, on_handle_closed);
    uv_close((uv_handle_t *)&child->output_pipe, on_handle_closed);
}

/* A supervisor takes a moment to end after it has said all: nobody has to wait for that but us. */
static void close_when_gone(struct child *child)
{
    if (child->finished && !child->waiting_process && child->open_handles == 0)
        close_handles(child);
}

static void close_handed(struct child *child)
{
    if (child->handed[2] > STDERR_FILENO && child->handed[2] != child->handed[1])
        close(child->handed[2]);
    for (int i = 0; i < 2; i++)
        if (child->handed[i] > STDERR_FILENO)
            close(child->handed[i]);
    child->handed[0] = child->handed[1] = child->handed[2] = -1;
}

static void finish(struct child *child)
{
    struct child_result *result = &child->result;

    timer_stop(child->deadline);
    timer_stop(child->cut_off);
    timer_stop(child->wake);
    timer_stop(child->sweep);
    if (child->handed[0] >= 0) { /* else it waits for the supervisor, and goes on */
        timer_stop(child->again);
        child->again = NULL;
    }
    close_handed(child);
    if (!child->knows_end && child->pid == 0 && (result->stopped || result->timed_out)) {
        result->signal = SIGTERM; /* before it could begin */
    } else if (!child->knows_end) {
        /* Somebody killed the supervisor; the kernel has killed the command with it. */
        result->err =
            err_set(&child->info, ERR_RETRY, "\"%s\": its supervisor was killed", child->name);
        if (child->pid > 0)
            kill(-child->pid, SIGKILL);
    }
    result->info = &child->info;
    result->output = child->output.data;
    result->output_len = child->output.len;
    result->output_total = child->output_total;
    result->elapsed_ms = clock_monotonic_ms() - child->started_ms;
    child->done(child->arg, result);
    child->finished = true;
    close_when_gone(child);
}

static void on_cut_off(void *arg)
{
    struct child *child = arg;

    child->cut_off = NULL;
    uv_read_stop((uv_stream_t *)&child->output_pipe);
    child->waiting_output = false;
    finish(child);
}

static void finish_if_over(struct child *child);

static void on_sweep(void *arg)
{
    struct child *child = arg;

    if (child_live_kill_orphans() > 0 && clock_monotonic_ms() < child->sweep_ends_ms)
        return;
    (void)child_live_kill_orphans(); /* the last of them are zombies now */
    timer_stop(child->sweep);
    child->sweep = NULL;
    child->swept = true;
    finish_if_over(child);
}

static void finish_if_over(struct child *child)
{
    if (child->finished || (!child->knows_end && child->waiting_process))
        return;
    if (!child->knows_end && adopting && !child->swept) {
        if (!child->sweep) {
            child->sweep_ends_ms = clock_monotonic_ms() + SWEEP_END_MS;
            child->sweep = timer_start(child->loop, 0, SWEEP_MS, on_sweep, child);
        }
        return;
    }
    if (!child->waiting_output)
        finish(child);
    else if (!child->cut_off)
        /* Every descendant has gone, yet somebody holds the pipe: the command gave it away. */
        child->cut_off = timer_start(child->loop, child->grace_ms, 0, on_cut_off, child);
}

/* Waits for a supervisor whose socket has ended, and so the process itself. */
static void reap(void *arg)
{
    struct child *child = arg;
    pid_t pid = child->live.supervisor;

    timer_stop(child->again);
    child->again = NULL;
    if (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
        child->again = timer_start(child->loop, REAP_MS, 0, reap, child);
        return;
    }
    child_live_remove(&child->live);
    child->waiting_process = false;
    finish_if_over(child);
    close_when_gone(child);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static char piece[READ_SIZE]; /* libuv fills it and hands it on before it fills it again */

    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(piece, sizeof(piece));
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct child *child = stream->data;

    if (n < 0) {
        uv_read_stop(stream);
        child->waiting_output = false;
        finish_if_over(child);
        return;
    }
    child->output_total += (size_t)n;
    if (!child->output.truncated)
        buf_add(&child->output, buf->base, (size_t)n);
    if (n > 0 && child->on_output)
        child->on_output(child->arg, buf->base, (size_t)n);
}

static void not_started(struct child *child, const char *what, int error)
{
    enum err err = ERR_INVALID;

    if (error == ENOENT)
        err = ERR_NOT_FOUND;
    else if (error == EACCES || error == EPERM)
        err = ERR_DENIED;
    else if (error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE)
        err = ERR_RETRY;
    child->result.err =
        err_set(&child->info, err, "cannot %s \"%s\": %s", what, child->name, strerror(error));
    child->knows_end = true;
}

static void on_ended(struct child *child, int status)
{
    child->knows_end = true;
    if (WIFSIGNALED(status)) {
        child->result.exit_status = -1;
        child->result.signal = WTERMSIG(status);
    } else {
        child->result.exit_status = WEXITSTATUS(status);
    }
}

static void hang_up(struct child *child);

/* Its time is over, and it was in time; those that it left behind may not keep the supervisor from
 * ending them. */
static void on_exited(struct child *child)
{
    timer_stop(child->deadline);
    child->deadline = NULL;
    hang_up(child);
}

static void on_message(struct child *child, const struct supervisor_msg *msg)
{
    switch ((enum supervisor_kind)msg->kind) {
    case SUPERVISOR_HERE:
        child->live.supervisor = msg->value;
        break;
    case SUPERVISOR_STARTED:
        child->pid = msg->value;
        break;
    case SUPERVISOR_EXITED:
        on_exited(child);
        break;
    case SUPERVISOR_ENDED:
        on_ended(child, msg->value);
        break;
    case SUPERVISOR_EXEC_FAILED:
        not_started(child, "run", msg->value);
        break;
    case SUPERVISOR_FORK_FAILED:
        not_started(child, "start a process for", msg->value);
        break;
    case SUPERVISOR_CHDIR_FAILED:
        not_started(child, "enter the working directory for", msg->value);
        break;
    case SUPERVISOR_LIMITS_FAILED:
        not_started(child, "set the limits for", msg->value);
        break;
    case SUPERVISOR_OVER_LIMIT:
        child->result.over_limit = msg->value == CHILD_LIMIT_MEMORY ? "memory" : "processes";
        break;
    case SUPERVISOR_LEFT:
        log_error("child_left", NULL, "processes of a command could not be killed",
                  LOG_STR("command", child->name), LOG_INT("processes", msg->value));
        break;
    case SUPERVISOR_STAYS:
        child->live.supervisor = 0; /* it does not end, so nobody waits for it */
        break;
    case SUPERVISOR_LOOK:
        break;
    }
}

static void on_socket(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct child *child = stream->data;

    if (n < 0) {
        uv_read_stop(stream);
        child->waiting_socket = false;
        reap(child);
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        ((char *)&child->msg)[child->msg_len++] = buf->base[i];
        if (child->msg_len == sizeof(child->msg)) {
            child->msg_len = 0;
            on_message(child, &child->msg);
        }
    }
    if (child->knows_end)
        finish_if_over(child);
}

/* A supervisor that does not even say its number after all that: somebody stopped it. */
static void give_up(struct child *child)
{
    child_nursery_end();
    uv_read_stop((uv_stream_t *)&child->socket);
    child->waiting_socket = false;
    reap(child);
}

/*
 * A command of the same user can stop its supervisor, which then hears nothing, again and again: on
 * a processor of its own sooner than the supervisor can run. So when the grace period is over, its
 * group is stopped first.
 */
static void on_wake(void *arg)
{
    struct child *child = arg;
    int64_t left_ms = child->patience_ends_ms - clock_monotonic_ms();
    bool patient = left_ms > 0;

    if (patient && left_ms < PATIENCE_MS && child->live.supervisor > 0 && child->pid > 0)
        kill(-child->pid, SIGSTOP);
    if (child->live.supervisor > 0)
        kill(child->live.supervisor, patient ? SIGCONT : SIGKILL);
    else if (!patient && child->waiting_socket)
        give_up(child);
}

/* The supervisor takes the end of our side for: end everything. */
static void hang_up(struct child *child)
{
    uv_os_fd_t fd;

    if (uv_fileno((uv_handle_t *)&child->socket, &fd) == 0)
        shutdown(fd, SHUT_WR);
    if (!child->waiting_process || child->wake)
        return;
    child->patience_ends_ms = clock_monotonic_ms() + child->grace_ms + PATIENCE_MS;
    child->wake = timer_start(child->loop, 0, WAKE_MS, on_wake, child);
}

void child_stop(struct child *child)
{
    if (child->result.stopped)
        return;
    child->result.stopped = true;
    hang_up(child);
}

static void on_deadline(void *arg)
{
    struct child *child = arg;

    child->deadline = NULL;
    child->result.timed_out = true;
    hang_up(child);
}

static void on_written(uv_write_t *write, int status)
{
    (void)status; /* a supervisor that has gone is told by the end of its side */
    free(write);
}

/* To the supervisor, in order; data must stay. */
static void tell(struct child *child, const char *data, size_t len)
{
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)data, (unsigned)len);
    uv_write_t *write = heap_alloc(sizeof(*write));

    if (uv_write(write, (uv_stream_t *)&child->socket, &buf, 1, on_written) != 0)
        free(write);
}

static void tell_kind(struct child *child, enum supervisor_kind kind, int value)
{
    struct supervisor_msg *msg;

    if (!child->waiting_socket || child->wake || child->result.stopped || child->result.timed_out)
        return;
    msg = ARENA_NEW(child->arena, struct supervisor_msg);
    *msg = (struct supervisor_msg){.kind = (int32_t)kind, .value = value};
    tell(child, (const char *)msg, sizeof(*msg));
}

static void look(void *arg)
{
    tell_kind(arg, SUPERVISOR_LOOK, 0);
}

int child_pid(const struct child *child)
{
    return child->pid;
}

static void on_spawn_failed(void *arg)
{
    struct child *child = arg;

    child->cut_off = NULL;
    finish(child);
}

static void fail_to_start(struct child *child, int error)
{
    not_started(child, "start a process for", error);
    child->waiting_process = child->waiting_socket = child->waiting_output = false;
    child->cut_off = timer_start(child->loop, 0, 0, on_spawn_failed, child);
}

static struct child *child_new(struct loop *loop, const struct child_spec *spec, child_done_fn done,
                               void *arg)
{
    struct child *child = heap_alloc(sizeof(*child));

    memset(child, 0, sizeof(*child));
    child->loop = loop;
    child->arena = arena_new();
    child->name = arena_strdup(child->arena, spec->argv[0] ? spec->argv[0] : "");
    child->done = done;
    child->on_output = spec->on_output;
    child->arg = arg;
    child->started_ms = clock_monotonic_ms();
    child->grace_ms = spec->grace_ms > 0 ? spec->grace_ms : GRACE_MS;
    child->result.exit_status = -1;
    buf_init(&child->output, spec->max_output ? spec->max_output : MAX_OUTPUT);
    uv_pipe_init(loop_uv(loop), &child->socket, 0);
    uv_pipe_init(loop_uv(loop), &child->output_pipe, 0);
    child->socket.data = child->output_pipe.data = child;
    child->handed[0] = child->handed[1] = child->handed[2] = -1;
    return child;
}

/* The sockets and pipes; 0 or an errno. */
static int open_channels(struct child *child, const struct child_spec *spec)
{
    int pair[2], out[2] = {-1, STDOUT_FILENO};

    if (!spec->argv[0])
        return EINVAL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    child->handed[0] = pair[1];
    uv_pipe_open(&child->socket, pair[0]);
    if (!spec->inherit_output && pipe2(out, O_CLOEXEC) != 0)
        return errno;
    child->handed[1] = out[1];
    child->handed[2] = spec->inherit_output || spec->inherit_stderr ? STDERR_FILENO : out[1];
    if (out[0] >= 0) {
        uv_pipe_open(&child->output_pipe, out[0]);
        child->waiting_output = true;
    }
    return 0;
}

static void hand_over(void *arg)
{
    struct child *child = arg;
    int error = child_nursery_hand_over(child->handed[0], child->handed[1], child->handed[2]);

    timer_stop(child->again);
    child->again = NULL;
    if (error == EAGAIN) {
        child->again = timer_start(child->loop, RETRY_MS, 0, hand_over, child);
        return;
    }
    close_handed(child);
    /* Else the end of the socket tells. */
    if (error)
        not_started(child, "start a process for", error);
}

static int64_t patience_of(const struct child_limits *limits)
{
    int64_t processes = limits ? limits->processes : 0;

    return processes > 0 && processes < LOOKS_PER_LIMIT ? 1 : processes / LOOKS_PER_LIMIT;
}

struct child *child_spawn(struct loop *loop, const struct child_spec *spec, child_done_fn done,
                          void *arg)
{
    struct child *child = child_new(loop, spec, done, arg);
    size_t len;

    const char *order = child_order_text(child->arena, spec, child->grace_ms, &len);
    int error = order ? open_channels(child, spec) : E2BIG;
    if (error) {
        fail_to_start(child, error);
        return child;
    }
    child->live =
        (struct child_live){.patience = patience_of(spec->limits), .look = look, .child = child};
    child_live_add(loop, &child->live);
    child->waiting_process = child->waiting_socket = true;
    uv_read_start((uv_stream_t *)&child->socket, on_alloc, on_socket);
    if (child->waiting_output)
        uv_read_start((uv_stream_t *)&child->output_pipe, on_alloc, on_output);
    tell(child, order, len);
    hand_over(child);
    if (spec->timeout_ms > 0)
        child->deadline = timer_start(loop, spec->timeout_ms, 0, on_deadline, child);
    return child;
}

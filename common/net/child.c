#define _GNU_SOURCE /* pipe2, closefrom */
#include "net/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "net/child_limits.h"
#include "net/child_supervisor.h"
#include "net/child_tree.h"

enum {
    GRACE_MS = 5000,
    SWEEP_MS = 10, /* between two looks for orphans */
    SWEEP_END_MS = 5000,
    WAKE_MS = 100,
    PATIENCE_MS = 12000, /* beyond the grace period; the supervisor itself gives up after ten s */
    MAX_OUTPUT = 64 * 1024,
    READ_SIZE = 64 * 1024,
    STDIO_COUNT = 4
};

/*
 * Three things end in any order: the supervisor, what it says, and the output. done follows when
 * all have, and the memory goes when libuv has closed the last handle.
 */
struct child {
    struct child *next_live, *prev_live;
    struct child_result result;
    struct errinfo info;
    uv_process_t process;
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
    bool has_process; /* libuv knows the process handle */
    bool knows_end;   /* the supervisor has said how it ended */
    bool waiting_process, waiting_socket, waiting_output, swept;
    char read_buf[READ_SIZE];
};

/* Those whose supervisor runs. */
static struct child *live;
static bool adopting;

void child_adopt_orphans(void)
{
    adopting = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

static void live_add(struct child *child)
{
    child->next_live = live;
    if (live)
        live->prev_live = child;
    live = child;
}

static void live_remove(struct child *child)
{
    if (child->prev_live)
        child->prev_live->next_live = child->next_live;
    else if (live == child)
        live = child->next_live;
    if (child->next_live)
        child->next_live->prev_live = child->prev_live;
    child->next_live = child->prev_live = NULL;
}

static int kill_orphans(void)
{
    size_t n = 0;

    for (const struct child *child = live; child; child = child->next_live)
        n++;
    pid_t *keep = heap_array(n + 1, sizeof(*keep));
    n = 0;
    for (const struct child *child = live; child; child = child->next_live)
        keep[n++] = child->process.pid;
    int alive = child_tree_kill(keep, n);
    free(keep);
    return alive;
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
    if (child->has_process) {
        child->open_handles++;
        uv_close((uv_handle_t *)&child->process, on_handle_closed);
    }
}

static void finish(struct child *child)
{
    struct child_result *result = &child->result;

    timer_stop(child->deadline);
    timer_stop(child->cut_off);
    timer_stop(child->wake);
    timer_stop(child->sweep);
    if (!child->knows_end) {
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
    close_handles(child);
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

    if (kill_orphans() > 0 && clock_monotonic_ms() < child->sweep_ends_ms)
        return;
    (void)kill_orphans(); /* the last of them are zombies now */
    timer_stop(child->sweep);
    child->sweep = NULL;
    child->swept = true;
    finish_if_over(child);
}

static void finish_if_over(struct child *child)
{
    if (child->waiting_process || child->waiting_socket)
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

static void on_process_exit(uv_process_t *process, int64_t status, int signum)
{
    struct child *child = process->data;

    (void)status;
    (void)signum;
    child->waiting_process = false;
    live_remove(child);
    finish_if_over(child);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct child *child = handle->data;

    (void)suggested;
    *buf = uv_buf_init(child->read_buf, sizeof(child->read_buf));
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

static void on_message(struct child *child, const struct supervisor_msg *msg)
{
    switch ((enum supervisor_kind)msg->kind) {
    case SUPERVISOR_STARTED:
        child->pid = msg->value;
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
    case SUPERVISOR_SIGNAL:
        break;
    }
}

static void on_socket(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct child *child = stream->data;

    if (n < 0) {
        uv_read_stop(stream);
        child->waiting_socket = false;
        finish_if_over(child);
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        ((char *)&child->msg)[child->msg_len++] = buf->base[i];
        if (child->msg_len == sizeof(child->msg)) {
            child->msg_len = 0;
            on_message(child, &child->msg);
        }
    }
}

/* A command of the same user can stop its supervisor, which then hears nothing, again and again. */
static void on_wake(void *arg)
{
    struct child *child = arg;

    if (child->waiting_process)
        uv_process_kill(&child->process,
                        clock_monotonic_ms() < child->patience_ends_ms ? SIGCONT : SIGKILL);
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

void child_signal(struct child *child, int signum)
{
    struct supervisor_msg msg = {.kind = SUPERVISOR_SIGNAL, .value = signum};
    uv_buf_t buf = uv_buf_init((char *)&msg, sizeof(msg));

    /* Before the command runs this waits in the socket until it does. */
    if (child->waiting_socket)
        uv_try_write((uv_stream_t *)&child->socket, &buf, 1);
}

int child_pid(const struct child *child)
{
    return child->pid;
}

static char **supervisor_args(struct arena *arena, const struct child_spec *spec, int64_t grace_ms)
{
    char limits[CHILD_LIMITS_TEXT];
    size_t count = 0;

    while (spec->argv[count])
        count++;
    char **args = arena_array(arena, count + 6, sizeof(*args));
    args[0] = "flagger-child";
    args[1] = CHILD_SUPERVISOR;
    args[2] = arena_printf(arena, "%lld", (long long)grace_ms);
    args[3] = arena_strdup(arena, spec->cwd ? spec->cwd : "");
    args[4] = arena_strdup(arena, child_limits_text(spec->limits, limits));
    for (size_t i = 0; i < count; i++)
        args[i + 5] = arena_strdup(arena, spec->argv[i]);
    return args;
}

/*
 * Our executable by its name, which is right also under valgrind; or, when it was replaced or
 * deleted on disk, by the link that still leads to what we run.
 */
static const char *own_executable(struct arena *arena)
{
    char path[PATH_MAX];
    size_t len = sizeof(path);

    if (uv_exepath(path, &len) == 0 && access(path, X_OK) == 0)
        return arena_strdup(arena, path);
    return "/proc/self/exe";
}

static int spawn(struct child *child, const struct child_spec *spec, int output_fd)
{
    uv_stdio_container_t stdio[STDIO_COUNT] = {
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = spec->inherit_output ? STDOUT_FILENO : output_fd},
        {.flags = UV_INHERIT_FD,
         .data.fd = spec->inherit_output || spec->inherit_stderr ? STDERR_FILENO : output_fd},
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE | UV_WRITABLE_PIPE,
         .data.stream = (uv_stream_t *)&child->socket},
    };
    uv_process_options_t options = {
        .exit_cb = on_process_exit,
        .file = own_executable(child->arena),
        .args = supervisor_args(child->arena, spec, child->grace_ms),
        .env = (char **)(uintptr_t)spec->env,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = STDIO_COUNT,
        .stdio = stdio,
    };
    child->has_process = true; /* also when it fails */
    return uv_spawn(loop_uv(child->loop), &child->process, &options);
}

static void on_spawn_failed(void *arg)
{
    struct child *child = arg;

    child->cut_off = NULL;
    finish(child);
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
    child->process.data = child->socket.data = child->output_pipe.data = child;
    return child;
}

struct child *child_spawn(struct loop *loop, const struct child_spec *spec, child_done_fn done,
                          void *arg)
{
    struct child *child = child_new(loop, spec, done, arg);
    int fds[2] = {-1, -1};

    int rc = spec->argv[0] ? 0 : UV_EINVAL;
    if (rc == 0 && !spec->inherit_output && pipe2(fds, O_CLOEXEC) != 0)
        rc = -errno;
    if (rc == 0)
        rc = spawn(child, spec, fds[1]);
    if (fds[1] >= 0)
        close(fds[1]);
    if (rc != 0) {
        if (fds[0] >= 0)
            close(fds[0]);
        not_started(child, "start a process for", -rc);
        child->cut_off = timer_start(loop, 0, 0, on_spawn_failed, child);
        return child;
    }
    live_add(child);
    child->waiting_process = child->waiting_socket = true;
    uv_read_start((uv_stream_t *)&child->socket, on_alloc, on_socket);
    if (fds[0] >= 0) {
        uv_pipe_open(&child->output_pipe, fds[0]);
        child->waiting_output = true;
        uv_read_start((uv_stream_t *)&child->output_pipe, on_alloc, on_output);
    }
    if (spec->timeout_ms > 0)
        child->deadline = timer_start(loop, spec->timeout_ms, 0, on_deadline, child);
    return child;
}

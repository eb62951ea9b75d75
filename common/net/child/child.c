#define _GNU_SOURCE /* pipe2, memfd_create */
#include "net/child/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/child/child_internal.h"

/* --- the spawn server: started here, and sent commands */

/*
 * The supervisors' program (common/net/child/supervisor), embedded by the build. It has a thirtieth
 * of a daemon's memory mappings, so fork and exit are cheap. Empty in a build with sanitizers,
 * which does not allow static programs; the daemon then executes itself.
 */
extern const char child_image[], child_image_end[];

#ifdef CHILD_IMAGE
#define INCLUDE ".incbin \"" CHILD_IMAGE "\"\n"
#else
#define INCLUDE ""
#endif

__asm__(".section .rodata\n"
        ".global child_image\n"
        ".global child_image_end\n"
        "child_image:\n" INCLUDE "child_image_end:\n"
        ".byte 0\n"
        ".previous\n");

static struct {
    pid_t pid;   /* 0 if there is none */
    pid_t owner; /* the process that started it; not its forks */
    int socket;
    dev_t device; /* device and inode of its program */
    ino_t inode;
} server = {.socket = -1};

/*
 * The path of our executable, which is right under valgrind too; or, if the executable was replaced
 * or deleted on disk, the link to the running one.
 */
static const char *own_executable(char path[PATH_MAX])
{
    size_t len = PATH_MAX;

    if (uv_exepath(path, &len) == 0 && access(path, X_OK) == 0)
        return path;
    return "/proc/self/exe";
}

/* The embedded program as an anonymous file; -1 if there is none, or memfd_create() fails. */
static int open_image(void)
{
    size_t len = (size_t)(child_image_end - child_image);
    int fd = len > 0 ? memfd_create("flagger-child", MFD_CLOEXEC) : -1;

    for (const char *at = child_image; fd >= 0 && at < child_image_end;) {
        ssize_t n = write(fd, at, (size_t)(child_image_end - at));
        if (n <= 0) {
            close(fd);
            return -1;
        }
        at += n;
    }
    return fd;
}

static int execute_server(const char *path, int socket, pid_t *pid)
{
    static char name[] = "flagger-child", flag[] = CHILD_SUPERVISOR;
    char *const argv[] = {name, flag, NULL}, *const env[] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, socket, SPAWN_SOCKET);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    struct stat program = {0};
    int error = stat(path, &program) != 0 ? errno : 0;
    if (error == 0)
        error = posix_spawn(pid, path, &files, &attributes, argv, env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    server.device = program.st_dev;
    server.inode = program.st_ino;
    return error;
}

static int start_server(int socket, pid_t *pid)
{
    char path[PATH_MAX];
    int image = open_image(), error = ENOEXEC;

    if (image >= 0) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", image);
        error = execute_server(path, socket, pid);
        close(image);
    }
    return error ? execute_server(own_executable(path), socket, pid) : 0;
}

int spawn_server_start(void)
{
    int pair[2];
    pid_t pid;

    if (server.pid > 0 && server.owner == getpid())
        return 0;
    /* After a fork, the socket belongs to the parent. */
    if (server.socket >= 0)
        close(server.socket);
    server.socket = -1;
    server.pid = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    int error = start_server(pair[1], &pid);
    close(pair[1]);
    if (error) {
        close(pair[0]);
        return error;
    }
    server.pid = pid;
    server.owner = getpid();
    server.socket = pair[0];
    return 0;
}

void spawn_server_end(void)
{
    if (server.pid <= 0 || server.owner != getpid())
        return;
    close(server.socket);
    server.socket = -1;
    kill(server.pid, SIGKILL);
    waitpid(server.pid, NULL, 0);
    server.pid = 0;
}

bool spawn_server_owns(pid_t pid)
{
    char path[64];
    struct stat program;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return server.inode != 0 && stat(path, &program) == 0 && program.st_dev == server.device &&
           program.st_ino == server.inode;
}

void spawn_server_reaped(pid_t pid)
{
    if (server.pid != pid || server.owner != getpid())
        return;
    close(server.socket);
    server.socket = -1;
    server.pid = 0;
}

pid_t spawn_server_pid(void)
{
    return server.owner == getpid() ? server.pid : 0;
}

static int send_fds(const int fds[SPAWN_FDS])
{
    struct fd_message fd_message;

    fd_message_init(&fd_message);
    struct cmsghdr *header = CMSG_FIRSTHDR(&fd_message.msg);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(SPAWN_FDS * sizeof(int));
    memcpy(CMSG_DATA(header), fds, SPAWN_FDS * sizeof(int));
    return sendmsg(server.socket, &fd_message.msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
}

int spawn_server_send(int socket, int out, int err)
{
    const int fds[SPAWN_FDS] = {socket, out, err};
    /* It may have been killed: the waiting supervisors would still serve, but no new ones would
     * be made. */
    if (spawn_server_pid() > 0 && waitpid(server.pid, NULL, WNOHANG) != 0)
        spawn_server_reaped(server.pid);
    int error = spawn_server_start();
    return error ? error : send_fds(fds);
}

/* --- children */

enum {
    GRACE_MS = 5000,
    CHECK_MS = 50, /* interval between reads of the last process id */
    SWEEP_MS = 10, /* interval between searches for orphans */
    SWEEP_END_MS = 5000,
    WAKE_MS = 20,
    PATIENCE_MS = 12000, /* after the grace period; the supervisor itself gives up after 10 s */
    MAX_OUTPUT = 64 * 1024,
    READ_SIZE = 64 * 1024,
    RETRY_MS = 5,        /* interval between attempts to get a supervisor */
    REAP_MS = 1,         /* a process that has closed its socket ends soon */
    CHECKS_PER_LIMIT = 8 /* processes are counted each time an eighth of the limit was forked */
};

/*
 * The supervisor, its messages and the output end in any order. done is called when the output has
 * ended and the supervisor has sent the command's end, or is gone. The memory is freed when the
 * supervisor was reaped, or is reused, and libuv has closed the last handle.
 */
struct child {
    struct child_entry entry;
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
    struct timer *sweep; /* kills orphans after the supervisor was killed */
    struct timer *wake;  /* set from hang_up() on */
    struct timer *retry; /* retries to get a supervisor, or to reap it */
    int passed[3];       /* the supervisor's socket, stdout, stderr; -1 once sent */
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
    bool end_known; /* the supervisor has reported the command's end */
    bool waiting_process, waiting_socket, waiting_output, swept, finished;
};

static struct child_entry *first_entry;
static struct timer *tick; /* while there is a child to check */
static int n_checked;

/* One system call for all children: their supervisors sleep while nothing is forked. */
static void on_check_tick(void *arg)
{
    int64_t last_pid = child_proc_last_pid();

    (void)arg;
    for (struct child_entry *entry = first_entry; entry; entry = entry->next) {
        bool wrapped = last_pid < entry->last_pid;
        if (entry->forks_until_check == 0 ||
            (!wrapped && last_pid - entry->last_pid < entry->forks_until_check))
            continue;
        entry->last_pid = last_pid;
        entry->check(entry->child);
    }
}

void child_registry_add(struct loop *loop, struct child_entry *entry)
{
    entry->prev = NULL;
    entry->next = first_entry;
    if (first_entry)
        first_entry->prev = entry;
    first_entry = entry;
    if (entry->forks_until_check == 0)
        return;
    entry->last_pid = child_proc_last_pid();
    if (n_checked++ == 0)
        tick = timer_start(loop, CHECK_MS, CHECK_MS, on_check_tick, NULL);
}

void child_registry_remove(struct child_entry *entry)
{
    if (entry->prev)
        entry->prev->next = entry->next;
    else
        first_entry = entry->next;
    if (entry->next)
        entry->next->prev = entry->prev;
    if (entry->forks_until_check > 0 && --n_checked == 0) {
        timer_stop(tick);
        tick = NULL;
    }
}

void child_registry_reaped(pid_t supervisor)
{
    for (struct child_entry *entry = first_entry; entry; entry = entry->next)
        if (entry->supervisor == supervisor)
            entry->supervisor = 0;
}

int child_registry_kill_orphans(void)
{
    size_t n = 0;

    for (const struct child_entry *entry = first_entry; entry; entry = entry->next)
        n++;
    pid_t *keep = heap_array(n + 1, sizeof(*keep));
    n = 0;
    for (const struct child_entry *entry = first_entry; entry; entry = entry->next)
        if (entry->supervisor > 0)
            keep[n++] = entry->supervisor;
    int alive = child_proc_kill(keep, n, spawn_server_owns);
    free(keep);
    return alive;
}

static bool adopting;
static uv_signal_t ended_children;

/* Reaps every child, even orphans of unrelated processes, which the first process of a container
 * inherits. The end of our own commands is reported by their supervisors. */
static void on_children_ended(uv_signal_t *handle, int signum)
{
    pid_t pid;

    (void)handle;
    (void)signum;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        child_registry_reaped(pid);
        spawn_server_reaped(pid);
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
    (void)spawn_server_start();
}

bool child_can_watch(void)
{
    return child_usage_supported();
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

/* A supervisor takes a moment to exit after its last message; done is called before. */
static void close_when_gone(struct child *child)
{
    if (child->finished && !child->waiting_process && child->open_handles == 0)
        close_handles(child);
}

static void close_passed(struct child *child)
{
    if (child->passed[2] > STDERR_FILENO && child->passed[2] != child->passed[1])
        close(child->passed[2]);
    for (int i = 0; i < 2; i++)
        if (child->passed[i] > STDERR_FILENO)
            close(child->passed[i]);
    child->passed[0] = child->passed[1] = child->passed[2] = -1;
}

static void finish(struct child *child)
{
    struct child_result *result = &child->result;

    timer_stop(child->deadline);
    timer_stop(child->cut_off);
    timer_stop(child->wake);
    timer_stop(child->sweep);
    if (child->passed[0] >= 0) { /* otherwise the timer reaps the supervisor */
        timer_stop(child->retry);
        child->retry = NULL;
    }
    close_passed(child);
    if (!child->end_known && child->pid == 0 && (result->stopped || result->timed_out)) {
        result->signal = SIGTERM; /* before the command was started */
    } else if (!child->end_known) {
        /* The supervisor was killed, and the kernel has killed the command with it. */
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

    if (child_registry_kill_orphans() > 0 && clock_monotonic_ms() < child->sweep_ends_ms)
        return;
    (void)child_registry_kill_orphans(); /* reaps the last ones */
    timer_stop(child->sweep);
    child->sweep = NULL;
    child->swept = true;
    finish_if_over(child);
}

static void finish_if_over(struct child *child)
{
    if (child->finished || (!child->end_known && child->waiting_process))
        return;
    if (!child->end_known && adopting && !child->swept) {
        if (!child->sweep) {
            child->sweep_ends_ms = clock_monotonic_ms() + SWEEP_END_MS;
            child->sweep = timer_start(child->loop, 0, SWEEP_MS, on_sweep, child);
        }
        return;
    }
    if (!child->waiting_output)
        finish(child);
    else if (!child->cut_off)
        /* All descendants are gone, yet the pipe is open: the command has passed it to another
         * process. */
        child->cut_off = timer_start(child->loop, child->grace_ms, 0, on_cut_off, child);
}

/* Reaps a supervisor after the end of its socket. */
static void reap(void *arg)
{
    struct child *child = arg;
    pid_t pid = child->entry.supervisor;

    timer_stop(child->retry);
    child->retry = NULL;
    if (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
        child->retry = timer_start(child->loop, REAP_MS, 0, reap, child);
        return;
    }
    child_registry_remove(&child->entry);
    child->waiting_process = false;
    finish_if_over(child);
    close_when_gone(child);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static char piece[READ_SIZE]; /* libuv passes it on before it fills it again */

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
    child->end_known = true;
}

static void on_ended(struct child *child, int status)
{
    child->end_known = true;
    if (WIFSIGNALED(status)) {
        child->result.exit_status = -1;
        child->result.signal = WTERMSIG(status);
    } else {
        child->result.exit_status = WEXITSTATUS(status);
    }
}

static void hang_up(struct child *child);

/* The command has exited before its deadline: have the supervisor kill the processes it left
 * behind. */
static void on_exited(struct child *child)
{
    timer_stop(child->deadline);
    child->deadline = NULL;
    hang_up(child);
}

static void on_message(struct child *child, const struct supervisor_msg *msg)
{
    switch ((enum supervisor_kind)msg->kind) {
    case SUPERVISOR_PID:
        child->entry.supervisor = msg->value;
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
    case SUPERVISOR_REUSED:
        child->entry.supervisor = 0; /* it does not exit, so it is not reaped */
        break;
    case SUPERVISOR_CHECK:
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
    if (child->end_known)
        finish_if_over(child);
}

/* The supervisor has not even sent its process id: it was stopped. */
static void give_up(struct child *child)
{
    spawn_server_end();
    uv_read_stop((uv_stream_t *)&child->socket);
    child->waiting_socket = false;
    reap(child);
}

/*
 * A command of the same user can stop its supervisor again and again, on a processor of its own
 * faster than the supervisor can run. So the command's group is stopped first after the grace
 * period.
 */
static void on_wake(void *arg)
{
    struct child *child = arg;
    int64_t left_ms = child->patience_ends_ms - clock_monotonic_ms();
    bool patient = left_ms > 0;

    if (patient && left_ms < PATIENCE_MS && child->entry.supervisor > 0 && child->pid > 0)
        kill(-child->pid, SIGSTOP);
    if (child->entry.supervisor > 0)
        kill(child->entry.supervisor, patient ? SIGCONT : SIGKILL);
    else if (!patient && child->waiting_socket)
        give_up(child);
}

/* Closing our side of the socket makes the supervisor end everything. */
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
    (void)status; /* if the supervisor has gone, its side of the socket ends */
    free(write);
}

/* Sends to the supervisor, in order; data must stay valid. */
static void send_data(struct child *child, const char *data, size_t len)
{
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)data, (unsigned)len);
    uv_write_t *write = heap_alloc(sizeof(*write));

    if (uv_write(write, (uv_stream_t *)&child->socket, &buf, 1, on_written) != 0)
        free(write);
}

static void send_msg(struct child *child, enum supervisor_kind kind, int value)
{
    struct supervisor_msg *msg;

    if (!child->waiting_socket || child->wake || child->result.stopped || child->result.timed_out)
        return;
    msg = ARENA_NEW(child->arena, struct supervisor_msg);
    *msg = (struct supervisor_msg){.kind = (int32_t)kind, .value = value};
    send_data(child, (const char *)msg, sizeof(*msg));
}

static void request_check(void *arg)
{
    send_msg(arg, SUPERVISOR_CHECK, 0);
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
    child->passed[0] = child->passed[1] = child->passed[2] = -1;
    return child;
}

/* Opens the socket pair and the pipe. Returns 0 or an errno. */
static int open_channels(struct child *child, const struct child_spec *spec)
{
    int pair[2], out[2] = {-1, STDOUT_FILENO};

    if (!spec->argv[0])
        return EINVAL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    child->passed[0] = pair[1];
    uv_pipe_open(&child->socket, pair[0]);
    if (!spec->inherit_output && pipe2(out, O_CLOEXEC) != 0)
        return errno;
    child->passed[1] = out[1];
    child->passed[2] = spec->inherit_output || spec->inherit_stderr ? STDERR_FILENO : out[1];
    if (out[0] >= 0) {
        uv_pipe_open(&child->output_pipe, out[0]);
        child->waiting_output = true;
    }
    return 0;
}

static void pass_on(void *arg)
{
    struct child *child = arg;
    int error = spawn_server_send(child->passed[0], child->passed[1], child->passed[2]);

    timer_stop(child->retry);
    child->retry = NULL;
    if (error == EAGAIN) {
        child->retry = timer_start(child->loop, RETRY_MS, 0, pass_on, child);
        return;
    }
    close_passed(child);
    /* On success, later failures are reported on the socket. */
    if (error)
        not_started(child, "start a process for", error);
}

static int64_t forks_until_check_of(const struct child_limits *limits)
{
    int64_t processes = limits ? limits->processes : 0;

    return processes > 0 && processes < CHECKS_PER_LIMIT ? 1 : processes / CHECKS_PER_LIMIT;
}

struct child *child_spawn(struct loop *loop, const struct child_spec *spec, child_done_fn done,
                          void *arg)
{
    struct child *child = child_new(loop, spec, done, arg);
    size_t len;

    const char *request = spawn_request_text(child->arena, spec, child->grace_ms, &len);
    int error = request ? open_channels(child, spec) : E2BIG;
    if (error) {
        fail_to_start(child, error);
        return child;
    }
    child->entry = (struct child_entry){.forks_until_check = forks_until_check_of(spec->limits),
                                        .check = request_check,
                                        .child = child};
    child_registry_add(loop, &child->entry);
    child->waiting_process = child->waiting_socket = true;
    uv_read_start((uv_stream_t *)&child->socket, on_alloc, on_socket);
    if (child->waiting_output)
        uv_read_start((uv_stream_t *)&child->output_pipe, on_alloc, on_output);
    send_data(child, request, len);
    pass_on(child);
    if (spec->timeout_ms > 0)
        child->deadline = timer_start(loop, spec->timeout_ms, 0, on_deadline, child);
    return child;
}

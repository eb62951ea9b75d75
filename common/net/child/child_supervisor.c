/*
 * The program flagger-child: the spawn server, which forks supervisors and keeps N_READY of them
 * waiting, and the supervisor of a command.
 *
 * A supervisor releases its slot among the waiting ones if its command runs longer, or if other
 * commands wait; only then is the next one forked, so that it does not compete with this command
 * for the processor. If it still has the slot when the command has ended and left nothing behind,
 * it takes the next command.
 */
#define _GNU_SOURCE /* vfork, closefrom, CLONE_PARENT, environ */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/process.h"
#include "net/child/child_internal.h"

enum {
    N_READY = 4,
    LIFELINE = SPAWN_SOCKET + 1,
    NO_FORK_MS = 50, /* before another try to fork */
    EXIT_USAGE = 2,
    KILL_TICK_MS = 10,  /* interval between rounds of SIGKILL */
    BUSY_MS = 50,       /* interval between checks of memory that grows or is near the limit */
    CALM_MS = 250,      /* interval between checks of other memory */
    IDLE_MS = 1000,     /* interval between checks of processes; the daemon reports forks */
    MUCH = 8,           /* memory is near the limit above an eighth of it */
    GIVE_UP_MS = 10000, /* duration of SIGKILL: processes left then cannot be killed */
    LASTS_MS = 10,      /* a command that takes longer keeps its supervisor */
    ORPHAN_MS = 500,    /* grace period once the daemon has gone */
};

/* The slot among the waiting supervisors. Closing both makes room for a new one. */
struct supervisor_slot {
    int lifeline, socket;
};

/* RUNNING: the command works. ENDING: TERM was sent, and the grace period runs. KILLING: it is
 * over. */
enum stage { STAGE_RUNNING, STAGE_ENDING, STAGE_KILLING };

struct supervisor {
    pid_t command; /* process id, which is also its process group */
    int status;
    bool ended, exited_sent;
    bool hurried;
    bool peer_gone; /* the other side of the socket has gone */
    bool childless;
    struct spawn_request request;
    struct child_usage usage;
    int64_t next_check_ms; /* 0: at once */
    enum stage stage;
    pid_t parent;
    int64_t stage_ends_ms;
    int signal_fd, socket;
    const struct supervisor_slot *slot; /* NULL once released */
    int64_t slot_ends_ms;
};

static void send_msg(const struct supervisor *sv, enum supervisor_kind kind, int value)
{
    struct supervisor_msg msg = {.kind = (int32_t)kind, .value = value};
    /* Errors are ignored: the daemon has gone. */
    ssize_t n = send(sv->socket, &msg, sizeof(msg), MSG_NOSIGNAL);
    (void)n;
}

/* Signals every descendant once and returns their number. The group gets one signal, which no fork
 * escapes. */
static int signal_all(const struct supervisor *sv, int signum)
{
    size_t count;
    int found = 0;
    bool group = false;
    struct child_process *list = child_proc_list(&count);

    child_proc_mark(list, count, getpid());
    for (size_t i = 0; i < count; i++) {
        if (!list[i].ours || list[i].zombie)
            continue;
        found++;
        if (getpgid(list[i].pid) == sv->command) {
            group = true;
        } else {
            kill(list[i].pid, signum);
            kill(list[i].pid, SIGCONT);
        }
    }
    if (group) {
        kill(-sv->command, signum);
        kill(-sv->command, SIGCONT);
    }
    free(list);
    return found;
}

static void release_slot(struct supervisor *sv)
{
    if (!sv->slot)
        return;
    close(sv->slot->lifeline);
    close(sv->slot->socket);
    sv->slot = NULL;
}

static bool commands_wait(const struct supervisor *sv)
{
    char byte;
    return recv(sv->slot->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void set_stage(struct supervisor *sv, enum stage stage, int64_t ms)
{
    sv->stage = stage;
    sv->stage_ends_ms = clock_monotonic_ms() + ms;
}

static void begin_ending(struct supervisor *sv)
{
    if (sv->stage != STAGE_RUNNING)
        return;
    release_slot(sv);
    set_stage(sv, STAGE_ENDING, sv->request.grace_ms);
    signal_all(sv, SIGTERM);
}

/* The command has ended, but some of its descendants have not. */
static void end_the_rest(struct supervisor *sv)
{
    if (!sv->exited_sent)
        send_msg(sv, SUPERVISOR_EXITED, 0);
    sv->exited_sent = true;
    begin_ending(sv);
}

static void reap(struct supervisor *sv)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == sv->command) {
            sv->ended = true;
            sv->status = status;
        }
    }
    sv->childless = pid < 0 && errno == ECHILD;
}

static void receive(struct supervisor *sv)
{
    struct supervisor_msg msg;
    ssize_t n = recv(sv->socket, &msg, sizeof(msg), MSG_DONTWAIT | MSG_WAITALL);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        sv->peer_gone = true;
        begin_ending(sv);
    } else if (n == sizeof(msg) && msg.kind == SUPERVISOR_CHECK) {
        sv->next_check_ms = 0;
    }
}

static void take_signals(struct supervisor *sv)
{
    struct signalfd_siginfo info;

    while (read(sv->signal_fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo != SIGCHLD)
            begin_ending(sv);
    }
}

static int time_left_of_stage(const struct supervisor *sv)
{
    int64_t now = clock_monotonic_ms(), until = sv->stage_ends_ms;

    if (sv->stage == STAGE_KILLING)
        return KILL_TICK_MS;
    if (sv->stage == STAGE_RUNNING && !child_usage_needed(&sv->request.limits))
        return -1;
    if (child_usage_needed(&sv->request.limits) &&
        (sv->stage == STAGE_RUNNING || sv->next_check_ms < until))
        until = sv->next_check_ms;
    int64_t left = until - now;
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static int time_left(const struct supervisor *sv)
{
    int left = time_left_of_stage(sv);

    if (!sv->slot)
        return left;
    int64_t rest = sv->slot_ends_ms - clock_monotonic_ms();
    return rest <= 0 ? 0 : left >= 0 && left < rest ? left : (int)rest;
}

static void begin_killing(struct supervisor *sv)
{
    release_slot(sv);
    set_stage(sv, STAGE_KILLING, GIVE_UP_MS);
}

/* The daemon has gone and may be restarted at any moment: its old tasks must end before that. */
static void hurry(struct supervisor *sv)
{
    int64_t end = clock_monotonic_ms() + ORPHAN_MS;

    if (!sv->hurried && sv->stage_ends_ms > end)
        sv->stage_ends_ms = end;
    sv->hurried = true;
}

/*
 * Among thousands of runnable processes ours would be scheduled too late. Without permission for
 * this, the one call that has killed the group must suffice.
 */
static void raise_priority(void)
{
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};

    (void)sched_setscheduler(0, SCHED_RR, &lowest);
}

/* Forks are reported by the daemon; memory is polled, more often near the limit. */
static int64_t check_interval_ms(const struct supervisor *sv, int64_t memory_before)
{
    int64_t limit = sv->request.limits.memory, memory = sv->usage.memory;

    if (!sv->usage.has_last_pid)
        return BUSY_MS;
    if (limit <= 0)
        return IDLE_MS;
    return memory > limit / MUCH || memory > memory_before + memory_before / MUCH ? BUSY_MS
                                                                                  : CALM_MS;
}

/* A command over its limit gets no grace period: it would use even more. */
static void check_usage(struct supervisor *sv)
{
    int64_t now = clock_monotonic_ms(), memory = sv->usage.memory;

    if (now < sv->next_check_ms)
        return;
    enum child_limit over = child_usage_check(&sv->usage, &sv->request.limits, getpid());
    sv->next_check_ms = now + check_interval_ms(sv, memory);
    if (over == CHILD_LIMIT_NONE)
        return;
    kill(-sv->command, SIGKILL);
    raise_priority();
    send_msg(sv, SUPERVISOR_OVER_LIMIT, (int)over);
    begin_killing(sv);
}

/* Returns the number of processes left at the end, normally none. */
static int supervise(struct supervisor *sv)
{
    for (;;) {
        reap(sv);
        if (sv->childless)
            return 0;
        if (sv->ended)
            end_the_rest(sv);
        if (sv->slot && clock_monotonic_ms() >= sv->slot_ends_ms)
            release_slot(sv);
        if (sv->stage != STAGE_KILLING && child_usage_needed(&sv->request.limits))
            check_usage(sv);
        if (sv->stage == STAGE_ENDING && getppid() != sv->parent)
            hurry(sv);
        if (sv->stage == STAGE_ENDING && clock_monotonic_ms() >= sv->stage_ends_ms)
            begin_killing(sv);
        if (sv->stage == STAGE_KILLING) {
            int left = signal_all(sv, SIGKILL);
            if (clock_monotonic_ms() >= sv->stage_ends_ms)
                return left;
        }
        struct pollfd fds[2] = {{.fd = sv->signal_fd, .events = POLLIN},
                                {.fd = sv->peer_gone ? -1 : sv->socket, .events = POLLIN}};
        poll(fds, 2, time_left(sv));
        if (fds[0].revents)
            take_signals(sv);
        if (fds[1].revents)
            receive(sv);
    }
}

/* The failure of the forked child, which shares our memory until it executes the command. */
struct failure {
    enum supervisor_kind kind;
    int error;
};

static _Noreturn void fail_start(volatile struct failure *failure, enum supervisor_kind kind)
{
    failure->kind = kind;
    failure->error = errno;
    _exit(127);
}

/* Runs in the forked child: becomes the command, which inherits only its output. It gets a
 * process group of its own but no session: with autogroup scheduling, a new session would have
 * to wait. */
static _Noreturn void become_command(const struct spawn_request *request, pid_t supervisor, int out,
                                     int err, volatile struct failure *failure)
{
    sigset_t none;

    setpgid(0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        fail_start(failure, SUPERVISOR_FORK_FAILED);
    if (*request->cwd && chdir(request->cwd) != 0)
        fail_start(failure, SUPERVISOR_CHDIR_FAILED);
    if (child_limits_apply(&request->limits) != 0)
        fail_start(failure, SUPERVISOR_LIMITS_FAILED);
    /* If the supervisor is killed, at least the command dies too. Last, since a change of user
     * resets it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor)
        _exit(127);
    execvp(request->argv[0], request->argv);
    fail_start(failure, SUPERVISOR_EXEC_FAILED);
}

/*
 * Runs the command; exits if that fails. vfork() costs less than half of fork(). The child changes
 * only the failure, and process attributes in the kernel.
 */
static pid_t start_command(const struct supervisor *sv, int out, int err)
{
    volatile struct failure failure = {.kind = SUPERVISOR_STARTED};
    pid_t self = getpid();

    environ = sv->request.env;
    pid_t pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): we wait on purpose
    if (pid == 0) // NOLINTNEXTLINE(clang-analyzer-unix.Vfork): its own frame, and it never returns
        become_command(&sv->request, self, out, err, &failure);
    environ = NULL;
    if (pid < 0) {
        send_msg(sv, SUPERVISOR_FORK_FAILED, errno);
        _exit(1);
    }
    close(out);
    close(err);
    if (failure.kind != SUPERVISOR_STARTED) {
        waitpid(pid, NULL, 0);
        send_msg(sv, failure.kind, failure.error);
        _exit(1);
    }
    return pid;
}

static int prepare_supervisor(void)
{
    sigset_t all;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGHUP);
    int fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    /* If we were orphaned before this line, the end of the socket reveals it. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    process_set_batch(false); /* the spawn server does */
    return fd;
}

/* Sends both messages in one call, so that the daemon wakes once. */
static void send_ended(const struct supervisor *sv)
{
    const struct supervisor_msg msgs[] = {{.kind = SUPERVISOR_REUSED},
                                          {.kind = SUPERVISOR_ENDED, .value = sv->status}};
    const struct supervisor_msg *from = sv->slot ? msgs : msgs + 1;
    ssize_t n = send(sv->socket, from, (size_t)(msgs + 2 - from) * sizeof(*from), MSG_NOSIGNAL);

    (void)n;
}

static bool supervise_command(int signal_fd, int socket, int out, int err,
                              const struct supervisor_slot *slot)
{
    struct supervisor sv = {
        .socket = socket, .signal_fd = signal_fd, .parent = getppid(), .slot = slot};

    send_msg(&sv, SUPERVISOR_PID, getpid());
    if (!spawn_request_receive(socket, &sv.request))
        _exit(1);
    child_usage_begin(&sv.usage);
    sv.command = start_command(&sv, out, err);
    child_usage_started(&sv.usage, sv.command);
    send_msg(&sv, SUPERVISOR_STARTED, sv.command);
    sv.slot_ends_ms = commands_wait(&sv) ? 0 : clock_monotonic_ms() + LASTS_MS;
    int left = supervise(&sv);
    if (left > 0)
        send_msg(&sv, SUPERVISOR_LEFT, left);
    send_ended(&sv);
    if (!sv.slot)
        _exit(0);
    child_usage_end(&sv.usage);
    spawn_request_fini(&sv.request);
    close(socket); /* the daemon takes this for the end of the cleanup */
    return true;
}

/* The main loop of a supervisor: runs one command after another while it has its slot, then
 * exits. */
static _Noreturn void run_supervisor(int lifeline)
{
    const struct supervisor_slot slot = {.lifeline = LIFELINE, .socket = SPAWN_SOCKET};
    struct fd_message fd_message;
    int fds[SPAWN_FDS];

    /* Closes the lifelines of other supervisors. */
    if (lifeline != LIFELINE)
        dup3(lifeline, LIFELINE, O_CLOEXEC);
    closefrom(LIFELINE + 1);
    int signals = prepare_supervisor();
    if (signals < 0)
        _exit(0);
    do {
        fd_message_init(&fd_message);
        if (recvmsg(SPAWN_SOCKET, &fd_message.msg, MSG_CMSG_CLOEXEC) <= 0)
            _exit(0);
        const struct cmsghdr *header = CMSG_FIRSTHDR(&fd_message.msg);
        if (!header || header->cmsg_len != CMSG_LEN(SPAWN_FDS * sizeof(int)))
            _exit(1);
        memcpy(fds, CMSG_DATA(header), sizeof(fds));
    } while (supervise_command(signals, fds[0], fds[1], fds[2], &slot));
    _exit(0);
}

static bool daemon_gone(void)
{
    char byte;
    return recv(SPAWN_SOCKET, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Forks a sibling: the daemon reaps it. */
static pid_t fork_sibling(void)
{
    return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
}

/* Returns the lifeline of a new supervisor, which ends when that supervisor has released its
 * slot or died; -1 if fork fails. */
static int make_supervisor(void)
{
    int lifeline[2];

    if (pipe2(lifeline, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork_sibling();
    if (pid == 0)
        run_supervisor(lifeline[1]);
    close(lifeline[1]);
    if (pid < 0)
        close(lifeline[0]);
    return pid < 0 ? -1 : lifeline[0];
}

static _Noreturn void run_spawn_server(void)
{
    struct pollfd ready[N_READY];

    for (int i = 0; i < N_READY; i++)
        ready[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    while (!daemon_gone()) {
        bool lacking = false;
        for (int i = 0; i < N_READY; i++) {
            if (ready[i].fd < 0)
                ready[i].fd = make_supervisor();
            lacking |= ready[i].fd < 0;
        }
        poll(ready, N_READY, lacking ? NO_FORK_MS : -1);
        for (int i = 0; i < N_READY; i++) {
            if (ready[i].fd < 0 || !ready[i].revents)
                continue;
            close(ready[i].fd);
            ready[i].fd = -1;
        }
    }
    _exit(0);
}

static bool is_common_socket(int fd)
{
    int type = 0;
    socklen_t len = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

/* Resets all signals with the system call: glibc refuses to change two that its posix_spawn()
 * ignores. */
static void reset_signals(void)
{
    static const char as_by_default[64];

    for (int signum = 1; signum < NSIG; signum++)
        syscall(SYS_rt_sigaction, signum, as_by_default, NULL, sizeof(uint64_t));
}

/* Returns false if descriptor SPAWN_SOCKET is not the common socket; else it does not return. */
static bool serve_at_socket(void)
{
    sigset_t none;

    if (!is_common_socket(SPAWN_SOCKET) || fcntl(SPAWN_SOCKET, F_SETFD, FD_CLOEXEC) != 0)
        return false;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "flagger-child");
    /* Closes descriptors that libraries have opened without close-on-exec. */
    closefrom(SPAWN_SOCKET + 1);
    reset_signals();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    process_set_batch(true); /* does not preempt the command that took a supervisor */
    run_spawn_server();
}

void child_main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], CHILD_SUPERVISOR) != 0 || serve_at_socket())
        return;
    fprintf(stderr, "%s: " CHILD_SUPERVISOR " is for this program's own use\n", argv[0]);
    _exit(EXIT_USAGE);
}

/* --- the message from a daemon to a supervisor: a command, its environment, limits and
 * descriptors */

#define FIELDS(l)                                                                                  \
    &(l)->memory, &(l)->processes, &(l)->user_processes, &(l)->cpu_s, &(l)->files,                 \
        &(l)->file_size, &(l)->nice, &(l)->uid, &(l)->gid, &(l)->group

enum { FLAG_NO_NEW_PRIVILEGES = 1, FLAG_FILTER = 2, FLAG_FIRST_VICTIM = 4 };

char *child_limits_text(const struct child_limits *limits, char text[CHILD_LIMITS_TEXT])
{
    struct child_limits copy = limits ? *limits : (struct child_limits){0};
    const int64_t *fields[] = {FIELDS(&copy)};
    int flags = (copy.no_new_privileges ? FLAG_NO_NEW_PRIVILEGES : 0) |
                (copy.filter ? FLAG_FILTER : 0) | (copy.first_victim ? FLAG_FIRST_VICTIM : 0);
    int len = snprintf(text, CHILD_LIMITS_TEXT, "%d", flags);

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        len += snprintf(text + len, (size_t)(CHILD_LIMITS_TEXT - len), ",%" PRId64, *fields[i]);
    return text;
}

bool child_limits_read(const char *text, struct child_limits *out)
{
    *out = (struct child_limits){0};
    int64_t *fields[] = {FIELDS(out)};
    char *end;
    long flags = strtol(text, &end, 10);

    out->no_new_privileges = flags & FLAG_NO_NEW_PRIVILEGES;
    out->filter = flags & FLAG_FILTER;
    out->first_victim = flags & FLAG_FIRST_VICTIM;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (*end != ',')
            return false;
        *fields[i] = strtoll(end + 1, &end, 10);
    }
    return *end == '\0';
}

void fd_message_init(struct fd_message *fd_message)
{
    *fd_message = (struct fd_message){0};
    fd_message->iov = (struct iovec){.iov_base = &fd_message->byte, .iov_len = 1};
    fd_message->msg = (struct msghdr){.msg_iov = &fd_message->iov,
                                      .msg_iovlen = 1,
                                      .msg_control = fd_message->control,
                                      .msg_controllen = sizeof(fd_message->control)};
}

/* The format: the length, then fields that end with a zero byte: grace period, cwd, limits, number
 * of words, words, environment. */
const char *spawn_request_text(struct arena *arena, const struct child_spec *spec, int64_t grace_ms,
                               size_t *len)
{
    const char *const *env = spec->env ? spec->env : (const char *const *)environ;
    char limits[CHILD_LIMITS_TEXT];
    struct buf text;
    size_t words = 0;
    uint32_t size = 0;

    while (spec->argv[words])
        words++;
    buf_init(&text, SPAWN_REQUEST_MAX);
    buf_add(&text, (const char *)&size, sizeof(size));
    buf_printf(&text, "%lld%c%s%c%s%c%zu%c", (long long)grace_ms, 0, spec->cwd ? spec->cwd : "", 0,
               child_limits_text(spec->limits, limits), 0, words, 0);
    for (size_t i = 0; i < words; i++)
        buf_add(&text, spec->argv[i], strlen(spec->argv[i]) + 1);
    for (size_t i = 0; env[i]; i++)
        buf_add(&text, env[i], strlen(env[i]) + 1);
    size = (uint32_t)(text.len - sizeof(size));
    *len = text.len;
    char *kept = text.truncated ? NULL : arena_alloc(arena, text.len);
    if (kept) {
        memcpy(kept, text.data, text.len);
        memcpy(kept, &size, sizeof(size));
    }
    buf_fini(&text);
    return kept;
}

static bool read_all(int fd, char *to, size_t len)
{
    while (len > 0) {
        ssize_t n = read(fd, to, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        len -= (size_t)n;
    }
    return true;
}

/* The texts from *at to end, at most max of them, as a NULL-ended list. */
static char **take_list(char **at, const char *end, size_t max)
{
    size_t n = 0, room = 16;
    char **list = heap_array(room, sizeof(*list));

    for (; n < max && *at < end; *at += strlen(*at) + 1) {
        if (n + 1 == room)
            list = heap_grow(list, (room *= 2) * sizeof(*list));
        list[n++] = *at;
    }
    list[n] = NULL;
    return list;
}

static char *take(char **at, const char *end)
{
    char *text = *at < end ? *at : NULL;

    if (text)
        *at += strlen(text) + 1;
    return text;
}

bool spawn_request_receive(int fd, struct spawn_request *out)
{
    uint32_t size;

    if (!read_all(fd, (char *)&size, sizeof(size)) || size == 0 || size > SPAWN_REQUEST_MAX)
        return false;
    char *at = heap_alloc(size), *end = at + size;
    out->text = at;
    out->text_len = size;
    if (!read_all(fd, at, size) || end[-1] != '\0')
        return false;
    const char *grace = take(&at, end), *cwd = take(&at, end), *limits = take(&at, end);
    const char *words = take(&at, end);
    if (!words || !child_limits_read(limits, &out->limits))
        return false;
    out->grace_ms = strtoll(grace, NULL, 10);
    out->cwd = cwd;
    size_t n_words = strtoul(words, NULL, 10);
    out->argv = take_list(&at, end, n_words);
    out->env = take_list(&at, end, SIZE_MAX);
    for (size_t i = 0; i < n_words; i++)
        if (!out->argv[i])
            return false;
    return n_words > 0;
}

void spawn_request_fini(struct spawn_request *request)
{
    free(request->argv);
    free(request->env);
    explicit_bzero(request->text, request->text_len);
    free(request->text);
}

#define _GNU_SOURCE /* pipe2, closefrom */
#include "net/child_supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/child.h"
#include "net/child_limits.h"
#include "net/child_tree.h"

enum {
    KILL_TICK_MS = 10,  /* between two rounds of SIGKILL */
    WATCH_MS = 50,      /* between two looks at what is used */
    GIVE_UP_MS = 10000, /* of SIGKILL: what is left then cannot be killed */
    ORPHAN_MS = 500,    /* grace when there is nobody left to wait for an orderly end */
    EXIT_USAGE = 2,
};

/* RUNNING: the command works. ENDING: TERM was sent, the grace period runs. KILLING: it is over. */
enum phase { PHASE_RUNNING, PHASE_ENDING, PHASE_KILLING };

struct supervisor {
    pid_t command; /* also its process group */
    int status;
    bool ended;
    bool hurried;
    bool deaf; /* the other side of the socket has gone */
    bool childless;
    struct child_limits limits;
    bool watched; /* some limit is ours to hold */
    enum phase phase;
    pid_t parent;
    int64_t grace_ms;
    int64_t phase_ends_ms;
    int signal_fd;
};

static void say(enum supervisor_kind kind, int value)
{
    struct supervisor_msg msg = {.kind = (int32_t)kind, .value = value};
    /* A reader that has gone needs no message. */
    ssize_t n = send(CHILD_SOCKET, &msg, sizeof(msg), MSG_NOSIGNAL);
    (void)n;
}

/* Signals every descendant once and returns how many there are. The group is signalled as one: no
 * fork escapes that. */
static int signal_all(const struct supervisor *sv, int signum)
{
    size_t count;
    int found = 0;
    bool group = false;
    struct child_process *list = child_tree_list(&count);

    child_tree_mark(list, count, getpid());
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

static void begin_ending(struct supervisor *sv)
{
    if (sv->phase != PHASE_RUNNING)
        return;
    sv->phase = PHASE_ENDING;
    sv->phase_ends_ms = clock_monotonic_ms() + sv->grace_ms;
    signal_all(sv, SIGTERM);
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

static void hear(struct supervisor *sv)
{
    struct supervisor_msg msg;
    ssize_t n = recv(CHILD_SOCKET, &msg, sizeof(msg), MSG_DONTWAIT | MSG_WAITALL);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        sv->deaf = true;
        begin_ending(sv);
    } else if (n == sizeof(msg) && msg.kind == SUPERVISOR_SIGNAL && !sv->ended) {
        kill(-sv->command, msg.value);
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

static int time_left(const struct supervisor *sv)
{
    if (sv->phase == PHASE_RUNNING)
        return sv->watched ? WATCH_MS : -1;
    if (sv->phase == PHASE_KILLING)
        return KILL_TICK_MS;
    int64_t left = sv->phase_ends_ms - clock_monotonic_ms();
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static void begin_killing(struct supervisor *sv)
{
    sv->phase = PHASE_KILLING;
    sv->phase_ends_ms = clock_monotonic_ms() + GIVE_UP_MS;
}

/* We are gone and may be started anew at any moment: the old tasks must not be there then. */
static void hurry(struct supervisor *sv)
{
    int64_t end = clock_monotonic_ms() + ORPHAN_MS;

    if (!sv->hurried && sv->phase_ends_ms > end)
        sv->phase_ends_ms = end;
    sv->hurried = true;
}

/*
 * Among thousands of processes that all want to run, ours would get its turn too late. Where that
 * is not allowed, killing the group with one call, before anything is looked up, has to do.
 */
static void go_first(void)
{
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};

    (void)sched_setscheduler(0, SCHED_RR, &lowest);
}

/* Who takes more than was given gets no grace: it would take more still. */
static void watch(struct supervisor *sv)
{
    enum child_limit over = child_limits_check(&sv->limits, getpid());

    if (over == CHILD_LIMIT_NONE)
        return;
    kill(-sv->command, SIGKILL);
    go_first();
    say(SUPERVISOR_OVER_LIMIT, (int)over);
    begin_killing(sv);
}

/* Returns how many processes are left at the end: normally none. */
static int supervise(struct supervisor *sv)
{
    for (;;) {
        reap(sv);
        if (sv->childless)
            return 0;
        if (sv->ended)
            begin_ending(sv);
        if (sv->phase != PHASE_KILLING && sv->watched)
            watch(sv);
        if (sv->phase == PHASE_ENDING && getppid() != sv->parent)
            hurry(sv);
        if (sv->phase == PHASE_ENDING && clock_monotonic_ms() >= sv->phase_ends_ms)
            begin_killing(sv);
        if (sv->phase == PHASE_KILLING) {
            int left = signal_all(sv, SIGKILL);
            if (clock_monotonic_ms() >= sv->phase_ends_ms)
                return left;
        }
        struct pollfd fds[2] = {{.fd = sv->signal_fd, .events = POLLIN},
                                {.fd = sv->deaf ? -1 : CHILD_SOCKET, .events = POLLIN}};
        poll(fds, 2, time_left(sv));
        if (fds[0].revents)
            take_signals(sv);
        if (fds[1].revents)
            hear(sv);
    }
}

static void fail_start(int pipe_fd, enum supervisor_kind kind)
{
    struct supervisor_msg msg = {.kind = (int32_t)kind, .value = errno};
    ssize_t n = write(pipe_fd, &msg, sizeof(msg));
    (void)n;
    _exit(127);
}

/* In the forked child: becomes the command, with nothing of ours but its output. */
static void become_command(pid_t supervisor, int pipe_fd, const struct child_limits *limits,
                           const char *cwd, char **argv)
{
    sigset_t none;

    setpgid(0, 0);
    for (int signum = 1; signum < NSIG; signum++)
        signal(signum, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (*cwd && chdir(cwd) != 0)
        fail_start(pipe_fd, SUPERVISOR_CHDIR_FAILED);
    if (child_limits_apply(limits) != 0)
        fail_start(pipe_fd, SUPERVISOR_LIMITS_FAILED);
    /* Should somebody kill the supervisor itself, at least the command goes with it. Last, since a
     * change of user forgets it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor)
        _exit(127);
    execvp(argv[0], argv);
    fail_start(pipe_fd, SUPERVISOR_EXEC_FAILED);
}

/* Runs the command; ends the process when that cannot be done. */
static pid_t start_command(const struct child_limits *limits, const char *cwd, char **argv)
{
    struct supervisor_msg failure;
    int fds[2];
    pid_t self = getpid();

    pid_t pid = pipe2(fds, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid < 0) {
        say(SUPERVISOR_FORK_FAILED, errno);
        _exit(1);
    }
    if (pid == 0)
        become_command(self, fds[1], limits, cwd, argv);
    close(fds[1]);
    /* The pipe closes by itself when the command has been executed. */
    if (read(fds[0], &failure, sizeof(failure)) == sizeof(failure)) {
        waitpid(pid, NULL, 0);
        say((enum supervisor_kind)failure.kind, failure.value);
        _exit(1);
    }
    close(fds[0]);
    return pid;
}

static int take_over_signals(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGHUP);
    return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

void child_main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], CHILD_SUPERVISOR) != 0)
        return;
    struct supervisor sv = {0};
    if (argc < 6 || fcntl(CHILD_SOCKET, F_SETFD, FD_CLOEXEC) != 0 ||
        !child_limits_read(argv[4], &sv.limits)) {
        fprintf(stderr, "%s: " CHILD_SUPERVISOR " is for this program's own use\n", argv[0]);
        _exit(EXIT_USAGE);
    }
    /* Libraries open descriptors that an exec does not close; none of them is the command's
     * business. */
    closefrom(CHILD_SOCKET + 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sv.grace_ms = strtol(argv[2], NULL, 10);
    sv.parent = getppid();
    sv.watched = sv.limits.memory > 0 || sv.limits.processes > 0;
    sv.signal_fd = take_over_signals();
    if (sv.signal_fd < 0) {
        say(SUPERVISOR_FORK_FAILED, errno);
        _exit(1);
    }
    /* If we were orphaned before this line, the end of the socket tells us. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sv.command = start_command(&sv.limits, argv[3], argv + 5);
    say(SUPERVISOR_STARTED, sv.command);
    int left = supervise(&sv);
    if (left > 0)
        say(SUPERVISOR_LEFT, left);
    say(SUPERVISOR_ENDED, sv.status);
    _exit(0);
}

#define _GNU_SOURCE /* vfork */
#include "net/child/child_supervisor.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "net/child/child.h"
#include "net/child/child_limits.h"
#include "net/child/child_order.h"
#include "net/child/child_tree.h"
#include "net/child/child_watch.h"

enum {
    KILL_TICK_MS = 10,  /* between two rounds of SIGKILL */
    BUSY_MS = 50,       /* between two looks at memory that grows or is much already */
    CALM_MS = 250,      /* between two looks at other memory */
    IDLE_MS = 1000,     /* between two looks at processes; we are told when some were made */
    MUCH = 8,           /* memory counts as much from this part of the limit on */
    GIVE_UP_MS = 10000, /* of SIGKILL: what is left then cannot be killed */
    LASTS_MS = 10,      /* of a command: its supervisor will not be back soon */
    ORPHAN_MS = 500,    /* grace when there is nobody left to wait for an orderly end */
};

/* RUNNING: the command works. ENDING: TERM was sent, the grace period runs. KILLING: it is over. */
enum stage { STAGE_RUNNING, STAGE_ENDING, STAGE_KILLING };

struct supervisor {
    pid_t command; /* also its process group */
    int status;
    bool ended, said_exited;
    bool hurried;
    bool deaf; /* the other side of the socket has gone */
    bool childless;
    struct child_order order;
    struct child_watch watch;
    int64_t next_look_ms; /* 0: at once */
    enum stage stage;
    pid_t parent;
    int64_t stage_ends_ms;
    int signal_fd, socket;
    const struct supervisor_place *place; /* NULL: given up */
    int64_t place_ends_ms;
};

static void say(const struct supervisor *sv, enum supervisor_kind kind, int value)
{
    struct supervisor_msg msg = {.kind = (int32_t)kind, .value = value};
    /* A reader that has gone needs no message. */
    ssize_t n = send(sv->socket, &msg, sizeof(msg), MSG_NOSIGNAL);
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

static void give_up_place(struct supervisor *sv)
{
    if (!sv->place)
        return;
    close(sv->place->lifeline);
    close(sv->place->socket);
    sv->place = NULL;
}

static bool others_wait(const struct supervisor *sv)
{
    char byte;
    return recv(sv->place->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
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
    give_up_place(sv);
    set_stage(sv, STAGE_ENDING, sv->order.grace_ms);
    signal_all(sv, SIGTERM);
}

/* The command has ended, others have not. */
static void end_the_rest(struct supervisor *sv)
{
    if (!sv->said_exited)
        say(sv, SUPERVISOR_EXITED, 0);
    sv->said_exited = true;
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

static void hear(struct supervisor *sv)
{
    struct supervisor_msg msg;
    ssize_t n = recv(sv->socket, &msg, sizeof(msg), MSG_DONTWAIT | MSG_WAITALL);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        sv->deaf = true;
        begin_ending(sv);
    } else if (n == sizeof(msg) && msg.kind == SUPERVISOR_LOOK) {
        sv->next_look_ms = 0;
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
    if (sv->stage == STAGE_RUNNING && !child_watch_needed(&sv->order.limits))
        return -1;
    if (child_watch_needed(&sv->order.limits) &&
        (sv->stage == STAGE_RUNNING || sv->next_look_ms < until))
        until = sv->next_look_ms;
    int64_t left = until - now;
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static int time_left(const struct supervisor *sv)
{
    int left = time_left_of_stage(sv);

    if (!sv->place)
        return left;
    int64_t rest = sv->place_ends_ms - clock_monotonic_ms();
    return rest <= 0 ? 0 : left >= 0 && left < rest ? left : (int)rest;
}

static void begin_killing(struct supervisor *sv)
{
    give_up_place(sv);
    set_stage(sv, STAGE_KILLING, GIVE_UP_MS);
}

/* We are gone and may be started anew at any moment: the old tasks must not be there then. */
static void hurry(struct supervisor *sv)
{
    int64_t end = clock_monotonic_ms() + ORPHAN_MS;

    if (!sv->hurried && sv->stage_ends_ms > end)
        sv->stage_ends_ms = end;
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

/* Processes are told of; memory has to be looked at, often where it may soon be too much. */
static int64_t until_next_look(const struct supervisor *sv, int64_t memory_before)
{
    int64_t limit = sv->order.limits.memory, memory = sv->watch.memory;

    if (!sv->watch.numbered)
        return BUSY_MS;
    if (limit <= 0)
        return IDLE_MS;
    return memory > limit / MUCH || memory > memory_before + memory_before / MUCH ? BUSY_MS
                                                                                  : CALM_MS;
}

/* Who takes more than was given gets no grace: it would take more still. */
static void watch(struct supervisor *sv)
{
    int64_t now = clock_monotonic_ms(), memory = sv->watch.memory;

    if (now < sv->next_look_ms)
        return;
    enum child_limit over = child_watch_look(&sv->watch, &sv->order.limits, getpid());
    sv->next_look_ms = now + until_next_look(sv, memory);
    if (over == CHILD_LIMIT_NONE)
        return;
    kill(-sv->command, SIGKILL);
    go_first();
    say(sv, SUPERVISOR_OVER_LIMIT, (int)over);
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
            end_the_rest(sv);
        if (sv->place && clock_monotonic_ms() >= sv->place_ends_ms)
            give_up_place(sv);
        if (sv->stage != STAGE_KILLING && child_watch_needed(&sv->order.limits))
            watch(sv);
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
                                {.fd = sv->deaf ? -1 : sv->socket, .events = POLLIN}};
        poll(fds, 2, time_left(sv));
        if (fds[0].revents)
            take_signals(sv);
        if (fds[1].revents)
            hear(sv);
    }
}

/* What the forked child could not do. It shares our memory until it is the command. */
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

/* In the forked child: becomes the command, with nothing of ours but its output. A group of its own
 * and no session: where the kernel shares the processor by session (autogroup), a new one waits. */
static _Noreturn void become_command(const struct child_order *order, pid_t supervisor, int out,
                                     int err, volatile struct failure *failure)
{
    sigset_t none;

    setpgid(0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        fail_start(failure, SUPERVISOR_FORK_FAILED);
    if (*order->cwd && chdir(order->cwd) != 0)
        fail_start(failure, SUPERVISOR_CHDIR_FAILED);
    if (child_limits_apply(&order->limits) != 0)
        fail_start(failure, SUPERVISOR_LIMITS_FAILED);
    /* Should somebody kill the supervisor itself, at least the command goes with it. Last, since a
     * change of user forgets it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor)
        _exit(127);
    execvp(order->argv[0], order->argv);
    fail_start(failure, SUPERVISOR_EXEC_FAILED);
}

/*
 * Runs the command; ends the process when that cannot be done. The child borrows our memory instead
 * of getting a copy, which costs less than half, and we wait until it has executed the command; it
 * changes nothing but the failure, and what the kernel keeps for each process.
 */
static pid_t start_command(const struct supervisor *sv, int out, int err)
{
    volatile struct failure failure = {.kind = SUPERVISOR_STARTED};
    pid_t self = getpid();

    environ = sv->order.env;
    pid_t pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): we wait on purpose
    if (pid == 0) // NOLINTNEXTLINE(clang-analyzer-unix.Vfork): its own frame, and it never returns
        become_command(&sv->order, self, out, err, &failure);
    environ = NULL;
    if (pid < 0) {
        say(sv, SUPERVISOR_FORK_FAILED, errno);
        _exit(1);
    }
    close(out);
    close(err);
    if (failure.kind != SUPERVISOR_STARTED) {
        waitpid(pid, NULL, 0);
        say(sv, failure.kind, failure.error);
        _exit(1);
    }
    return pid;
}

int child_supervisor_ready(void)
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
    /* If we were orphaned before this line, the end of the socket tells us. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    process_wait_turn(false); /* the nursery does */
    return fd;
}

/* One message after the other in one piece, so that the reader wakes once. */
static void say_ended(const struct supervisor *sv)
{
    const struct supervisor_msg msgs[] = {{.kind = SUPERVISOR_STAYS},
                                          {.kind = SUPERVISOR_ENDED, .value = sv->status}};
    const struct supervisor_msg *from = sv->place ? msgs : msgs + 1;
    ssize_t n = send(sv->socket, from, (size_t)(msgs + 2 - from) * sizeof(*from), MSG_NOSIGNAL);

    (void)n;
}

bool child_supervise(int signal_fd, int socket, int out, int err,
                     const struct supervisor_place *place)
{
    struct supervisor sv = {
        .socket = socket, .signal_fd = signal_fd, .parent = getppid(), .place = place};

    say(&sv, SUPERVISOR_HERE, getpid());
    if (!child_order_receive(socket, &sv.order))
        _exit(1);
    child_watch_begin(&sv.watch);
    sv.command = start_command(&sv, out, err);
    child_watch_started(&sv.watch, sv.command);
    say(&sv, SUPERVISOR_STARTED, sv.command);
    sv.place_ends_ms = others_wait(&sv) ? 0 : clock_monotonic_ms() + LASTS_MS;
    int left = supervise(&sv);
    if (left > 0)
        say(&sv, SUPERVISOR_LEFT, left);
    say_ended(&sv);
    if (!sv.place)
        _exit(0);
    child_watch_end(&sv.watch);
    child_order_fini(&sv.order);
    close(socket); /* says that all of that has gone */
    return true;
}

/* System calls that the filter denies; processes and threads can still be created. */
#define _GNU_SOURCE /* CLONE_* */

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/child/child_internal.h"
#include "test/unit.h"

enum { NO_FILTER = 99 };

/* 0 if the call worked, else its errno. */
static int end_of(pid_t pid)
{
    int status = 0;

    if (pid < 0)
        return errno;
    if (pid == 0)
        _exit(0);
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : EIO;
}

static int call_clone(unsigned long flags)
{
    return end_of((pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));
}

static int plain_clone(void)
{
    return call_clone(0);
}
static int clone_user(void)
{
    return call_clone(CLONE_NEWUSER);
}
static int clone_mount(void)
{
    return call_clone(CLONE_NEWNS);
}
static int clone_net_and_pid(void)
{
    return call_clone(CLONE_NEWNET | CLONE_NEWPID);
}

static int clone3_user(void)
{
    struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    return end_of((pid_t)syscall(SYS_clone3, &args, sizeof(args)));
}

static int unshare_uts(void)
{
    return syscall(SYS_unshare, CLONE_NEWUTS) == 0 ? 0 : errno;
}

static int trace_me(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : errno;
}

static int plain_fork(void)
{
    return end_of(fork());
}

static void *thread(void *arg)
{
    return arg;
}

static int plain_thread(void)
{
    pthread_t id;
    int error = pthread_create(&id, NULL, thread, NULL);
    return error ? error : pthread_join(id, NULL);
}

/* Runs the probe in a process of its own that has the filter. */
static int filtered(int (*probe)(void))
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || child_filter_apply() != 0)
            _exit(NO_FILTER);
        _exit(probe());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

CASE(what_leads_out_is_refused)
{
    static int (*const refused[])(void) = {clone_user, clone_mount, clone_net_and_pid, unshare_uts,
                                           trace_me};
    if (filtered(plain_fork) == NO_FILTER)
        skip();
    EACH_ROW (row, refused)
        assert_int_equal(filtered(*row), EPERM);
    /* the C library then takes clone */
    assert_int_equal(filtered(clone3_user), ENOSYS);
}

CASE(what_programs_need_works)
{
    static int (*const allowed[])(void) = {plain_fork, plain_clone, plain_thread};
    if (filtered(plain_fork) == NO_FILTER)
        skip();
    EACH_ROW (row, allowed)
        assert_int_equal(filtered(*row), 0);
}

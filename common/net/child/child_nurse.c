#define _GNU_SOURCE /* closefrom, CLONE_PARENT */
#include "net/child/child_nurse.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process.h"
#include "net/child/child_supervisor.h"

enum { N_READY = 4, LIFELINE = CHILD_SOCKET + 1, NO_FORK_MS = 50, EXIT_USAGE = 2 };

void parcel_init(struct parcel *parcel)
{
    *parcel = (struct parcel){0};
    parcel->iov = (struct iovec){.iov_base = &parcel->byte, .iov_len = 1};
    parcel->msg = (struct msghdr){.msg_iov = &parcel->iov,
                                  .msg_iovlen = 1,
                                  .msg_control = parcel->control,
                                  .msg_controllen = sizeof(parcel->control)};
}

/* In a supervisor that is ready: takes one command after the other while it has its place, or ends
 * with us. */
static _Noreturn void serve(int lifeline)
{
    const struct supervisor_place place = {.lifeline = LIFELINE, .socket = CHILD_SOCKET};
    struct parcel parcel;
    int fds[PARCEL_FDS];

    /* The lifelines of the others are not ours. */
    if (lifeline != LIFELINE)
        dup3(lifeline, LIFELINE, O_CLOEXEC);
    closefrom(LIFELINE + 1);
    int signals = child_supervisor_ready();
    if (signals < 0)
        _exit(0);
    do {
        parcel_init(&parcel);
        if (recvmsg(CHILD_SOCKET, &parcel.msg, MSG_CMSG_CLOEXEC) <= 0)
            _exit(0);
        const struct cmsghdr *header = CMSG_FIRSTHDR(&parcel.msg);
        if (!header || header->cmsg_len != CMSG_LEN(PARCEL_FDS * sizeof(int)))
            _exit(1);
        memcpy(fds, CMSG_DATA(header), sizeof(fds));
    } while (child_supervise(signals, fds[0], fds[1], fds[2], &place));
    _exit(0);
}

static bool deserted(void)
{
    char byte;
    return recv(CHILD_SOCKET, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* As a brother of ours: the process that started us waits for it, and hears of its end. */
static pid_t fork_brother(void)
{
    return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
}

/* Returns the lifeline of a new supervisor: its end comes when that has given up its place, or has
 * died. -1: there is none now. */
static int make_one(void)
{
    int lifeline[2];

    if (pipe2(lifeline, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork_brother();
    if (pid == 0)
        serve(lifeline[1]);
    close(lifeline[1]);
    if (pid < 0)
        close(lifeline[0]);
    return pid < 0 ? -1 : lifeline[0];
}

static _Noreturn void nurse(void)
{
    struct pollfd ready[N_READY];

    for (int i = 0; i < N_READY; i++)
        ready[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    while (!deserted()) {
        bool lacking = false;
        for (int i = 0; i < N_READY; i++) {
            if (ready[i].fd < 0)
                ready[i].fd = make_one();
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

/* With the kernel's own call: posix_spawn() has two signals ignored that the library's will not
 * change. */
static void take_no_signal(void)
{
    static const char as_by_default[64];

    for (int signum = 1; signum < NSIG; signum++)
        syscall(SYS_rt_sigaction, signum, as_by_default, NULL, sizeof(uint64_t));
}

/* False: descriptor CHILD_SOCKET is not the common socket. Otherwise it does not return. */
static bool nurse_at_socket(void)
{
    sigset_t none;

    if (!is_common_socket(CHILD_SOCKET) || fcntl(CHILD_SOCKET, F_SETFD, FD_CLOEXEC) != 0)
        return false;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "flagger-child");
    /* Libraries open descriptors that an exec does not close; none of them is a command's business.
     */
    closefrom(CHILD_SOCKET + 1);
    take_no_signal();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    process_wait_turn(true); /* after the command that took a supervisor */
    nurse();
}

void child_main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], CHILD_SUPERVISOR) != 0 || nurse_at_socket())
        return;
    fprintf(stderr, "%s: " CHILD_SUPERVISOR " is for this program's own use\n", argv[0]);
    _exit(EXIT_USAGE);
}

#define _GNU_SOURCE /* memfd_create */
#include "net/child/child_nursery.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "net/child/child.h"
#include "net/child/child_image.h"
#include "net/child/child_nurse.h"

static struct {
    pid_t pid;   /* 0: there is none */
    pid_t owner; /* a process that was forked off has none */
    int socket;
    dev_t device; /* of its program */
    ino_t inode;
} nursery = {.socket = -1};

/* --- in this process */

/*
 * Our executable by its name, which is right also under valgrind; or, when it was replaced or
 * deleted on disk, by the link that still leads to what we run.
 */
static const char *own_executable(char path[PATH_MAX])
{
    size_t len = PATH_MAX;

    if (uv_exepath(path, &len) == 0 && access(path, X_OK) == 0)
        return path;
    return "/proc/self/exe";
}

/* The small program as a file without a name; -1: there is none, or the kernel does not let it. */
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

static int execute(const char *path, int socket, pid_t *pid)
{
    static char name[] = "flagger-child", flag[] = CHILD_SUPERVISOR;
    char *const argv[] = {name, flag, NULL}, *const env[] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, socket, CHILD_SOCKET);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    struct stat program = {0};
    int error = stat(path, &program) != 0 ? errno : 0;
    if (error == 0)
        error = posix_spawn(pid, path, &files, &attributes, argv, env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    nursery.device = program.st_dev;
    nursery.inode = program.st_ino;
    return error;
}

static int start(int socket, pid_t *pid)
{
    char path[PATH_MAX];
    int image = open_image(), error = ENOEXEC;

    if (image >= 0) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", image);
        error = execute(path, socket, pid);
        close(image);
    }
    return error ? execute(own_executable(path), socket, pid) : 0;
}

int child_nursery_prepare(void)
{
    int pair[2];
    pid_t pid;

    if (nursery.pid > 0 && nursery.owner == getpid())
        return 0;
    /* The socket of a parent that we were forked from is not ours to use. */
    if (nursery.socket >= 0)
        close(nursery.socket);
    nursery.socket = -1;
    nursery.pid = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    int error = start(pair[1], &pid);
    close(pair[1]);
    if (error) {
        close(pair[0]);
        return error;
    }
    nursery.pid = pid;
    nursery.owner = getpid();
    nursery.socket = pair[0];
    return 0;
}

void child_nursery_end(void)
{
    if (nursery.pid <= 0 || nursery.owner != getpid())
        return;
    close(nursery.socket);
    nursery.socket = -1;
    kill(nursery.pid, SIGKILL);
    waitpid(nursery.pid, NULL, 0);
    nursery.pid = 0;
}

bool child_nursery_owns(pid_t pid)
{
    char path[64];
    struct stat program;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return nursery.inode != 0 && stat(path, &program) == 0 && program.st_dev == nursery.device &&
           program.st_ino == nursery.inode;
}

void child_nursery_gone(pid_t pid)
{
    if (nursery.pid != pid || nursery.owner != getpid())
        return;
    close(nursery.socket);
    nursery.socket = -1;
    nursery.pid = 0;
}

pid_t child_nursery_pid(void)
{
    return nursery.owner == getpid() ? nursery.pid : 0;
}

static int send_parcel(const int fds[PARCEL_FDS])
{
    struct parcel parcel;

    parcel_init(&parcel);
    struct cmsghdr *header = CMSG_FIRSTHDR(&parcel.msg);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(PARCEL_FDS * sizeof(int));
    memcpy(CMSG_DATA(header), fds, PARCEL_FDS * sizeof(int));
    return sendmsg(nursery.socket, &parcel.msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
}

int child_nursery_hand_over(int socket, int out, int err)
{
    const int fds[PARCEL_FDS] = {socket, out, err};
    /* Somebody may have killed it: those that are ready would serve, and nobody after them. */
    if (child_nursery_pid() > 0 && waitpid(nursery.pid, NULL, WNOHANG) != 0)
        child_nursery_gone(nursery.pid);
    int error = child_nursery_prepare();
    return error ? error : send_parcel(fds);
}

/* The daemon's side of the spawn server: starts it, and sends it commands. */
#define _GNU_SOURCE /* memfd_create */

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

#include "net/child/child_internal.h"

/*
 * The program of supervisors (common/net/child/supervisor), embedded by the build. It has a
 * thirtieth of a daemon's memory mappings, so fork and exit are cheap. Empty in a build with
 * sanitizers, which does not allow static programs; the daemon then executes itself.
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
    pid_t owner; /* the process that has started it; not its forks */
    int socket;
    dev_t device; /* of its program */
    ino_t inode;
} server = {.socket = -1};

/*
 * The path of our executable, which is right under valgrind too; if it was replaced or deleted on
 * disk, the link to the running one.
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

static int execute(const char *path, int socket, pid_t *pid)
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
    int error = start(pair[1], &pid);
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
    /* It may have been killed: the waiting supervisors would serve, but no new ones would be
     * made. */
    if (spawn_server_pid() > 0 && waitpid(server.pid, NULL, WNOHANG) != 0)
        spawn_server_reaped(server.pid);
    int error = spawn_server_start();
    return error ? error : send_fds(fds);
}

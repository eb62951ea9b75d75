#define _GNU_SOURCE /* O_PATH */
#include "loadtester/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };

/* Without openat2: step by step, and no step is a link or goes up. */
static int walk(int dir, const char *path)
{
    char step[NAME_MAX + 1];
    int fd = dir;

    for (;;) {
        size_t len = strcspn(path, "/");
        int next = -1;
        if (len == 0 || len > NAME_MAX || (len == 2 && strncmp(path, "..", 2) == 0)) {
            errno = EXDEV;
        } else {
            memcpy(step, path, len);
            step[len] = '\0';
            next = openat(fd, step,
                          path[len] ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
                                    : FLAGS | O_NOFOLLOW);
        }
        int error = errno;
        if (fd != dir)
            close(fd);
        errno = error;
        if (next < 0 || !path[len])
            return next;
        fd = next;
        path += len + 1;
    }
}

static int open_below(int dir, const char *path)
{
    struct open_how how = {.flags = FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

    /* Some sandboxes do not know the call, and say EPERM. */
    return fd < 0 && (errno == ENOSYS || errno == EPERM) ? walk(dir, path) : fd;
}

static enum err fail(struct errinfo *ei, int error, const char *path)
{
    if (error == EXDEV || error == ELOOP)
        return err_set(ei, ERR_DENIED, "%.80s leads out of the folder of keys", path);
    return err_set(ei, error == ENOENT ? ERR_NOT_FOUND : ERR_DENIED,
                   "cannot open the key %.80s: %s", path, strerror(error));
}

enum err key_file_read(struct arena *arena, const char *dir, const char *path, char **out,
                       struct errinfo *ei)
{
    int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = folder < 0 ? -1 : open_below(folder, path);
    int error = errno;
    struct stat about;
    ssize_t len = 0, n = 0;

    *out = NULL;
    if (folder >= 0)
        close(folder);
    if (fd < 0)
        return fail(ei, error, path);
    char *text = arena_alloc(arena, KEY_FILE_MAX + 1);
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        close(fd);
        return err_set(ei, ERR_INVALID, "%.80s is no regular file", path);
    }
    while (len <= KEY_FILE_MAX - 1 && (n = read(fd, text + len, (size_t)(KEY_FILE_MAX - len))) > 0)
        len += n;
    error = errno;
    close(fd);
    if (n < 0)
        return fail(ei, error, path);
    if (len == KEY_FILE_MAX)
        return err_set(ei, ERR_INVALID, "%.80s is too long for a key", path);
    *out = text;
    return ERR_OK;
}

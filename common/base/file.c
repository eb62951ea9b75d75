#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

static enum err fail(struct errinfo *ei, int error, const char *verb, const char *path)
{
    enum err err = ERR_RETRY; /* full disk, too many open files, an I/O error */
    if (error == ENOENT || error == ENOTDIR)
        err = ERR_NOT_FOUND;
    else if (error == EACCES || error == EPERM || error == EROFS)
        err = ERR_DENIED;
    else if (error == EISDIR || error == ELOOP || error == ENAMETOOLONG || error == EINVAL ||
             error == ENXIO)
        err = ERR_INVALID;
    return err_set(ei, err, "cannot %s %s: %s", verb, path, strerror(error));
}

/* Reads to the end, at most max + 1 bytes. Returns 0 or an errno. */
static int read_all(int fd, size_t max, struct buf *buf)
{
    char chunk[16384];
    while (buf->len <= max) {
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n == 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        buf_add(buf, chunk, (size_t)n);
    }
    return 0;
}

/* open() of a pipe waits for a writer, and read() of a device may wait forever. */
static enum err open_regular(const char *path, int *out, struct errinfo *ei)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    *out = fd;
    if (fd < 0)
        return fail(ei, errno, "open", path);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        return ERR_OK;
    close(fd);
    return err_set(ei, ERR_INVALID, "cannot read %s: it is no regular file", path);
}

enum err file_check(const char *path, struct errinfo *ei)
{
    int fd;
    enum err err = open_regular(path, &fd, ei);

    if (err == ERR_OK)
        close(fd);
    return err;
}

enum err file_read(struct arena *arena, const char *path, size_t max, char **out, size_t *len,
                   struct errinfo *ei)
{
    *out = NULL;
    if (len)
        *len = 0;
    int fd;
    enum err err = open_regular(path, &fd, ei);
    if (err != ERR_OK)
        return err;
    struct buf buf;
    buf_init(&buf, max < SIZE_MAX ? max + 1 : max);
    int error = read_all(fd, max, &buf);
    close(fd);
    if (error) {
        err = fail(ei, error, "read", path);
    } else if (buf.len > max) {
        err = err_set(ei, ERR_INVALID, "%s is larger than the limit of %zu bytes", path, max);
    } else {
        *out = arena_strndup(arena, buf.data, buf.len);
        if (len)
            *len = buf.len;
    }
    buf_fini(&buf);
    return err;
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Makes the rename durable, if the file system can. */
static void sync_directory(const char *path)
{
    char *copy = heap_strdup(path);
    int fd = open(dirname(copy), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(copy);
}

enum err file_write(const char *path, const void *data, size_t len, unsigned mode,
                    struct errinfo *ei)
{
    char *temporary = heap_printf("%s.XXXXXX", path);
    enum err err = ERR_OK;
    int fd = mkstemp(temporary);
    if (fd < 0) {
        err = fail(ei, errno, "create a file beside", path);
        goto out;
    }
    int error = fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? errno : 0;
    if (!error)
        error = write_all(fd, data, len);
    if (!error && fchmod(fd, (mode_t)mode) != 0)
        error = errno;
    if (!error && fsync(fd) != 0)
        error = errno;
    if (close(fd) != 0 && !error)
        error = errno;
    if (!error && rename(temporary, path) != 0)
        error = errno;
    if (error) {
        unlink(temporary);
        err = fail(ei, error, "write", path);
        goto out;
    }
    sync_directory(path);
out:
    free(temporary);
    return err;
}

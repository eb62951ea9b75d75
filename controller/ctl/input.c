#include "ctl/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

enum { CHUNK = 16384 };

static int is_standard(const char *file)
{
    return strcmp(file, "-") == 0;
}

const char *input_name(const char *file)
{
    return is_standard(file) ? "<stdin>" : file;
}

/* At most one byte more than max; 0 or an errno. */
static int read_all(int fd, size_t max, struct buf *buf)
{
    char chunk[CHUNK];

    while (buf->len <= max) {
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0)
            buf_add(buf, chunk, (size_t)n);
    }
    return 0;
}

enum err input_read(struct arena *arena, const char *file, size_t max, char **out, size_t *len,
                    struct errinfo *ei)
{
    int fd = is_standard(file) ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    enum err err = ERR_OK;
    struct buf buf;

    if (fd < 0)
        return err_set(ei, ERR_NOT_FOUND, "cannot open %s: %s", file, strerror(errno));
    buf_init(&buf, max + 1);
    int error = read_all(fd, max, &buf);
    if (error)
        err = err_set(ei, ERR_INVALID, "cannot read %s: %s", input_name(file), strerror(error));
    else if (buf.len > max)
        err = err_set(ei, ERR_INVALID, "%s has more than %zu bytes", input_name(file), max);
    if (err == ERR_OK) {
        *len = buf.len;
        *out = arena_alloc(arena, buf.len + 1);
        memcpy(*out, buf.data, buf.len);
    }
    buf_fini(&buf);
    if (!is_standard(file))
        close(fd);
    return err;
}

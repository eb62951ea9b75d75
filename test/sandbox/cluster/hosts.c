#include "cluster/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

void hosts_begin(struct buf *text)
{
    buf_puts(text, "# kept by flagger-sandbox\n127.0.0.1 localhost\n::1 localhost ip6-localhost\n");
}

void hosts_add(struct buf *text, const char *address, const char *ns, const char *name)
{
    buf_printf(text, "%s %s.%s %s.%s.svc %s.%s.svc.cluster.local", address, name, ns, name, ns,
               name, ns);
    if (strcmp(ns, "default") == 0 || strcmp(ns, "test") == 0)
        buf_printf(text, " %s", name);
    buf_puts(text, "\n");
}

enum err hosts_write(const char *path, const struct buf *text, struct errinfo *ei)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_set(ei, ERR_DENIED, "cannot open the hosts file %s: %s", path, strerror(errno));

    enum err err = ERR_OK;
    char *bytes = NULL;
    if (fstat(fd, &st) != 0)
        goto failed;
    size_t len = text->len;
    if (st.st_size > (off_t)len && st.st_size <= HOSTS_MAX)
        len = (size_t)st.st_size;
    bytes = heap_alloc(len + 1);
    memset(bytes, '\n', len);
    memcpy(bytes, text->data, text->len);
    if (pwrite(fd, bytes, len, 0) != (ssize_t)len || ftruncate(fd, (off_t)text->len) != 0)
        goto failed;
    goto out;
failed:
    err = err_set(ei, ERR_DENIED, "cannot write the hosts file %s: %s", path, strerror(errno));
out:
    free(bytes);
    close(fd);
    return err;
}

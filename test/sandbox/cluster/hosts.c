/* The hosts file: where Services and Gateways are found by name. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cluster/context.h"
#include "object/meta.h"

void hosts_add(struct buf *text, const char *address, const char *ns, const char *name)
{
    buf_printf(text, "%s %s.%s %s.%s.svc %s.%s.svc.cluster.local", address, name, ns, name, ns,
               name, ns);
    /* clients and daemons run in these: within its own namespace a pod may use the short name */
    if (strcmp(ns, "default") == 0 || strcmp(ns, "test") == 0 || strcmp(ns, "flagger-system") == 0)
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

static void add_names(struct cluster *cluster, struct arena *arena, struct json_object *obj,
                      struct buf *text)
{
    const char *ns = meta_ns(obj), *name = meta_name(obj);
    struct json_object **pods;

    if (endpoints_headless(obj) && json_at(obj, "spec", "selector", NULL)) {
        size_t count = services_pods(cluster, arena, obj, &pods);
        for (size_t i = 0; i < count; i++)
            if (endpoints_serves(pods[i], false))
                hosts_add(text, json_str_at(pods[i], "status", "podIP", NULL), ns, name);
        return;
    }
    const char *address = services_address(cluster->services, ns, name);
    if (address)
        hosts_add(text, address, ns, name);
}

void hosts_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct cluster *cluster = arg;
    struct json_object **items;
    struct errinfo ei;
    struct buf text;

    (void)ns;
    (void)name;
    if (!cluster->options.hosts)
        return;
    buf_init(&text, HOSTS_MAX);
    buf_puts(&text,
             "# kept by flagger-sandbox\n127.0.0.1 localhost\n::1 localhost ip6-localhost\n");
    size_t count = context_list(cluster, arena, KIND_SERVICE, NULL, &items);
    for (size_t i = 0; i < count; i++)
        add_names(cluster, arena, items[i], &text);
    gateway_add_names(cluster, arena, &text);
    if (hosts_write(cluster->options.hosts, &text, &ei) != ERR_OK)
        log_error("hosts_file", NULL, ei.text);
    buf_fini(&text);
}

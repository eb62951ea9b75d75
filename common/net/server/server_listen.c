#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/server/server_internal.h"

enum {
    BACKLOG = 4096, /* the kernel makes less of it where somaxconn says so */
    RECEIVE_BYTES = 64 * 1024,
};

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static enum err listen_error(const char *where, int rc, struct errinfo *ei)
{
    enum err err = ERR_INVALID;

    if (rc == UV_EADDRINUSE)
        err = ERR_CONFLICT;
    else if (rc == UV_EACCES || rc == UV_EPERM)
        err = ERR_DENIED;
    return err_set(ei, err, "cannot listen on %s: %s", where, uv_strerror(rc));
}

static enum err parse_address(const char *address, int port, struct sockaddr_storage *out,
                              struct errinfo *ei)
{
    if (port < 0 || port > 65535)
        return err_set(ei, ERR_INVALID, "port %d is not between 0 and 65535", port);
    if (strcmp(address, "localhost") == 0)
        address = "127.0.0.1";
    if (uv_ip4_addr(address, port, (struct sockaddr_in *)out) == 0 ||
        uv_ip6_addr(address, port, (struct sockaddr_in6 *)out) == 0)
        return ERR_OK;
    return err_set(ei, ERR_INVALID, "cannot listen on \"%s\": expected an IP address or unix:/path",
                   address);
}

static int bound_port(const uv_tcp_t *tcp)
{
    struct sockaddr_storage addr;
    int len = sizeof(addr);

    if (uv_tcp_getsockname(tcp, (struct sockaddr *)&addr, &len) != 0)
        return 0;
    return ntohs(addr.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&addr)->sin6_port
                                            : ((struct sockaddr_in *)&addr)->sin_port);
}

/*
 * What the kernel holds of a connection is read in one turn of the loop; of a thousand connections
 * it would be so much that others wait. Connections inherit it.
 */
static void bound_receiving(uv_tcp_t *tcp)
{
    int bytes = RECEIVE_BYTES;
    uv_os_fd_t fd;

    if (uv_fileno((uv_handle_t *)tcp, &fd) == 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

static enum err listen_tcp(struct loop *loop, const char *address, int port,
                           uv_connection_cb on_connection, uv_stream_t **out, int *out_port,
                           struct errinfo *ei)
{
    struct sockaddr_storage addr;
    char where[128];
    enum err err = parse_address(address, port, &addr, ei);

    if (err != ERR_OK)
        return err;
    uv_tcp_t *tcp = heap_alloc(sizeof(*tcp));
    uv_tcp_init(loop_uv(loop), tcp);
    int rc = uv_tcp_bind(tcp, (struct sockaddr *)&addr, 0);
    bound_receiving(tcp);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)tcp, BACKLOG, on_connection);
    if (rc != 0) {
        uv_close((uv_handle_t *)tcp, free_handle);
        snprintf(where, sizeof(where), "%s port %d", address, port);
        return listen_error(where, rc, ei);
    }
    *out = (uv_stream_t *)tcp;
    *out_port = bound_port(tcp);
    return ERR_OK;
}

/* A socket file that nobody answers was left behind by a process that was killed. */
static bool is_stale(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(addr.sun_path))
        return false;
    memcpy(addr.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool stale = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 && errno == ECONNREFUSED;
    close(fd);
    return stale;
}

static bool directory_exists(const char *path)
{
    struct sockaddr_un addr; /* as long as a path can be here */
    size_t len = (size_t)(strrchr(path, '/') - path);

    memcpy(addr.sun_path, path, len);
    addr.sun_path[len] = '\0';
    return access(len > 0 ? addr.sun_path : "/", F_OK) == 0;
}

static enum err listen_unix(struct loop *loop, const char *path, uv_connection_cb on_connection,
                            uv_stream_t **out, struct errinfo *ei)
{
    struct sockaddr_un addr;

    if (*path != '/' || strlen(path) >= sizeof(addr.sun_path))
        return err_set(ei, ERR_INVALID, "unix:%s: expected an absolute path of at most %zu bytes",
                       path, sizeof(addr.sun_path) - 1);
    if (is_stale(path))
        unlink(path);
    uv_pipe_t *pipe = heap_alloc(sizeof(*pipe));
    uv_pipe_init(loop_uv(loop), pipe, 0);
    int rc = uv_pipe_bind(pipe, path);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)pipe, BACKLOG, on_connection);
    if (rc != 0) {
        uv_close((uv_handle_t *)pipe, free_handle);
        /* libuv calls a missing directory a lack of permission. */
        if (rc == UV_EACCES && !directory_exists(path))
            return err_set(ei, ERR_INVALID, "cannot listen on %s: there is no such directory",
                           path);
        return listen_error(path, rc, ei);
    }
    *out = (uv_stream_t *)pipe;
    return ERR_OK;
}

enum err server_listen(struct loop *loop, const struct http_server_options *options,
                       uv_connection_cb on_connection, uv_stream_t **out, int *port,
                       char **unix_path, struct errinfo *ei)
{
    const char *address = options->address ? options->address : "0.0.0.0";

    *unix_path = NULL;
    *port = 0;
    if (strncmp(address, "unix:", 5) != 0)
        return listen_tcp(loop, address, options->port, on_connection, out, port, ei);
    enum err err = listen_unix(loop, address + 5, on_connection, out, ei);
    if (err == ERR_OK)
        *unix_path = heap_strdup(address + 5);
    return err;
}

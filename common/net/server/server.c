/*
 * The life of a server: it listens, with or without a certificate, accepts clients, follows the
 * loop's iterations, and stops. server_conn.c limits and closes connections, server_request.c reads
 * requests, server_route.c dispatches them, server_reply.c answers.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "net/loop.h"
#include "net/server/server_internal.h"

enum {
    BACKLOG = 4096,            /* the kernel lowers it to somaxconn */
    RECEIVE_BYTES = 32 * 1024, /* set before a client connects: segments already on their way
                                * still fit */
    KEEPALIVE_S = 60,
    MAX_BODY = 1024 * 1024,
    REQUEST_TIMEOUT_MS = 30000,
    /* Together with MAX_EVICTED and other descriptors, below the 1,024 events that libuv takes
     * from one poll: when they are full, it polls and reads again without returning to us. */
    MAX_CONNECTIONS = 768,
    MAX_HELD = 32 * 1024 * 1024,
    FREE_ROUNDS = 1000,  /* loop iterations that http_server_free() takes at most */
    PATIENT_ROUNDS = 10, /* iterations before it closes the connections that are left */
    ROUND_MS = 1,        /* sleep between the iterations after that */
};

/* --- certificates */

/* HTTP/1.1 only: this h2o is older than the fix for HTTP/2's rapid resets. */
static int select_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned int in_len, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1";

    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len, ours, sizeof(ours) - 1, in,
                              in_len) == OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_OK;
    return SSL_TLSEXT_ERR_NOACK;
}

static enum err tls_error(const char *what, const char *file, struct errinfo *ei)
{
    char reason[160] = "unknown reason";
    unsigned long code = ERR_peek_last_error();

    if (code)
        ERR_error_string_n(code, reason, sizeof(reason));
    ERR_clear_error();
    return err_set(ei, ERR_INVALID, "cannot use the %s %s: %s", what, file, reason);
}

/* Rejects pipes, on which OpenSSL would block. */
static enum err check_files(const struct http_server_options *options, struct errinfo *ei)
{
    const struct {
        const char *what, *path;
    } files[] = {{"TLS certificate", options->tls_cert_file},
                 {"TLS key", options->tls_key_file},
                 {"CA of clients", options->tls_client_ca_file}};
    struct errinfo why;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (files[i].path && file_check(files[i].path, &why) != ERR_OK)
            return err_set(ei, ERR_INVALID, "cannot use the %s %s: %s", files[i].what,
                           files[i].path, why.text);
    }
    return ERR_OK;
}

static enum err load(SSL_CTX *ctx, const struct http_server_options *options, struct errinfo *ei)
{
    int verify = SSL_VERIFY_PEER;
    enum err err = check_files(options, ei);

    if (err != ERR_OK)
        return err;
    if (SSL_CTX_use_certificate_chain_file(ctx, options->tls_cert_file) != 1)
        return tls_error("TLS certificate", options->tls_cert_file, ei);
    if (SSL_CTX_use_PrivateKey_file(ctx, options->tls_key_file, SSL_FILETYPE_PEM) != 1)
        return tls_error("TLS key", options->tls_key_file, ei);
    if (!options->tls_client_ca_file)
        return ERR_OK;
    if (SSL_CTX_load_verify_locations(ctx, options->tls_client_ca_file, NULL) != 1)
        return tls_error("CA of clients", options->tls_client_ca_file, ei);
    if (!options->tls_client_optional)
        verify |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(ctx, verify, NULL);
    return ERR_OK;
}

/* The common name, on the heap. NULL if there is none, or more than one: it would be ambiguous. */
static char *common_name(const X509 *certificate)
{
    const X509_NAME *subject = X509_get_subject_name(certificate);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    unsigned char *utf8 = NULL;
    char *name = NULL;

    if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0)
        return NULL;
    int len =
        ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (len > 0 && strlen((const char *)utf8) == (size_t)len)
        name = heap_strdup((const char *)utf8);
    OPENSSL_free(utf8);
    ERR_clear_error();
    return name;
}

/*
 * Saves the client's name at the end of the handshake, since h2o does not expose its SSL. A resumed
 * session carries its certificate. The data of h2o's BIO is the socket (h2o 2.2,
 * lib/common/socket.c, setup_bio()): h2o has no function that returns a connection's certificate.
 */
static void on_handshake(const SSL *ssl, int where, int ret)
{
    (void)ret;
    if (!(where & SSL_CB_HANDSHAKE_DONE))
        return;
    const X509 *certificate = SSL_get0_peer_certificate(ssl);
    if (!certificate || SSL_get_verify_result(ssl) != X509_V_OK)
        return;
    BIO *bio = SSL_get_rbio(ssl);
    assert(strcmp(BIO_method_name(bio), "h2o_socket") == 0);
    const h2o_socket_t *sock = BIO_get_data(bio);
    struct server_conn *conn = sock->on_close.data;
    free(conn->client_name);
    conn->client_name = common_name(certificate);
}

static enum err make(const struct http_server_options *options, SSL_CTX **out, struct errinfo *ei)
{
    static const unsigned char context[] = "flagger-c";
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    if (!ctx)
        return err_set(ei, ERR_INVALID, "TLS cannot be set up");
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS); /* idle connections hold 34 KiB less */
    /* libuv refuses writes after a failed read, and h2o would wait forever for the end of its
     * close_notify. Lengths and chunks mark the end of HTTP/1.1 answers anyway. */
    SSL_CTX_set_quiet_shutdown(ctx, 1);
    SSL_CTX_set_session_id_context(ctx, context, sizeof(context) - 1);
    SSL_CTX_set_alpn_select_cb(ctx, select_protocol, NULL);
    SSL_CTX_set_info_callback(ctx, on_handshake);
    enum err err = load(ctx, options, ei);
    if (err != ERR_OK) {
        SSL_CTX_free(ctx);
        return err;
    }
    *out = ctx;
    return ERR_OK;
}

/* New connections get the new certificate; old ones hold a reference to theirs. */
static bool on_changed(void *arg)
{
    struct http_server *server = arg;
    struct errinfo info = {0};
    SSL_CTX *ctx = NULL;

    if (make(&server->options, &ctx, &info) != ERR_OK) {
        log_warn("tls_unread", NULL, info.text);
        return false;
    }
    SSL_CTX_free(server->accept.ssl_ctx);
    server->accept.ssl_ctx = ctx;
    log_info("tls_read", NULL, "the TLS certificate, key or CA of clients has changed");
    return true;
}

/* Stops watching the files. */
static void server_tls_stop(struct http_server *server)
{
    file_watch_stop(server->file_watch);
    server->file_watch = NULL;
}

/* Leaves accept.ssl_ctx NULL without a certificate; it is replaced when the files change. */
static enum err server_tls_start(struct http_server *server, struct errinfo *ei)
{
    const struct http_server_options *options = &server->options;
    const char *const files[] = {options->tls_cert_file, options->tls_key_file,
                                 options->tls_client_ca_file};

    if (!options->tls_cert_file && !options->tls_key_file) {
        if (options->tls_client_ca_file)
            return err_set(ei, ERR_INVALID, "a CA of clients needs a TLS certificate and key");
        return ERR_OK;
    }
    if (!options->tls_cert_file || !options->tls_key_file)
        return err_set(ei, ERR_INVALID, "TLS needs both a certificate file and a key file");
    server->file_watch = file_watch_start(server->loop, files, 3, on_changed, server);
    enum err err = make(options, &server->accept.ssl_ctx, ei);
    if (err != ERR_OK)
        server_tls_stop(server);
    return err;
}

/* --- listening */

static void free_uv_handle(uv_handle_t *handle)
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
 * Bounds the bytes that one loop iteration reads from a connection: with a thousand connections,
 * the kernel's default would delay everything else. Connections inherit the option.
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
        uv_close((uv_handle_t *)tcp, free_uv_handle);
        snprintf(where, sizeof(where), "%s port %d", address, port);
        return listen_error(where, rc, ei);
    }
    *out = (uv_stream_t *)tcp;
    *out_port = bound_port(tcp);
    return ERR_OK;
}

/* A socket file that refuses connections was left behind by a killed process. */
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
    struct sockaddr_un addr; /* has room for the longest path */
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
        uv_close((uv_handle_t *)pipe, free_uv_handle);
        /* libuv reports a missing directory as EACCES. */
        if (rc == UV_EACCES && !directory_exists(path))
            return err_set(ei, ERR_INVALID, "cannot listen on %s: there is no such directory",
                           path);
        return listen_error(path, rc, ei);
    }
    *out = (uv_stream_t *)pipe;
    return ERR_OK;
}

static enum err start_listening(struct loop *loop, const struct http_server_options *options,
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

static void accept_next(struct http_server *server);

static void free_conn(uv_handle_t *handle)
{
    struct server_conn *conn = (struct server_conn *)handle;
    struct http_server *server = conn->server;

    TAILQ_REMOVE(&server->conns, conn, link);
    server->conn_count--;
    SSL_CTX_free(conn->tls);
    free(conn->client_name);
    free(conn->address);
    free(conn);
    if (server->accept_waiting)
        accept_next(server);
}

static void on_sock_close(void *arg)
{
    struct server_conn *conn = arg;

    server_conn_leave(conn);
    conn->sock = NULL;
    if (conn->linger_fd >= 0)
        server_linger_start(conn->server, conn->linger_fd, LINGER_READ);
    conn->linger_fd = -1;
}

static struct server_conn *conn_new(struct http_server *server)
{
    struct server_conn *conn = heap_alloc(sizeof(*conn));

    *conn = (struct server_conn){.server = server, .linger_fd = -1, .state = CONN_LEAVING};
    if (server->unix_path)
        uv_pipe_init(loop_uv(server->loop), &conn->uv.pipe, 0);
    else
        uv_tcp_init(loop_uv(server->loop), &conn->uv.tcp);
    TAILQ_INSERT_TAIL(&server->conns, conn, link);
    server->conn_count++;
    return conn;
}

/*
 * h2o waits forever for a client that stops reading its reply. The kernel closes such a connection,
 * and one with a vanished peer, after the request time-out.
 */
static void bound_waiting(struct http_server *server, struct server_conn *conn)
{
    unsigned int timeout_ms = (unsigned int)server->conf.http1.req_timeout;

    uv_tcp_nodelay(&conn->uv.tcp, 1);
    uv_tcp_keepalive(&conn->uv.tcp, 1, KEEPALIVE_S);
    setsockopt(h2o_socket_get_fd(conn->sock), IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms,
               sizeof(timeout_ms));
}

/* The IP address without the port: the key of the per-client limits. */
static char *address_of(struct server_conn *conn)
{
    struct sockaddr_storage from = {0};
    int len = sizeof(from);
    char text[INET6_ADDRSTRLEN] = "";

    if (!conn->server->unix_path &&
        uv_tcp_getpeername(&conn->uv.tcp, (struct sockaddr *)&from, &len) == 0)
        (void)uv_ip_name((const struct sockaddr *)&from, text, sizeof(text));
    return heap_strdup(text);
}

/* libuv holds one client back, and stops listening, until uv_accept() is called. */
static void accept_next(struct http_server *server)
{
    if (!server->listener)
        return;
    server->accept_waiting = !server_limits_make_room(server);
    if (server->accept_waiting)
        return;
    struct server_conn *conn = conn_new(server);
    if (uv_accept(server->listener, &conn->uv.stream) != 0) {
        uv_close(&conn->uv.handle, free_conn);
        return;
    }
    conn->address = address_of(conn);
    conn->sock = h2o_uv_socket_create(&conn->uv.stream, free_conn);
    conn->sock->on_close.cb = on_sock_close;
    conn->sock->on_close.data = conn;
    if (!server->unix_path)
        bound_waiting(server, conn);
    conn->tls = server->accept.ssl_ctx;
    if (conn->tls)
        SSL_CTX_up_ref(conn->tls);
    h2o_accept(&server->accept, conn->sock);
    server_conn_enter(conn);
}

/* Runs before the loop polls. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct http_server *server = prepare->data;

    server_request_free_all_finished(server);
    server->iteration++;
    server->accepts = 0;
    if (server->accept_waiting)
        accept_next(server);
    if (TAILQ_EMPTY(&server->queue))
        server_share_clear(server); /* no request is left that arrived before they were made */
    server_guard_reads(server);
}

static void on_check(uv_check_t *check)
{
    server_limits_check(check->data);
}

static void start_iterations(struct http_server *server)
{
    server->check = heap_alloc(sizeof(*server->check));
    server->check->data = server;
    uv_check_init(loop_uv(server->loop), server->check);
    uv_check_start(server->check, on_check);
    uv_unref((uv_handle_t *)server->check);
    server->prepare = heap_alloc(sizeof(*server->prepare));
    server->prepare->data = server;
    uv_prepare_init(loop_uv(server->loop), server->prepare);
    uv_prepare_start(server->prepare, on_prepare);
    uv_unref((uv_handle_t *)server->prepare);
}

static void stop_iterations(struct http_server *server)
{
    uv_close((uv_handle_t *)server->prepare, free_uv_handle);
    uv_close((uv_handle_t *)server->check, free_uv_handle);
    timer_stop(server->queue_timer);
}

static void on_connection(uv_stream_t *listener, int status)
{
    if (status == 0)
        accept_next(listener->data);
}

static void on_drain(void *arg)
{
    http_server_stop(arg);
}

static void count_handle(uv_handle_t *handle, void *arg)
{
    (void)handle;
    ++*(int *)arg;
}

struct unref_walk {
    int skip;
};

static void unref_new(uv_handle_t *handle, void *arg)
{
    struct unref_walk *walk = arg;
    if (walk->skip-- <= 0)
        uv_unref(handle);
}

/* Only connections and the listener keep the loop alive, not h2o's timers and thread queue. */
static void init_context(struct http_server *server)
{
    uv_loop_t *uv = loop_uv(server->loop);
    struct unref_walk walk = {0};

    uv_walk(uv, count_handle, &walk.skip);
    h2o_context_init(&server->ctx, uv, &server->conf);
    uv_walk(uv, unref_new, &walk);
}

static void init_h2o(struct http_server *server)
{
    const struct http_server_options *options = &server->options;

    h2o_config_init(&server->conf);
    server->conf.server_name = h2o_iovec_init(H2O_STRLIT("flagger-c"));
    server->conf.max_request_entity_size = server->max_body;
    server->conf.http1.req_timeout = options->request_timeout_ms > 0
                                         ? (uint64_t)options->request_timeout_ms
                                         : (uint64_t)REQUEST_TIMEOUT_MS;
    server->conf.http1.upgrade_to_http2 = 0;
    h2o_hostconf_t *host =
        h2o_config_register_host(&server->conf, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    h2o_pathconf_t *path = &host->fallback_path;
    path->error_log.emit_request_errors = 0;
    server_route_register(server, path);
    server_error_filter_register(server, path);
    init_context(server);
    server->accept.ctx = &server->ctx;
    server->accept.hosts = server->conf.hosts;
}

/* Leaves half of the descriptors to the rest of the program. */
static int max_connections_by_rlimit(void)
{
    enum { LEAST = 16 };
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / 2 > INT_MAX)
        return INT_MAX;
    return files.rlim_cur / 2 > LEAST ? (int)(files.rlim_cur / 2) : LEAST;
}

enum err http_server_new(struct loop *loop, const struct http_server_options *options,
                         struct http_server **out, struct errinfo *ei)
{
    struct http_server *server = heap_alloc(sizeof(*server));

    *server = (struct http_server){
        .options = *options,
        .loop = loop,
        .max_body = options->max_body ? options->max_body : MAX_BODY,
        .max_connections =
            options->max_connections > 0 ? options->max_connections : MAX_CONNECTIONS,
    };
    if (server->max_connections > max_connections_by_rlimit())
        server->max_connections = max_connections_by_rlimit();
    TAILQ_INIT(&server->conns);
    TAILQ_INIT(&server->requests);
    TAILQ_INIT(&server->finished);
    TAILQ_INIT(&server->queue);
    TAILQ_INIT(&server->lingers);
    enum err err = server_tls_start(server, ei);
    if (err == ERR_OK)
        err = server_watch_start(server, ei);
    if (err == ERR_OK)
        err = start_listening(loop, options, on_connection, &server->listener, &server->port,
                              &server->unix_path, ei);
    if (err != ERR_OK) {
        server_watch_stop(server);
        server_tls_stop(server);
        SSL_CTX_free(server->accept.ssl_ctx);
        free(server);
        return err;
    }
    server->listener->data = server;
    server->metrics = server_metrics_get(options->name);
    init_h2o(server);
    server_limits_start(server, options->max_held ? options->max_held : MAX_HELD);
    start_iterations(server);
    loop_on_drain(loop, on_drain, server);
    *out = server;
    return ERR_OK;
}

int http_server_port(const struct http_server *server)
{
    return server->port;
}

void http_server_stop(struct http_server *server)
{
    struct server_conn *conn;

    if (server->stopping)
        return;
    server->stopping = true;
    server->accept_waiting = false;
    timer_stop(server->wakeup);
    timer_stop(server->trim);
    server->wakeup = server->trim = NULL;
    server_tls_stop(server);
    loop_off_drain(server->loop, on_drain, server);
    uv_close((uv_handle_t *)server->listener, free_uv_handle);
    server->listener = NULL;
    if (server->unix_path)
        unlink(server->unix_path);
    server->ctx.shutdown_requested = 1;
    TAILQ_FOREACH(conn, &server->conns, link)
    {
        if (!conn->request)
            server_conn_shut_read(conn);
    }
}

static void end_requests(struct http_server *server)
{
    struct http_conn_request *r, *next;

    for (r = TAILQ_FIRST(&server->requests); r; r = next) {
        next = TAILQ_NEXT(r, link); /* ending a stream may free it */
        if (r->state == REQUEST_PENDING) {
            if (r->on_gone)
                r->on_gone(r->gone_arg);
            http_reply_error(r, 500, "the server stopped before there was an answer");
        } else if (r->state == REQUEST_STREAMING) {
            server_request_abort(r);
        }
    }
}

static void cut_all(struct http_server *server)
{
    const struct server_conn *conn;

    TAILQ_FOREACH(conn, &server->conns, link)
    {
        if (conn->sock)
            shutdown(h2o_socket_get_fd(conn->sock), SHUT_RDWR);
    }
}

static void log_leaked(const struct http_server *server)
{
    const struct server_conn *conn = TAILQ_FIRST(&server->conns);

    log_error("connections_left", NULL, "connections did not end; their memory is given up",
              LOG_INT("connections", server->conn_count), LOG_INT("state", conn->state),
              LOG_INT("request", conn->request ? (int)conn->request->state : -1),
              LOG_INT("open", conn->sock != NULL));
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    http_server_stop(server);
    server->freeing = true;
    server_linger_end_all(server);
    end_requests(server);
    stop_iterations(server);
    for (int i = 0; i < FREE_ROUNDS && server->conn_count > 0; i++) {
        if (i >= PATIENT_ROUNDS) {
            cut_all(server);
            uv_sleep(ROUND_MS);
        }
        uv_run(loop_uv(server->loop), UV_RUN_NOWAIT);
    }
    if (server->conn_count > 0) {
        log_leaked(server);
        return;
    }
    server_watch_stop(server);
    server_share_clear(server);
    h2o_context_dispose(&server->ctx);
    h2o_config_dispose(&server->conf);
    SSL_CTX_free(server->accept.ssl_ctx);
    server_limits_end(server);
    free(server->unix_path);
    free(server);
}

void http_server_snapshot(const struct http_server *server, struct http_server_snapshot *out)
{
    *out = (struct http_server_snapshot){
        .connections = (int)server->conn_shares.taken,
        .max_connections = server->max_connections,
        .busy = (int)server->busy_shares.taken,
        .max_busy = (int)server->busy_shares.most,
        .held = server->byte_shares.taken,
        .max_held = server->byte_shares.most,
    };
}

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "net/server/server_internal.h"

enum {
    MAX_BODY = 1024 * 1024,
    REQUEST_TIMEOUT_MS = 30000,
    MAX_CONNECTIONS = 1024,
    MAX_HELD = 32 * 1024 * 1024,
    FREE_ROUNDS = 1000,  /* turns of the loop that http_server_free() takes at most */
    PATIENT_ROUNDS = 10, /* and after which it cuts what is still open */
    ROUND_MS = 1,        /* between turns from then on: what the kernel has to tell takes time */
};

struct route_handler {
    h2o_handler_t super;
    struct http_server *server;
};

static void generator_stop(h2o_generator_t *generator, h2o_req_t *req)
{
    /* The request's pool tells us; this only marks the generator as ours. */
    (void)generator;
    (void)req;
}

/* Whoever is to answer may have done so, or does it later; the client is watched meanwhile. */
static void settle(struct http_conn_request *r)
{
    if (r->state == REQUEST_PENDING || r->state == REQUEST_STREAMING)
        server_request_watch(r);
    server_request_free_spent(r); /* of many requests in one turn of the loop */
}

static void answer(struct http_conn_request *r)
{
    struct http_server *server = r->server;
    uint64_t start = uv_hrtime();

    server_route(r);
    settle(r);
    server->turn_ns += uv_hrtime() - start;
}

static void answer_queued(struct http_server *server)
{
    struct http_conn_request *r;

    server_turns_begin(server);
    while ((r = server_turns_next(server)))
        answer(r);
    if (TAILQ_EMPTY(&server->queue))
        server_share_forget(server); /* nobody is left who came before it was made */
}

static int on_request(h2o_handler_t *handler, h2o_req_t *req)
{
    struct http_server *server = ((struct route_handler *)handler)->server;
    struct http_conn_request *r = server_request_new(server, req);

    r->generator.stop = generator_stop;
    if (server_route_at_once(r)) {
        settle(r);
    } else if (server_turns_allow(server)) {
        answer(r);
    } else {
        server_turns_enter(r);
        settle(r);
    }
    return 0;
}

/* Before the loop waits. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct http_server *server = prepare->data;

    server_request_free_all_spent(server);
    server_read_bares(server);
    server->turns++;
    if (server->accept_waiting)
        server_accept_next(server);
    answer_queued(server);
}

static void start_turns(struct http_server *server)
{
    server->prepare = heap_alloc(sizeof(*server->prepare));
    server->prepare->data = server;
    uv_prepare_init(loop_uv(server->loop), server->prepare);
    uv_prepare_start(server->prepare, on_prepare);
    uv_unref((uv_handle_t *)server->prepare);
    server_turns_start(server);
}

static void on_prepare_closed(uv_handle_t *prepare)
{
    free(prepare);
}

static void stop_turns(struct http_server *server)
{
    uv_close((uv_handle_t *)server->prepare, on_prepare_closed);
    server_turns_stop(server);
}

static void on_connection(uv_stream_t *listener, int status)
{
    if (status == 0)
        server_accept_next(listener->data);
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

/* h2o's timers and its thread queue must not keep the loop alive: connections and the listener do.
 */
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
    struct route_handler *handler =
        (struct route_handler *)h2o_create_handler(path, sizeof(*handler));
    handler->super.on_req = on_request;
    handler->server = server;
    server_error_filter_register(server, path);
    init_context(server);
    server->accept.ctx = &server->ctx;
    server->accept.hosts = server->conf.hosts;
}

/* Half of the descriptors are for what the program itself opens. */
static int places_for_files(void)
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
        .max_held = options->max_held ? options->max_held : MAX_HELD,
        .max_connections =
            options->max_connections > 0 ? options->max_connections : MAX_CONNECTIONS,
    };
    if (server->max_connections > places_for_files())
        server->max_connections = places_for_files();
    TAILQ_INIT(&server->conns);
    TAILQ_INIT(&server->requests);
    TAILQ_INIT(&server->spent);
    TAILQ_INIT(&server->lingers);
    enum err err = server_tls_start(server, ei);
    if (err == ERR_OK)
        err = server_listen(loop, options, on_connection, &server->listener, &server->port,
                            &server->unix_path, ei);
    if (err != ERR_OK) {
        server_tls_stop(server);
        SSL_CTX_free(server->accept.ssl_ctx);
        free(server);
        return err;
    }
    server->listener->data = server;
    server->metrics = server_metrics_get(options->name);
    init_h2o(server);
    server_places_start(server);
    server_read_start(server);
    start_turns(server);
    loop_on_drain(loop, on_drain, server);
    *out = server;
    return ERR_OK;
}

int http_server_port(const struct http_server *server)
{
    return server->port;
}

static void free_listener(uv_handle_t *handle)
{
    free(handle);
}

void http_server_stop(struct http_server *server)
{
    struct server_conn *conn;

    if (server->stopping)
        return;
    server->stopping = true;
    server->accept_waiting = false;
    timer_stop(server->again);
    timer_stop(server->trim);
    server->again = server->trim = NULL;
    server_tls_stop(server);
    loop_off_drain(server->loop, on_drain, server);
    uv_close((uv_handle_t *)server->listener, free_listener);
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
    for (struct server_conn *conn = TAILQ_FIRST(&server->conns), *next; conn; conn = next) {
        next = TAILQ_NEXT(conn, link);
        if (!conn->sock)
            continue;
        shutdown(h2o_socket_get_fd(conn->sock), SHUT_RDWR);
        server_conn_complete_lost_write(conn);
    }
}

static void tell_left(const struct http_server *server)
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
    stop_turns(server);
    for (int i = 0; i < FREE_ROUNDS && server->conn_count > 0; i++) {
        if (i >= PATIENT_ROUNDS) {
            cut_all(server);
            uv_sleep(ROUND_MS);
        }
        uv_run(loop_uv(server->loop), UV_RUN_NOWAIT);
    }
    if (server->conn_count > 0) {
        tell_left(server);
        return;
    }
    server_share_forget(server);
    h2o_context_dispose(&server->ctx);
    h2o_config_dispose(&server->conf);
    SSL_CTX_free(server->accept.ssl_ctx);
    free(server->unix_path);
    free(server);
}

/*
 * Replies: whole ones, texts that several requests share, streams, files of a web page, and the
 * form of h2o's own errors.
 *
 * Sharing: a list that takes long to make may be requested by many clients in one iteration of the
 * loop. Queued requests get the text that was made for the first of them; it is never older than
 * the request, so no client misses a change made before it sent its request.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/encoding.h"
#include "base/json.h"
#include "net/server/server_internal.h"

/* With at most SMALL_QUEUE bytes queued, a stream is not closed to free memory for other
 * clients. */
enum { MAX_QUEUE = 1024 * 1024, SMALL_QUEUE = 128 * 1024 };

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Payload Too Large"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Entity"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return "Status";
}

bool server_is_head(const struct http_conn_request *r)
{
    return strcmp(r->method, "HEAD") == 0;
}

static void reply_begin(struct http_conn_request *r, int status, const char *content_type)
{
    h2o_req_t *req = r->req;

    assert(status >= 200 && status <= 599);
    r->status = status;
    req->res.status = status;
    req->res.reason = reason_of(status);
    if (content_type)
        h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
                       h2o_strdup(&req->pool, content_type, SIZE_MAX).base, strlen(content_type));
    /* After a change of the certificates the client has to reconnect, for a new handshake. */
    if (r->server->stopping || r->conn->tls != r->server->accept.ssl_ctx)
        req->http1_is_persistent = 0;
}

/* The body must stay valid until h2o has sent it or ended the request. */
static void reply_with(struct http_conn_request *r, int status, const char *content_type,
                       h2o_iovec_t body)
{
    bool bodiless = status == 204 || status == 304;

    reply_begin(r, status, content_type);
    server_conn_unwatch(r->conn);
    server_request_set_state(r, REQUEST_REPLIED);
    server_metrics_count(r);
    r->reply_len = body.len;
    server_request_finish(r);
    (void)server_conn_account(r->conn);
    if (!bodiless)
        r->req->res.content_length = body.len;
    h2o_start_response(r->req, &r->generator);
    r->end_sent = true;
    bool send_body = body.len > 0 && !bodiless && !server_is_head(r);
    h2o_send(r->req, &body, send_body ? 1 : 0, H2O_SEND_STATE_FINAL);
}

void http_reply(struct http_conn_request *req, int status, const char *content_type,
                const void *body, size_t len)
{
    if (req->state == REQUEST_OVER)
        return;
    assert(req->state == REQUEST_PENDING && "a request is answered once");
    reply_with(req, status, content_type, h2o_strdup(&req->req->pool, body ? body : "", len));
}

static void free_text(void *ptr)
{
    buf_fini(ptr);
}

static void forget_shared(struct server_shared *shared)
{
    if (shared->text)
        h2o_mem_release_shared(shared->text);
    free(shared->key);
    free(shared->type);
    *shared = (struct server_shared){.key = NULL};
}

void server_share_clear(struct http_server *server)
{
    for (int i = 0; i < SERVER_SHARED; i++)
        forget_shared(&server->shared[i]);
}

static struct server_shared *find_shared(struct http_server *server, const char *key)
{
    for (int i = 0; i < SERVER_SHARED; i++) {
        if (server->shared[i].key && strcmp(server->shared[i].key, key) == 0)
            return &server->shared[i];
    }
    return NULL;
}

static const struct server_shared *share_find(const struct http_conn_request *r, const char *key)
{
    const struct server_shared *shared = find_shared(r->server, key);

    return shared && shared->last >= r->number ? shared : NULL;
}

static const struct server_shared *share_put(struct http_conn_request *r, const char *key,
                                             const char *type, struct buf *text)
{
    struct http_server *server = r->server;
    struct server_shared *shared = find_shared(server, key);

    if (!shared)
        shared = &server->shared[server->next_shared++ % SERVER_SHARED];
    forget_shared(shared);
    *shared = (struct server_shared){.key = heap_strdup(key),
                                     .type = heap_strdup(type),
                                     .text = h2o_mem_alloc_shared(NULL, sizeof(*text), free_text),
                                     .last = server->last_number};
    *shared->text = *text;
    buf_init(text, text->max);
    return shared;
}

/* The text is reference-counted: a slow client keeps it after the other clients are done. */
static void reply_shared(struct http_conn_request *r, const struct server_shared *shared)
{
    h2o_mem_link_shared(&r->req->pool, shared->text);
    reply_with(r, 200, shared->type, h2o_iovec_init(shared->text->data, shared->text->len));
}

bool http_reply_shared(struct http_conn_request *req, const char *key)
{
    const struct server_shared *shared = share_find(req, key);

    if (!shared || req->state != REQUEST_PENDING)
        return false;
    reply_shared(req, shared);
    return true;
}

void http_reply_share(struct http_conn_request *req, const char *key, const char *content_type,
                      struct buf *body)
{
    if (req->state == REQUEST_OVER)
        return;
    assert(req->state == REQUEST_PENDING && "a request is answered once");
    reply_shared(req, share_put(req, key, content_type, body));
}

void http_reply_share_json(struct http_conn_request *req, const char *key, const char *json)
{
    struct buf text;

    buf_init(&text, strlen(json));
    buf_puts(&text, json);
    http_reply_share(req, key, "application/json", &text);
    buf_fini(&text);
}

void http_reply_text(struct http_conn_request *req, int status, const char *text)
{
    http_reply(req, status, "text/plain; charset=utf-8", text, strlen(text));
}

void http_reply_json(struct http_conn_request *req, int status, const char *json)
{
    http_reply(req, status, "application/json", json, strlen(json));
}

void http_reply_error(struct http_conn_request *req, int status, const char *text)
{
    struct json_object *obj = json_own(req->arena, json_object_new_object());

    json_set_str(obj, "error", text);
    http_reply_json(req, status, json_text(req->arena, obj));
}

void http_reply_header(struct http_conn_request *req, const char *name, const char *value)
{
    h2o_mem_pool_t *pool = &req->req->pool;
    h2o_iovec_t copy = h2o_strdup(pool, value, SIZE_MAX);
    char *lower = h2o_strdup(pool, name, SIZE_MAX).base;
    char *shown = h2o_strdup(pool, name, SIZE_MAX).base;

    /* Prevents header injection by line breaks. */
    for (size_t i = 0; i < copy.len; i++) {
        if ((unsigned char)copy.base[i] < 0x20 || copy.base[i] == 0x7f)
            copy.base[i] = ' ';
    }
    h2o_strtolower(lower, strlen(lower));
    h2o_add_header_by_str(pool, &req->req->res.headers, lower, strlen(lower), 1, shown, copy.base,
                          copy.len);
}

static void send_waiting(struct http_conn_request *r)
{
    bool last = r->end_asked;
    struct buf sent = r->flying;

    r->flying = r->waiting;
    buf_clear(&sent);
    r->waiting = sent;
    h2o_iovec_t piece = h2o_iovec_init(r->flying.data, r->flying.len);
    r->writing = true;
    r->end_sent = last;
    /* After the last piece h2o may end the request at once: r must not be touched. */
    h2o_send(r->req, &piece, piece.len > 0 ? 1 : 0,
             last ? H2O_SEND_STATE_FINAL : H2O_SEND_STATE_IN_PROGRESS);
}

/* Frees a buffer that has grown in a burst; a small one is kept. */
static void empty(struct http_conn_request *r, struct buf *queue)
{
    if (queue->cap <= SMALL_QUEUE) {
        buf_clear(queue);
        return;
    }
    buf_fini(queue);
    buf_init(queue, r->max_queue);
}

/* Called when h2o has handed the last piece to the kernel. */
static void stream_proceed(h2o_generator_t *generator, h2o_req_t *req)
{
    struct http_conn_request *r = (struct http_conn_request *)generator;

    (void)req;
    r->writing = false;
    empty(r, &r->flying);
    if (r->waiting.len == 0)
        empty(r, &r->waiting);
    if (r->state == REQUEST_STREAMING)
        (void)server_conn_account(r->conn);
    if (r->state == REQUEST_OVER) {
        r->end_sent = true;
        h2o_send(r->req, NULL, 0, H2O_SEND_STATE_ERROR);
    } else if (r->waiting.len > 0 || r->end_asked) {
        send_waiting(r);
    } else if (r->on_sent) {
        void (*fn)(void *arg) = r->on_sent;
        r->on_sent = NULL;
        fn(r->sent_arg);
    }
}

/* Sends the headers past the chunked encoder, which would wait for the first piece. */
static void send_headers(struct http_conn_request *r)
{
    r->writing = true;
    r->transport->do_send(r->transport, r->req, NULL, 0, H2O_SEND_STATE_IN_PROGRESS);
}

void http_stream_start(struct http_conn_request *req, int status, const char *content_type,
                       size_t max_queue)
{
    if (req->state == REQUEST_OVER)
        return;
    assert(req->state == REQUEST_PENDING && "a request is answered once");
    reply_begin(req, status, content_type);
    server_request_set_state(req, REQUEST_STREAMING);
    req->max_queue = max_queue ? max_queue : MAX_QUEUE;
    buf_init(&req->waiting, req->max_queue);
    buf_init(&req->flying, req->max_queue);
    /* Without chunks, only the end of the connection marks the end of the body. */
    if (req->req->version != 0x101)
        req->req->http1_is_persistent = 0;
    req->generator.proceed = stream_proceed;
    h2o_start_response(req->req, &req->generator);
    send_headers(req);
}

static void on_cut(void *arg)
{
    struct http_conn_request *r = arg;

    r->cut = NULL;
    server_request_abort(r);
}

bool http_stream_send(struct http_conn_request *req, const void *data, size_t len)
{
    if (req->state != REQUEST_STREAMING || req->cut)
        return false;
    if (server_is_head(req) || len == 0)
        return true;
    bool room = server_conn_account(req->conn);
    size_t queue = req->flying.len + req->waiting.len + len;
    if (queue > req->max_queue || (!room && queue > SMALL_QUEUE)) {
        /* The owner is notified from the loop, never within its own call. */
        req->cut = timer_start(req->server->loop, 0, 0, on_cut, req);
        return false;
    }
    buf_add(&req->waiting, data, len);
    if (!req->writing)
        send_waiting(req);
    return true;
}

size_t http_stream_queued(const struct http_conn_request *req)
{
    return req->state == REQUEST_STREAMING ? req->flying.len + req->waiting.len : 0;
}

void http_stream_on_sent(struct http_conn_request *req, void (*fn)(void *arg), void *arg)
{
    req->on_sent = fn;
    req->sent_arg = arg;
}

void http_stream_end(struct http_conn_request *req)
{
    if (req->state != REQUEST_STREAMING)
        return;
    req->on_sent = NULL;
    if (req->cut) {
        req->on_gone = NULL;
        return;
    }
    server_metrics_count(req);
    server_request_set_state(req, REQUEST_REPLIED);
    req->end_asked = true;
    if (req->server->stopping)
        req->req->http1_is_persistent = 0;
    server_conn_unwatch(req->conn);
    if (!req->writing)
        send_waiting(req);
}

void server_stream_fini(struct http_conn_request *r)
{
    timer_stop(r->cut);
    if (r->max_queue > 0) {
        buf_fini(&r->waiting);
        buf_fini(&r->flying);
    }
}

static const struct {
    const char *name, *value;
} file_headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
     "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'; trusted-types 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-cache"}, /* a new version of the daemon serves its own page at once */
};

static const struct http_file *find_file(const struct http_file *files, const char *path)
{
    while (files->path && strcmp(files->path, path) != 0)
        files++;
    return files->path ? files : NULL;
}

void http_files_serve(struct http_conn_request *req, const struct http_file *files)
{
    const struct http_file *file = find_file(files, http_req_path(req));
    if (!file) {
        http_reply_error(req, 404, "there is nothing at this path");
        return;
    }
    const char *etag =
        arena_printf(http_req_arena(req), "\"%016" PRIx64 "\"", hash_text(HASH_START, file->text));
    for (size_t i = 0; i < sizeof(file_headers) / sizeof(file_headers[0]); i++)
        http_reply_header(req, file_headers[i].name, file_headers[i].value);
    http_reply_header(req, "ETag", etag);
    const char *known = http_req_header(req, "if-none-match");
    if (known && strstr(known, etag))
        http_reply(req, 304, NULL, "", 0);
    else
        http_reply(req, 200, file->type, file->text, strlen(file->text));
}

/* h2o answers 413, 417 and 400 itself, in plain text; this filter turns them into JSON. */
struct error_filter {
    h2o_filter_t super;
    struct http_server *server;
};

/* NULL if no handler was called: the answer is h2o's own. */
static struct http_conn_request *request_of(h2o_req_t *req)
{
    const struct server_conn *conn = req->conn->callbacks->get_socket(req->conn)->on_close.data;

    return conn->request;
}

struct error_stream {
    h2o_ostream_t super;
    h2o_iovec_t body;
};

static void error_send(h2o_ostream_t *ostream, h2o_req_t *req, h2o_iovec_t *bufs, size_t count,
                       h2o_send_state_t state)
{
    struct error_stream *self = (struct error_stream *)ostream;

    (void)bufs;
    h2o_ostream_send_next(&self->super, req, &self->body, count > 0 ? 1 : 0, state);
}

static const char *error_text(const struct http_server *server, h2o_req_t *req)
{
    h2o_mem_pool_t *pool = &req->pool;
    enum { ROOM = 128 };

    if (req->res.status == 413) {
        char *text = h2o_mem_alloc_pool(pool, ROOM);
        snprintf(text, ROOM, "{\"error\":\"the body is longer than %zu bytes\"}", server->max_body);
        return text;
    }
    if (req->res.status == 417)
        return "{\"error\":\"the only expectation known is 100-continue\"}";
    return "{\"error\":\"the request is malformed\"}";
}

static void error_setup(h2o_filter_t *filter, h2o_req_t *req, h2o_ostream_t **slot)
{
    struct error_filter *self = (struct error_filter *)filter;
    struct http_conn_request *r = request_of(req);

    if (r) {
        h2o_setup_next_ostream(req, slot);
        for (r->transport = *slot; r->transport->next;)
            r->transport = r->transport->next;
        return;
    }
    server_linger_after(req);
    const char *text = error_text(self->server, req);
    struct error_stream *stream =
        (struct error_stream *)h2o_add_ostream(req, sizeof(*stream), slot);
    stream->super.do_send = error_send;
    stream->body = h2o_iovec_init(text, strlen(text));
    req->res.content_length = stream->body.len;
    req->res.headers = (h2o_headers_t){.entries = NULL};
    h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
                   H2O_STRLIT("application/json"));
    h2o_setup_next_ostream(req, &stream->super.next);
}

void server_error_filter_register(struct http_server *server, h2o_pathconf_t *pathconf)
{
    struct error_filter *self = (struct error_filter *)h2o_create_filter(pathconf, sizeof(*self));
    self->super.on_setup_ostream = error_setup;
    self->server = server;
}

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "net/server/server_internal.h"

/* What a client may send ahead while its request is being answered; then we stop reading until the
 * reply. */
enum { MAX_AHEAD = 64 * 1024 };

/* Everything of it that stands in the arena goes: h2o's pointers as well. */
void server_request_free_spent(struct http_conn_request *r)
{
    h2o_req_t *req = r->req;

    if (!r->is_spent)
        return;
    server_request_unspend(r);
    req->input.method = req->method = h2o_iovec_init(H2O_STRLIT("GET"));
    req->entity = h2o_iovec_init(NULL, 0);
    r->method = r->path = r->query = r->body = "";
    r->body_len = 0;
    arena_free(r->arena);
    r->arena = NULL;
    (void)server_places_count(r->conn);
}

void server_request_free_all_spent(struct http_server *server)
{
    struct http_conn_request *r;

    while ((r = TAILQ_FIRST(&server->spent)))
        server_request_free_spent(r);
}

static void request_dispose(void *ptr)
{
    struct http_conn_request *r = ptr;
    struct http_server *server = r->server;

    server_request_give_up(r);
    server_stream_fini(r);
    TAILQ_REMOVE(&server->requests, r, link);
    server_request_unspend(r);
    server_conn_request_over(r->conn);
    arena_free(r->arena);
}

/*
 * h2o's request points into the socket's input buffer, which moves when more is read: what h2o
 * looks at after the handler was called is pointed at our copies.
 */
static void detach_from_input(struct http_conn_request *r)
{
    h2o_req_t *req = r->req;

    req->input.method = req->method = h2o_iovec_init(r->method, strlen(r->method));
    req->input.path = h2o_strdup(&req->pool, req->input.path.base, req->input.path.len);
    req->path = req->path_normalized = req->input.path;
    if (req->input.authority.base)
        req->input.authority =
            h2o_strdup(&req->pool, req->input.authority.base, req->input.authority.len);
    req->authority = req->input.authority;
    req->entity = h2o_iovec_init(r->body, r->body_len);
    for (size_t i = 0; i < req->headers.size; i++) {
        h2o_header_t *h = &req->headers.entries[i];
        if (!h2o_iovec_is_token(h->name))
            *h->name = h2o_strdup(&req->pool, h->name->base, h->name->len);
        h->value = h2o_strdup(&req->pool, h->value.base, h->value.len);
    }
}

static const char *copy_body(struct arena *arena, h2o_iovec_t body)
{
    if (body.len == 0)
        return "";
    char *copy = arena_alloc(arena, body.len + 1);
    memcpy(copy, body.base, body.len);
    return copy;
}

void server_request_read_head(struct http_conn_request *r)
{
    const h2o_iovec_t *method = &r->req->input.method, *whole = &r->req->input.path;
    const char *query = memchr(whole->base, '?', whole->len);
    size_t path_len = query ? (size_t)(query - whole->base) : whole->len;

    r->method = arena_strndup(r->arena, method->base, method->len);
    r->path = arena_strndup(r->arena, whole->base, path_len);
    r->query = query ? arena_strndup(r->arena, query + 1, whole->len - path_len - 1) : "";
    r->body = "";
}

struct http_conn_request *server_request_new(struct http_server *server, h2o_req_t *req)
{
    struct http_conn_request *r = h2o_mem_alloc_shared(&req->pool, sizeof(*r), request_dispose);
    h2o_socket_t *sock = req->conn->callbacks->get_socket(req->conn);

    *r = (struct http_conn_request){
        .req = req,
        .server = server,
        .conn = sock->on_close.data,
        .arena = arena_new(),
        .number = ++server->last_number,
        .route = "unmatched",
        .started_ms = clock_monotonic_ms(),
        .state = REQUEST_PENDING,
        .ambiguous = server_request_is_ambiguous(req),
    };
    server_request_read_head(r);
    r->body = copy_body(r->arena, req->entity);
    r->body_len = req->entity.len;
    TAILQ_INSERT_TAIL(&server->requests, r, link);
    r->conn->request = r;
    server_conn_move(r->conn, CONN_BUSY);
    detach_from_input(r);
    return r;
}

static void on_ahead(h2o_socket_t *sock, const char *err)
{
    struct server_conn *conn = sock->on_close.data;

    if (err) {
        h2o_socket_read_stop(sock);
        if (conn->request && !conn->read_shut)
            server_request_abort(conn->request);
        return;
    }
    if (sock->input->size > conn->input_start + MAX_AHEAD)
        h2o_socket_read_stop(sock);
    (void)server_places_count(conn);
}

void server_request_watch(struct http_conn_request *r)
{
    h2o_socket_t *sock = r->conn->sock;

    if (!sock || r->conn->read_shut)
        return;
    r->conn->input_start = sock->input->size;
    h2o_socket_read_start(sock, on_ahead);
}

void http_req_drop(struct http_conn_request *req)
{
    req->on_gone = NULL;
    server_request_abort(req);
}

struct arena *http_req_arena(struct http_conn_request *req)
{
    return req->arena;
}

const char *http_req_method(const struct http_conn_request *req)
{
    return req->method;
}

const char *http_req_path(const struct http_conn_request *req)
{
    return req->path;
}

const char *http_req_query(const struct http_conn_request *req)
{
    return req->query;
}

const char *http_req_body(const struct http_conn_request *req, size_t *len)
{
    if (len)
        *len = req->body_len;
    return req->body;
}

void http_req_on_gone(struct http_conn_request *req, void (*fn)(void *arg), void *arg)
{
    req->on_gone = fn;
    req->gone_arg = arg;
}

const char *http_req_header(struct http_conn_request *req, const char *name)
{
    h2o_req_t *h2o = req->req;
    size_t len = strlen(name);

    for (size_t i = 0; i < h2o->headers.size; i++) {
        const h2o_header_t *h = &h2o->headers.entries[i];
        if (h->name->len == len && strncasecmp(h->name->base, name, len) == 0)
            return arena_strndup(req->arena, h->value.base, h->value.len);
    }
    /* h2o keeps these apart from the others. */
    if (strcasecmp(name, "host") == 0 && h2o->input.authority.base)
        return arena_strndup(req->arena, h2o->input.authority.base, h2o->input.authority.len);
    if (strcasecmp(name, "content-length") == 0 && req->body_len > 0)
        return arena_printf(req->arena, "%zu", req->body_len);
    return NULL;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The router has refused requests with broken escapes or %00 before any handler sees them. */
static char *decode(struct arena *arena, const char *text, size_t len, bool form)
{
    char *out = arena_alloc(arena, len + 1);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '+' && form) {
            out[n++] = ' ';
        } else if (text[i] == '%' && i + 2 < len && hex_digit(text[i + 1]) >= 0 &&
                   hex_digit(text[i + 2]) >= 0) {
            out[n++] = (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        } else {
            out[n++] = text[i];
        }
    }
    return out;
}

const char *http_req_param(struct http_conn_request *req, const char *name)
{
    const char *p = req->query;

    while (*p) {
        size_t len = strcspn(p, "&");
        const char *equals = memchr(p, '=', len);
        size_t name_len = equals ? (size_t)(equals - p) : len;
        if (strcmp(decode(req->arena, p, name_len, true), name) == 0)
            return equals ? decode(req->arena, equals + 1, len - name_len - 1, true) : "";
        p += len;
        if (*p == '&')
            p++;
    }
    return NULL;
}

const char *http_req_client_name(const struct http_conn_request *req)
{
    return req->conn->client_name;
}

const char *http_req_segment(struct http_conn_request *req, int index)
{
    const char *p = req->path;

    while (*p == '/') {
        size_t len = strcspn(++p, "/");
        if (index-- == 0)
            return decode(req->arena, p, len, false);
        p += len;
    }
    return NULL;
}

/*
 * Requests: their states, their creation from h2o's request, and the accessors of handlers.
 *
 * A request that another parser could read differently is rejected: a proxy in front of us that
 * uses the other one of two lengths would see another request after this one.
 */
#include <h2o.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/machine.h"
#include "net/server/server_internal.h"

enum { STATUS_CLIENT_GONE = 499 };

static const struct machine_state states[] = {
    [REQUEST_PENDING] = {.name = "pending",
                         .next =
                             1u << REQUEST_STREAMING | 1u << REQUEST_REPLIED | 1u << REQUEST_OVER},
    [REQUEST_STREAMING] = {.name = "streaming", .next = 1u << REQUEST_REPLIED | 1u << REQUEST_OVER},
    [REQUEST_REPLIED] = {.name = "replied", .next = 1u << REQUEST_OVER},
    [REQUEST_OVER] = {.name = "over"},
};
static const struct machine machine = {MACHINE_STATES(states), .event = "request_state",
                                       .level = LOG_DEBUG};

void server_request_set_state(struct http_conn_request *r, enum request_state state)
{
    machine_step(&machine, r->state, state, NULL, "a request goes on",
                 LOG_INT("request", (int64_t)r->number));
    r->state = state;
    server_queue_remove(r);
    if (state == REQUEST_REPLIED && r->conn->state == CONN_BUSY)
        server_conn_set_state(r->conn, CONN_SENDING);
}

void server_request_finish(struct http_conn_request *r)
{
    r->is_finished = true;
    TAILQ_INSERT_TAIL(&r->server->finished, r, finished);
}

static void request_unfinish(struct http_conn_request *r)
{
    if (r->is_finished)
        TAILQ_REMOVE(&r->server->finished, r, finished);
    r->is_finished = false;
}

static void request_give_up(struct http_conn_request *r)
{
    bool tell = r->state == REQUEST_PENDING || r->state == REQUEST_STREAMING;

    if (r->state == REQUEST_OVER)
        return;
    if (r->state == REQUEST_PENDING)
        r->status = STATUS_CLIENT_GONE;
    server_request_set_state(r, REQUEST_OVER);
    if (!tell)
        return;
    server_metrics_count(r);
    if (r->on_gone)
        r->on_gone(r->gone_arg);
}

void server_request_abort(struct http_conn_request *r)
{
    bool started = r->state != REQUEST_PENDING;
    struct server_conn *conn = r->conn;
    h2o_socket_t *sock = conn->sock;

    if (r->state == REQUEST_OVER)
        return;
    server_conn_unwatch(conn);
    request_give_up(r);
    r->req->http1_is_persistent = 0;
    if (sock)
        shutdown(h2o_socket_get_fd(sock), SHUT_RDWR);
    /* A write in progress fails now, and h2o closes. Otherwise an empty write makes it close. */
    if (!started) {
        r->req->res.status = STATUS_CLIENT_GONE;
        r->req->res.reason = "Client Closed Request";
        r->req->res.content_length = 0;
        h2o_start_response(r->req, &r->generator);
        h2o_send(r->req, NULL, 0, H2O_SEND_STATE_FINAL);
    } else if (!r->writing && !r->end_sent) {
        h2o_send(r->req, NULL, 0, H2O_SEND_STATE_ERROR);
    }
}

struct counts {
    int hosts, lengths, codings;
};

/* Returns false if the line cannot be a header. */
static bool count_line(const char *line, size_t len, struct counts *counts)
{
    static const char host[] = "host", length[] = "content-length", coding[] = "transfer-encoding";
    const char *colon = memchr(line, ':', len);

    /* Some parsers read a line that begins with a blank as the continuation of the line above. */
    if (!colon || *line == ' ' || *line == '\t')
        return false;
    size_t name = (size_t)(colon - line);
    counts->hosts += name == sizeof(host) - 1 && strncasecmp(line, host, name) == 0;
    counts->lengths += name == sizeof(length) - 1 && strncasecmp(line, length, name) == 0;
    counts->codings += name == sizeof(coding) - 1 && strncasecmp(line, coding, name) == 0;
    return true;
}

static bool is_ambiguous(h2o_req_t *req)
{
    const h2o_buffer_t *input = req->conn->callbacks->get_socket(req->conn)->input;
    const char *line = input->bytes; /* stays valid until the request is over */
    const char *end = line + input->size;
    struct counts counts = {0};
    bool first = true;

    for (const char *next; line < end; line = next) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline)
            return true;
        next = newline + 1;
        size_t len = (size_t)(newline - line);
        if (len > 0 && line[len - 1] == '\r')
            len--;
        if (len == 0 && !first)
            break;
        if (!first && !count_line(line, len, &counts))
            return true;
        first = first && len == 0; /* h2o skips an empty line in front of a request */
    }
    return counts.hosts > 1 || counts.lengths > 1 || counts.codings > 1 ||
           (counts.codings > 0 && (counts.lengths > 0 || req->version < 0x101));
}

static void request_read_head(struct http_conn_request *r)
{
    const h2o_iovec_t *method = &r->req->input.method, *whole = &r->req->input.path;
    const char *query = memchr(whole->base, '?', whole->len);
    size_t path_len = query ? (size_t)(query - whole->base) : whole->len;

    r->method = arena_strndup(r->arena, method->base, method->len);
    r->path = arena_strndup(r->arena, whole->base, path_len);
    r->query = query ? arena_strndup(r->arena, query + 1, whole->len - path_len - 1) : "";
    r->body = "";
}

void server_request_free_finished(struct http_conn_request *r)
{
    if (!r->is_finished)
        return;
    request_unfinish(r);
    r->method = r->path = r->query = r->body = "";
    r->body_len = 0;
    arena_free(r->arena);
    r->arena = NULL;
    (void)server_conn_account(r->conn);
}

void server_request_free_all_finished(struct http_server *server)
{
    struct http_conn_request *r;

    while ((r = TAILQ_FIRST(&server->finished)))
        server_request_free_finished(r);
}

static void request_dispose(void *ptr)
{
    struct http_conn_request *r = ptr;
    struct http_server *server = r->server;

    request_give_up(r);
    server_stream_fini(r);
    TAILQ_REMOVE(&server->requests, r, link);
    request_unfinish(r);
    server_conn_request_over(r->conn);
    arena_free(r->arena);
}

static const char *copy_body(struct arena *arena, h2o_iovec_t body)
{
    if (body.len == 0)
        return "";
    char *copy = arena_alloc(arena, body.len + 1);
    memcpy(copy, body.base, body.len);
    return copy;
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
        .ambiguous = is_ambiguous(req),
    };
    request_read_head(r);
    r->body = copy_body(r->arena, req->entity);
    r->body_len = req->entity.len;
    TAILQ_INSERT_TAIL(&server->requests, r, link);
    r->conn->request = r;
    server_conn_set_state(r->conn, CONN_BUSY);
    return r;
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
    /* h2o keeps these apart from the other headers. */
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

/* The dispatcher has rejected broken escapes and %00. */
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

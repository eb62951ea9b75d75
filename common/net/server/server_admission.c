/*
 * Who may send a body. The headers say who asks, and the body of somebody who is not known is not
 * read: he neither learns how long one may be nor makes us hold it.
 *
 * h2o hands a request over when it is whole. One whose body did not come along with its headers is
 * looked at here in between, and handed over without it when it has to be refused.
 */
#define _GNU_SOURCE /* memmem() */
#include <h2o.h>
#include <h2o/http1.h>
#include <string.h>

#include "net/server/server_internal.h"

bool server_knows(struct http_server *server, h2o_req_t *req)
{
    struct http_conn_request view = {.req = req, .server = server};

    if (!server->options.knows)
        return true;
    view.conn = req->conn->callbacks->get_socket(req->conn)->on_close.data;
    view.arena = arena_new();
    server_request_read_head(&view);
    bool known = server->options.knows(server->options.arg, &view);
    arena_free(view.arena);
    return known;
}

/* A line of a head, without its end; NULL when there is none any more. */
static const char *next_line(const char **at, const char *end, size_t *len)
{
    const char *line = *at, *newline = memchr(line, '\n', (size_t)(end - line));

    if (!newline)
        return NULL;
    *at = newline + 1;
    *len = (size_t)(newline - line);
    if (*len > 0 && line[*len - 1] == '\r')
        --*len;
    return *len > 0 ? line : NULL;
}

struct head {
    h2o_req_t req; /* as far as knows() looks at it */
    h2o_header_t headers[H2O_MAX_HEADERS];
    h2o_iovec_t names[H2O_MAX_HEADERS];
    const char *expect; /* where this name stands; NULL: nowhere */
};

static void add_header(struct head *head, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    size_t i = head->req.headers.size;

    if (!colon || i == H2O_MAX_HEADERS)
        return;
    const char *value = colon + 1, *end = line + len;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    head->names[i] = h2o_iovec_init(line, (size_t)(colon - line));
    head->headers[i].name = &head->names[i];
    head->headers[i].value = h2o_iovec_init(value, (size_t)(end - value));
    head->req.headers.size++;
    if (h2o_lcstris(line, (size_t)(colon - line), H2O_STRLIT("expect")))
        head->expect = line;
}

/* False: it is not whole, or h2o will refuse it. */
static bool read_head(struct head *head, const h2o_buffer_t *input)
{
    const char *at = input->bytes, *end = memmem(at, input->size, "\r\n\r\n", 4);
    size_t len;
    const char *line = end ? next_line(&at, end + 4, &len) : NULL;
    const char *path = line ? memchr(line, ' ', len) : NULL;
    const char *rest = path ? memchr(path + 1, ' ', len - (size_t)(path + 1 - line)) : NULL;

    if (!rest)
        return false;
    head->req.input.method = h2o_iovec_init(line, (size_t)(path - line));
    head->req.input.path = h2o_iovec_init(path + 1, (size_t)(rest - path - 1));
    head->req.headers.entries = head->headers;
    while ((line = next_line(&at, end + 4, &len)))
        add_header(head, line, len);
    return true;
}

/* h2o asks for the body before anybody has seen the request. It does not where the expectation has
 * another name, and then the request is refused like any other without its body. */
void server_hide_expectation(struct server_conn *conn)
{
    const h2o_buffer_t *input = conn->sock->input;

    if (!conn->server->options.knows || conn->state != CONN_READING || conn->coming_seen ||
        input->size == 0 || !memmem(input->bytes, input->size, "\r\n\r\n", 4))
        return;
    conn->coming_seen = true;
    struct arena *arena = arena_new();
    struct head *head = ARENA_NEW(arena, struct head);
    struct http_conn_request view = {
        .req = &head->req, .server = conn->server, .conn = conn, .arena = arena};
    if (read_head(head, input) && head->expect) {
        server_request_read_head(&view);
        if (!conn->server->options.knows(conn->server->options.arg, &view))
            input->bytes[head->expect - input->bytes] = 'X';
    }
    arena_free(arena);
}

static int is_of_conn(h2o_req_t *req, void *arg)
{
    struct server_conn *conn = arg;

    if (req->conn->callbacks->get_socket(req->conn) != conn->sock)
        return 0;
    conn->coming = req;
    return 1;
}

/* h2o's request, which has one place as long as the connection is open; NULL before it speaks HTTP.
 */
static h2o_req_t *coming(struct server_conn *conn)
{
    if (!conn->coming)
        H2O_HTTP1_CALLBACKS.foreach_request(&conn->server->ctx, is_of_conn, conn);
    return conn->coming;
}

bool server_refuses_body(struct server_conn *conn)
{
    h2o_socket_t *sock = conn->sock;

    if (!conn->server->options.knows || conn->body_judged || sock->input->size == 0 ||
        h2o_socket_is_writing(sock))
        return false;
    h2o_req_t *req = coming(conn);
    if (!req || req->timestamps.request_body_begin_at.tv_sec == 0)
        return false;
    conn->body_judged = true;
    if (server_knows(conn->server, req))
        return false;
    conn->is_unknown = true;
    h2o_socket_read_stop(sock);
    server_linger_after(req);
    h2o_process_request(req);
    return true;
}

void server_reply_unknown(struct http_conn_request *r)
{
    r->req->http1_is_persistent = 0;
    http_reply_header(r, "WWW-Authenticate", "Bearer");
    http_reply(r, 401, "application/json", SERVER_UNKNOWN_TEXT, strlen(SERVER_UNKNOWN_TEXT));
}

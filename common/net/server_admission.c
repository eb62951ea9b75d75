/*
 * Who may send a body. The headers say who asks, and the body of somebody who is not known is not
 * read: he neither learns how long one may be nor makes us hold it.
 *
 * h2o hands a request over when it is whole. One whose body did not come along with its headers is
 * looked at here in between, and handed over without it when it has to be refused.
 */
#include <h2o.h>
#include <h2o/http1.h>
#include <string.h>

#include "net/server_internal.h"

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

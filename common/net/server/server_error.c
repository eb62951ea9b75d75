#include <string.h>

#include "net/server/server_internal.h"

/* h2o answers a body that is too long, and what it cannot parse, by itself and in plain text. */
struct error_filter {
    h2o_filter_t super;
    struct http_server *server;
};

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

    if (req->res.status == 401)
        return SERVER_UNKNOWN_TEXT;
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

    /* Our own generators can be stopped, h2o's inline replies cannot. */
    if (req->_generator->stop) {
        h2o_setup_next_ostream(req, slot);
        return;
    }
    server_linger_after(req);
    if (req->res.status == 413 && !server_knows(self->server, req)) {
        req->res.status = 401;
        req->res.reason = server_reason(401);
    }
    const char *text = error_text(self->server, req);
    struct error_stream *stream =
        (struct error_stream *)h2o_add_ostream(req, sizeof(*stream), slot);
    stream->super.do_send = error_send;
    stream->body = h2o_iovec_init(text, strlen(text));
    req->res.content_length = stream->body.len;
    req->res.headers = (h2o_headers_t){.entries = NULL};
    h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
                   H2O_STRLIT("application/json"));
    if (req->res.status == 401)
        h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_WWW_AUTHENTICATE, NULL,
                       H2O_STRLIT("Bearer"));
    h2o_setup_next_ostream(req, &stream->super.next);
}

void server_error_filter_register(struct http_server *server, h2o_pathconf_t *pathconf)
{
    struct error_filter *self = (struct error_filter *)h2o_create_filter(pathconf, sizeof(*self));
    self->super.on_setup_ostream = error_setup;
    self->server = server;
}

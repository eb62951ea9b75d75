#include <assert.h>
#include <string.h>

#include "net/server/server_internal.h"

/* With no more than SMALL_QUEUE a stream is not cut for the memory that others hold. */
enum { MAX_QUEUE = 1024 * 1024, SMALL_QUEUE = 128 * 1024 };

static void send_waiting(struct http_conn_request *r)
{
    bool last = r->end_asked;
    struct buf sent = r->flying;

    r->flying = r->waiting;
    buf_clear(&sent);
    r->waiting = sent;
    h2o_iovec_t piece = h2o_iovec_init(r->flying.data, r->flying.len);
    r->writing = true;
    /* After the last piece h2o may end the request at once: nothing is touched any more. */
    h2o_send(r->req, &piece, piece.len > 0 ? 1 : 0,
             last ? H2O_SEND_STATE_FINAL : H2O_SEND_STATE_IN_PROGRESS);
}

/* A buffer that a burst has made large is not kept by a stream that has become quiet. */
static void empty(struct http_conn_request *r, struct buf *queue)
{
    if (queue->cap <= SMALL_QUEUE) {
        buf_clear(queue);
        return;
    }
    buf_fini(queue);
    buf_init(queue, r->max_queue);
}

/* h2o has handed the last piece to the kernel. */
static void stream_proceed(h2o_generator_t *generator, h2o_req_t *req)
{
    struct http_conn_request *r = (struct http_conn_request *)generator;

    (void)req;
    r->writing = false;
    empty(r, &r->flying);
    if (r->waiting.len == 0)
        empty(r, &r->waiting);
    if (r->state == REQUEST_STREAMING)
        (void)server_places_count(r->conn);
    if (r->state == REQUEST_OVER)
        h2o_send(r->req, NULL, 0, H2O_SEND_STATE_ERROR);
    else if (r->waiting.len > 0 || r->end_asked)
        send_waiting(r);
    else if (r->on_sent) {
        void (*fn)(void *arg) = r->on_sent;
        r->on_sent = NULL;
        fn(r->sent_arg);
    }
}

/* The chunked encoder would wait for the first piece: the headers go through the last stage by
 * hand. */
static void send_headers(struct http_conn_request *r)
{
    h2o_ostream_t *last = r->req->_ostr_top;

    while (last->next)
        last = last->next;
    r->writing = true;
    last->do_send(last, r->req, NULL, 0, H2O_SEND_STATE_IN_PROGRESS);
}

void http_stream_start(struct http_conn_request *req, int status, const char *content_type,
                       size_t max_queue)
{
    if (req->state == REQUEST_OVER)
        return;
    assert(req->state == REQUEST_PENDING && "a request is answered once");
    server_reply_begin(req, status, content_type);
    server_request_set_state(req, REQUEST_STREAMING);
    req->max_queue = max_queue ? max_queue : MAX_QUEUE;
    buf_init(&req->waiting, req->max_queue);
    buf_init(&req->flying, req->max_queue);
    /* Without chunks only the end of the connection shows the end of the body. */
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
    bool room = server_places_count(req->conn);
    size_t queue = req->flying.len + req->waiting.len + len;
    if (queue > req->max_queue || (!room && queue > SMALL_QUEUE)) {
        /* The owner hears of it from the loop, not inside its own call. */
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
    server_request_unwatch(req);
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

#include <assert.h>
#include <string.h>

#include "base/json.h"
#include "net/server/server_internal.h"

const char *server_reason(int status)
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

void server_reply_begin(struct http_conn_request *r, int status, const char *content_type)
{
    h2o_req_t *req = r->req;

    assert(status >= 200 && status <= 599);
    r->status = status;
    req->res.status = status;
    req->res.reason = server_reason(status);
    if (content_type)
        h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
                       h2o_strdup(&req->pool, content_type, SIZE_MAX).base, strlen(content_type));
    /* The client comes again with a new handshake when the certificates have changed. */
    if (r->server->stopping || r->conn->tls != r->server->accept.ssl_ctx)
        req->http1_is_persistent = 0;
}

/* The body stays until h2o has sent it or ended the request. */
static void reply_with(struct http_conn_request *r, int status, const char *content_type,
                       h2o_iovec_t body)
{
    bool bodiless = status == 204 || status == 304;

    server_reply_begin(r, status, content_type);
    server_request_unwatch(r);
    server_request_set_state(r, REQUEST_REPLIED);
    server_metrics_count(r);
    r->reply_len = body.len;
    server_request_spend(r);
    (void)server_places_count(r->conn);
    if (!bodiless)
        r->req->res.content_length = body.len;
    h2o_start_response(r->req, &r->generator);
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

/* What one client does not take stays for it, whoever else has done with it. */
static void reply_shared(struct http_conn_request *r, const struct server_shared *shared)
{
    h2o_mem_link_shared(&r->req->pool, shared->text);
    reply_with(r, 200, shared->type, h2o_iovec_init(shared->text->data, shared->text->len));
}

bool http_reply_shared(struct http_conn_request *req, const char *key)
{
    const struct server_shared *shared = server_share_find(req, key);

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
    reply_shared(req, server_share_put(req, key, content_type, body));
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

    /* A line break would start a header, or a reply, that nobody meant. */
    for (size_t i = 0; i < copy.len; i++) {
        if ((unsigned char)copy.base[i] < 0x20 || copy.base[i] == 0x7f)
            copy.base[i] = ' ';
    }
    h2o_strtolower(lower, strlen(lower));
    h2o_add_header_by_str(pool, &req->req->res.headers, lower, strlen(lower), 1, shown, copy.base,
                          copy.len);
}

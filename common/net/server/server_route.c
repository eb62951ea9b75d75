#include <ctype.h>
#include <string.h>

#include "base/expo.h"
#include "net/server/server_internal.h"

enum { MAX_METRICS = 28 * 1024 * 1024 };

static void reply_health(struct http_conn_request *r)
{
    http_reply_text(r, 200, "OK");
}

static void reply_ready(struct http_conn_request *r)
{
    const struct http_server *server = r->server;
    bool ready = !server->stopping && !loop_draining(server->loop);

    if (ready && server->options.ready)
        ready = server->options.ready(server->options.arg);
    if (ready)
        http_reply_text(r, 200, "OK");
    else
        http_reply_error(r, 503, "not ready");
}

static void reply_metrics(struct http_conn_request *r)
{
    static const char key[] = "/metrics";
    struct buf text;

    if (http_reply_shared(r, key))
        return;
    buf_init(&text, MAX_METRICS);
    expo_write(&text);
    http_reply_share(r, key, EXPO_CONTENT_TYPE, &text);
    buf_fini(&text);
}

static const struct builtin {
    const char *path;
    void (*fn)(struct http_conn_request *r);
    bool at_once;
} builtins[] = {
    {.path = "/healthz", .fn = reply_health, .at_once = true},
    {.path = "/readyz", .fn = reply_ready, .at_once = true},
    {.path = "/metrics", .fn = reply_metrics},
};

/* Escapes must be whole, and must not hide a NUL: texts here are NUL-terminated. */
static bool is_well_escaped(const char *text)
{
    for (const char *p = strchr(text, '%'); p; p = strchr(p + 1, '%')) {
        if (!isxdigit((unsigned char)p[1]) || !isxdigit((unsigned char)p[2]))
            return false;
        if (p[1] == '0' && p[2] == '0')
            return false;
    }
    return true;
}

static bool path_matches(const char *pattern, const char *path)
{
    size_t len = strlen(pattern);

    if (len >= 2 && strcmp(pattern + len - 2, "/*") == 0)
        return strncmp(pattern, path, len - 1) == 0;
    return strcmp(pattern, path) == 0;
}

static bool method_matches(const char *wanted, const struct http_conn_request *r)
{
    if (!wanted || strcmp(wanted, r->method) == 0)
        return true;
    return server_is_head(r) && strcmp(wanted, "GET") == 0;
}

static const struct builtin *find_builtin(const struct http_conn_request *r)
{
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
        if (!r->server->options.no_builtin && strcmp(builtins[i].path, r->path) == 0)
            return &builtins[i];
    }
    return NULL;
}

static void reply_builtin(struct http_conn_request *r, const struct builtin *builtin)
{
    r->route = builtin->path;
    if (method_matches("GET", r)) {
        builtin->fn(r);
    } else {
        http_reply_header(r, "Allow", "GET, HEAD");
        http_reply_error(r, 405, "this path takes GET");
    }
}

static void reply_wrong_method(struct http_conn_request *r, const char *allowed)
{
    http_reply_header(r, "Allow", allowed);
    http_reply_error(r, 405, arena_printf(r->arena, "this path takes %s", allowed));
}

/* What is kept for probes is not for others. */
static bool is_turned_away(struct http_conn_request *r)
{
    const char *why = NULL;

    if (r->server->busy_count > r->server->max_busy)
        why = "too many requests are being answered";
    else if (!server_places_count(r->conn))
        why = "the requests that are being answered hold all memory there is for them";
    if (!why)
        return false;
    http_reply_header(r, "Retry-After", "1");
    http_reply_error(r, 503, why);
    return true;
}

bool server_route_at_once(struct http_conn_request *r)
{
    if (r->conn->is_unknown) {
        server_reply_unknown(r);
        return true;
    }
    if (r->ambiguous) {
        r->req->http1_is_persistent = 0;
        server_linger_after(r->req); /* more of it may come */
        http_reply_error(r, 400, "two lengths, two hosts, or a length with chunks are refused");
        return true;
    }
    if (*r->path != '/' || !is_well_escaped(r->path) || !is_well_escaped(r->query)) {
        http_reply_error(r, 400, "the path must start with / and its escapes must be whole");
        return true;
    }
    const struct builtin *builtin = find_builtin(r);
    if (!builtin)
        return is_turned_away(r);
    if (builtin->at_once)
        reply_builtin(r, builtin);
    return builtin->at_once;
}

void server_route(struct http_conn_request *r)
{
    const struct builtin *builtin = find_builtin(r);
    const char *allowed = NULL;

    if (builtin) {
        reply_builtin(r, builtin);
        return;
    }
    if (r->server->options.admits && !r->server->options.admits(r->server->options.arg, r))
        return;
    for (const struct http_route *route = r->server->options.routes; route && route->path;
         route++) {
        if (!path_matches(route->path, r->path))
            continue;
        r->route = route->path;
        if (method_matches(route->method, r)) {
            route->fn(r->server->options.arg, r);
            return;
        }
        allowed =
            allowed ? arena_printf(r->arena, "%s, %s", allowed, route->method) : route->method;
    }
    if (allowed)
        reply_wrong_method(r, allowed);
    else
        http_reply_error(r, 404, "there is nothing at this path");
}

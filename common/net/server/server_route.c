/*
 * Dispatch: choosing the time and the route for a request; the built-in routes; the metrics of
 * requests; and the common parts of answers below /debug/.
 *
 * Many requests can be complete in one iteration of the loop, and each may take long: a large
 * message is parsed, a long list is made. So a request for which the turn of the loop has no time
 * is queued, in order of arrival. A probe is never queued.
 */
#include "net/server/server.h"

#include <assert.h>
#include <ctype.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "net/server/server_internal.h"

enum { MAX_METRICS = 28 * 1024 * 1024 };

/* Servers with the same name share their metrics, which are never freed: they belong to the
 * process, like the registry. */
struct server_metrics {
    struct server_metrics *next;
    char *name;
    struct metrics_family requests;
    struct metrics_family duration;
    struct metrics_family cut;
};

static struct server_metrics *all;

struct server_metrics *server_metrics_get(const char *name)
{
    if (!name)
        return NULL;
    for (struct server_metrics *m = all; m; m = m->next) {
        if (strcmp(m->name, name) == 0)
            return m;
    }
    struct server_metrics *m = heap_alloc(sizeof(*m));
    *m = (struct server_metrics){
        .next = all,
        .name = heap_strdup(name),
        .requests = {.name = heap_printf("%s_http_requests_total", name),
                     .help = "Requests answered, by route, method and status.",
                     .type = METRICS_COUNTER,
                     .labels = {"path", "method", "code"}},
        .duration = {.name = heap_printf("%s_http_request_duration_seconds", name),
                     .help = "Time from the whole request to its reply, by route.",
                     .type = METRICS_HISTOGRAM,
                     .labels = {"path"}},
        .cut = {.name = heap_printf("%s_http_connections_cut_total", name),
                .help = "Connections that gave way, by what was short: places or memory.",
                .type = METRICS_COUNTER,
                .labels = {"short"}},
    };
    all = m;
    return m;
}

/* Clients may send any method; the label must stay bounded. */
static const char *method_label(const char *method)
{
    static const char *const known[] = {"GET",   "HEAD",   "POST",    "PUT",
                                        "PATCH", "DELETE", "OPTIONS", NULL};

    for (const char *const *k = known; *k; k++) {
        if (strcmp(*k, method) == 0)
            return *k;
    }
    return "other";
}

void server_metrics_count(const struct http_conn_request *r)
{
    struct server_metrics *m = r->server->metrics;

    if (!m)
        return;
    assert(r->status >= 100 && r->status <= 999);
    const char code[] = {(char)('0' + r->status / 100), (char)('0' + r->status / 10 % 10),
                         (char)('0' + r->status % 10), '\0'};
    metrics_add(&m->requests, 1, r->route, method_label(r->method), code);
    metrics_observe(&m->duration, (double)(clock_monotonic_ms() - r->started_ms) / 1000.0,
                    r->route);
}

void server_metrics_evicted(struct http_server *server, const char *why)
{
    enum { QUIET_MS = 60000 };
    int64_t now = clock_monotonic_ms();

    if (server->metrics)
        metrics_add(&server->metrics->cut, 1, why);
    if (server->evict_logged_ms && now - server->evict_logged_ms < QUIET_MS)
        return;
    server->evict_logged_ms = now;
    log_warn("connections_cut", NULL,
             "the oldest idle connections are cut: clients hold all places, or all memory for "
             "requests",
             LOG_STR("short", why), LOG_INT("connections", (int64_t)server->conn_shares.taken),
             LOG_INT("bytes", (int64_t)server->byte_shares.taken));
}

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
    metrics_write(&text);
    http_reply_share(r, key, METRICS_CONTENT_TYPE, &text);
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

/* Escapes must be complete, and must not hide a NUL: texts here are NUL-terminated. */
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

/* Refuses the request if a limit is exceeded: what is left is for probes. */
static bool is_turned_away(struct http_conn_request *r)
{
    const struct shares *busy = &r->server->busy_shares;
    const char *why = NULL;

    if (busy->taken > busy->most)
        why = "too many requests are being answered";
    else if (server_conn_exceeds_share(r->conn))
        why = "too many requests of one client are being answered";
    else if (!server_conn_account(r->conn))
        why = "the requests that are being answered hold all memory there is for them";
    if (!why)
        return false;
    http_reply_header(r, "Retry-After", "1");
    http_reply_error(r, 503, why);
    return true;
}

static bool route_at_once(struct http_conn_request *r)
{
    if (!r->conn->is_counted) { /* evicted, and the rest arrived before h2o read the end of file */
        r->req->http1_is_persistent = 0;
        http_reply_error(r, 503, "others need the room of this request");
        return true;
    }
    if (r->ambiguous) {
        r->req->http1_is_persistent = 0;
        server_linger_after(r->req); /* more of it may arrive */
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

static void route(struct http_conn_request *r)
{
    const struct builtin *builtin = find_builtin(r);
    const char *allowed = NULL;

    if (builtin) {
        reply_builtin(r, builtin);
        return;
    }
    if (r->server->options.authorize && !r->server->options.authorize(r->server->options.arg, r))
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

void server_queue_remove(struct http_conn_request *r)
{
    if (r->is_queued)
        TAILQ_REMOVE(&r->server->queue, r, queue_link);
    r->is_queued = false;
}

static void run_queued(void *arg);

static void want_queue(struct http_server *server)
{
    if (!server->queue_timer)
        server->queue_timer = timer_start(server->loop, 0, 0, run_queued, server);
}

static void queue_add(struct http_conn_request *r)
{
    struct http_server *server = r->server;

    r->is_queued = true;
    TAILQ_INSERT_TAIL(&server->queue, r, queue_link);
    want_queue(server);
}

static bool may_run_now(const struct http_server *server)
{
    return server->freeing || (TAILQ_EMPTY(&server->queue) && loop_may_work(server->loop));
}

struct route_handler {
    h2o_handler_t super;
    struct http_server *server;
};

/* The handler may reply now or later; until then the client is watched for disconnect. */
static void after_handler(struct http_conn_request *r)
{
    if (r->state == REQUEST_PENDING || r->state == REQUEST_STREAMING)
        server_watch_soon(r->server);
    server_request_free_finished(r); /* there may be many requests in one iteration */
}

static void run(struct http_conn_request *r)
{
    route(r);
    after_handler(r);
}

static void run_queued(void *arg)
{
    struct http_server *server = arg;
    struct http_conn_request *r;

    server->queue_timer = NULL;
    while ((r = TAILQ_FIRST(&server->queue))) {
        server_queue_remove(r);
        run(r);
        if (!loop_has_time(server->loop)) {
            want_queue(server);
            return;
        }
    }
}

static int on_request(h2o_handler_t *handler, h2o_req_t *req)
{
    struct http_server *server = ((struct route_handler *)handler)->server;
    struct http_conn_request *r = server_request_new(server, req);

    if (route_at_once(r)) {
        after_handler(r);
    } else if (may_run_now(server)) {
        run(r);
    } else {
        queue_add(r);
        after_handler(r);
    }
    return 0;
}

void server_route_register(struct http_server *server, h2o_pathconf_t *path)
{
    struct route_handler *handler =
        (struct route_handler *)h2o_create_handler(path, sizeof(*handler));

    handler->super.on_req = on_request;
    handler->server = server;
}

/* --- answers below /debug/ */

bool debug_admits(struct http_conn_request *req)
{
    const char *site = http_req_header(req, "sec-fetch-site");

    if (!http_req_header(req, "origin") && (!site || strcasecmp(site, "none") == 0))
        return true;
    http_reply_error(req, 403,
                     "a page of another site sent this request (Origin, Sec-Fetch-Site); it is "
                     "shown nothing");
    return false;
}

bool debug_read_page(struct http_conn_request *req, struct debug_page *out)
{
    const char *limit = http_req_param(req, "limit"), *after = http_req_param(req, "continue");
    char *rest = NULL;
    long number = limit && *limit >= '0' && *limit <= '9' ? strtol(limit, &rest, 10) : 0;

    *out = (struct debug_page){.limit = DEBUG_PAGE, .after = after && *after ? after : NULL};
    if (!limit)
        return true;
    if (number < 1 || number > DEBUG_MAX_PAGE || *rest) {
        http_reply_error(req, 400,
                         arena_printf(http_req_arena(req),
                                      "limit: expected a number from 1 to %d, found %.40s",
                                      DEBUG_MAX_PAGE, limit));
        return false;
    }
    out->limit = (int)number;
    return true;
}

static const char *key_of(struct http_conn_request *req)
{
    return arena_printf(http_req_arena(req), "%s?%s", http_req_path(req), http_req_query(req));
}

bool debug_shared(struct http_conn_request *req)
{
    http_reply_header(req, "Cache-Control", "no-store");
    return http_reply_shared(req, key_of(req));
}

void debug_reply(struct http_conn_request *req, struct json_object *object)
{
    http_reply_share_json(req, key_of(req), json_text(http_req_arena(req), object));
}

/* 0 if unknown. */
static int64_t resident_bytes(void)
{
    char text[128] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    const char *second = n > 0 ? strchr(text, ' ') : NULL;
    return second ? strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

static void set_memory(struct json_object *memory)
{
    struct mallinfo2 heap = mallinfo2();

    json_set_int(memory, "residentBytes", resident_bytes());
    json_set_int(memory, "heapUsedBytes", (int64_t)(heap.uordblks + heap.hblkhd));
    json_set_int(memory, "heapFreeBytes", (int64_t)heap.fordblks);
}

static void set_server(struct json_object *out, const struct http_server *server)
{
    struct http_server_snapshot snapshot;

    http_server_snapshot(server, &snapshot);
    json_set_int(out, "connections", snapshot.connections);
    json_set_int(out, "maxConnections", snapshot.max_connections);
    json_set_int(out, "answering", snapshot.busy);
    json_set_int(out, "maxAnswering", snapshot.max_busy);
    json_set_int(out, "heldBytes", (int64_t)snapshot.held);
    json_set_int(out, "maxHeldBytes", (int64_t)snapshot.max_held);
}

void debug_process(const struct http_server *server, struct json_object *out)
{
    json_set_str(out, "version", FLAGGER_VERSION);
    debug_set_time(out, "now", clock_monotonic_ms());
    set_memory(json_sub(out, "memory"));
    set_server(json_sub(out, "server"), server);
}

void debug_set_time(struct json_object *object, const char *key, int64_t monotonic_ms)
{
    char text[CLOCK_TEXT];
    int64_t ago = clock_monotonic_ms() - monotonic_ms;

    json_set_str(object, key, clock_rfc3339(clock_wall_ms() - ago, text));
}

#include "app/demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/native.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/metrics.h"
#include "object/form.h"

enum { MAX_DELAY_MS = 300 * 1000, MAX_METRICS = 1024 * 1024 };

struct demo {
    struct loop *loop;
    struct demo_options options;
    struct http_server *server;
    int64_t started_ms;
    int64_t unready_until_ms; /* as POST /unready asked */
    int64_t error_state;
    uint64_t chance_state;
    int64_t at_once; /* answers of the app proper that are under way */
    struct leak *leaks;
};

/* Memory that a request has left, until the end. */
struct leak {
    struct leak *next;
};

/* A reply that waits. Owned by the request's arena until the timer fires or the client goes. */
struct pending {
    struct demo *demo;
    struct http_conn_request *req;
    struct timer *timer;
    const char *path; /* the route, as metrics name it */
    const char *body;
    const char *type;
    int64_t started_ms;
    size_t len;
    int status;
    bool counted; /* among those under way */
};

/* Fine enough that a p99 between 5 ms and 10 s is read to about a quarter. */
static const double buckets[] = {0.001, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03,
                                 0.04,  0.05,   0.075, 0.1,    0.15, 0.2,   0.25, 0.3,
                                 0.4,   0.5,    0.6,   0.75,   0.9,  1,     1.25, 1.5,
                                 2,     2.5,    3,     4,      5,    7.5,   10,   0};
static struct metrics_family durations = {.name = "http_request_duration_seconds",
                                          .help = "Time from request to reply.",
                                          .type = METRICS_HISTOGRAM,
                                          .labels = {"method", "path", "status"},
                                          .buckets = buckets};
static struct native_histogram native_durations = {.name = "http_request_duration_seconds",
                                                   .help = "Time from request to reply."};
static struct metrics_family info = {.name = "demo_app_info",
                                     .help = "1 for the version that runs.",
                                     .type = METRICS_GAUGE,
                                     .labels = {"version"}};

/* Label values stay few whatever clients send. */
static const char *known_method(const char *method)
{
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(method, known[i]) == 0)
            return known[i];
    return "other";
}

static void leave(struct pending *p)
{
    p->demo->at_once -= p->counted;
    p->counted = false;
}

static void finish(struct pending *p)
{
    leave(p);
    char status[16];
    snprintf(status, sizeof(status), "%d", p->status);
    double seconds = (double)(clock_monotonic_ms() - p->started_ms) / 1000.0;
    if (p->demo->options.behaviour.native)
        native_observe(&native_durations, seconds, p->status);
    else
        metrics_observe(&durations, seconds, known_method(http_req_method(p->req)), p->path,
                        status);
    http_reply_header(p->req, "x-demo-version", p->demo->options.behaviour.version);
    http_reply(p->req, p->status, p->type, p->body, p->len);
}

static void on_timer(void *arg)
{
    struct pending *p = arg;
    p->timer = NULL;
    finish(p);
}

static void on_gone(void *arg)
{
    struct pending *p = arg;
    timer_stop(p->timer);
    p->timer = NULL;
    leave(p);
}

static void reply_after(struct pending *p, int64_t delay_ms)
{
    if (delay_ms <= 0) {
        finish(p);
        return;
    }
    http_req_on_gone(p->req, on_gone, p);
    p->timer = timer_start(p->demo->loop, delay_ms, 0, on_timer, p);
}

static struct pending *pending_new(struct demo *demo, struct http_conn_request *req,
                                   const char *path, int status, const char *type, const char *body,
                                   size_t len)
{
    struct pending *p = ARENA_NEW(http_req_arena(req), struct pending);
    *p = (struct pending){.demo = demo,
                          .req = req,
                          .path = path,
                          .body = body,
                          .type = type,
                          .len = len,
                          .status = status,
                          .started_ms = clock_monotonic_ms()};
    return p;
}

static bool is_overloaded(const struct demo *demo)
{
    int64_t most = demo->options.behaviour.most_at_once;

    return most > 0 && demo->at_once >= most;
}

static bool fails(struct demo *demo)
{
    const struct behaviour *is = &demo->options.behaviour;

    if (is_overloaded(demo))
        return true;
    return is->by_chance ? behaviour_fails_by_chance(is->error_percent, &demo->chance_state)
                         : behaviour_fails(is->error_percent, &demo->error_state);
}

/* Written to, so that it is resident. */
static void leak(struct demo *demo)
{
    size_t bytes = (size_t)demo->options.behaviour.leak_kb * 1024;

    if (bytes == 0)
        return;
    struct leak *new = heap_alloc(bytes);
    memset(new, 1, bytes);
    new->next = demo->leaks;
    demo->leaks = new;
}

static int64_t latency_of(struct demo *demo)
{
    const struct behaviour *is = &demo->options.behaviour;

    return is->latency_varies ? behaviour_latency_by_chance(is->latency_ms, &demo->chance_state)
                              : is->latency_ms;
}

/* An answer of the app proper: fails and dawdles as it was told. */
static void answer(struct demo *demo, struct http_conn_request *req, const char *path,
                   const char *type, const char *body, size_t len)
{
    static const char *const failed = "{\"error\":\"this version fails on purpose\"}\n";
    struct pending *p;
    if (fails(demo))
        p = pending_new(demo, req, path, 500, "application/json", failed, strlen(failed));
    else
        p = pending_new(demo, req, path, 200, type, body, len);
    p->counted = true;
    demo->at_once++;
    leak(demo);
    reply_after(p, latency_of(demo));
}

static void answer_json(struct demo *demo, struct http_conn_request *req, const char *path,
                        struct json_object *obj)
{
    struct arena *arena = http_req_arena(req);
    const char *text = arena_printf(arena, "%s\n", json_text(arena, obj));
    answer(demo, req, path, "application/json", text, strlen(text));
}

static void get_root(void *arg, struct http_conn_request *req)
{
    struct demo *demo = arg;
    const char *message = getenv("DEMO_MESSAGE");
    answer_json(demo, req, "/",
                form(http_req_arena(req), "{version: %s, pod: %s, message: %s}",
                     demo->options.behaviour.version, demo->options.pod,
                     message ? message : "greetings from the demo app"));
}

static void get_version(void *arg, struct http_conn_request *req)
{
    struct demo *demo = arg;
    answer_json(demo, req, "/version",
                form(http_req_arena(req), "{version: %s, pod: %s}", demo->options.behaviour.version,
                     demo->options.pod));
}

static void get_headers(void *arg, struct http_conn_request *req)
{
    static const char *const shown[] = {
        "host",     "user-agent",   "accept", "cookie", "x-forwarded-for", "x-forwarded-proto",
        "x-canary", "x-request-id", "x-user", NULL};
    struct demo *demo = arg;
    struct json_object *headers = form(http_req_arena(req), "{}");
    for (size_t i = 0; shown[i]; i++)
        json_set_str(headers, shown[i], http_req_header(req, shown[i]));
    /* ?name=N asks for one header more, since the server only looks headers up by name. */
    const char *name = http_req_param(req, "name");
    if (name)
        json_set_str(headers, name, http_req_header(req, name));
    answer_json(demo, req, "/headers",
                form(http_req_arena(req),
                     "{version: %s, pod: %s, headers: %p, path: %s, query: %s}",
                     demo->options.behaviour.version, demo->options.pod, headers,
                     http_req_path(req), http_req_query(req)));
}

static void any_echo(void *arg, struct http_conn_request *req)
{
    size_t len;
    const char *body = http_req_body(req, &len);
    const char *type = http_req_header(req, "content-type");
    answer(arg, req, "/echo", type ? type : "application/octet-stream", body, len);
}

static void any_status(void *arg, struct http_conn_request *req)
{
    char *end;
    long code = strtol(http_req_path(req) + strlen("/status/"), &end, 10);
    if (*end || code < 200 || code > 599) {
        http_reply_text(req, 400, "/status/CODE: expected a status from 200 to 599\n");
        return;
    }
    reply_after(pending_new(arg, req, "/status", (int)code, "text/plain", "", 0), 0);
}

static void any_delay(void *arg, struct http_conn_request *req)
{
    char *end;
    const char *text = http_req_path(req) + strlen("/delay/");
    double seconds = strtod(text, &end);
    if (!*text || *end || !(seconds >= 0 && seconds * 1000 <= MAX_DELAY_MS)) {
        http_reply_text(req, 400, "/delay/SECONDS: expected a number from 0 to 300\n");
        return;
    }
    reply_after(pending_new(arg, req, "/delay", 200, "text/plain", "done\n", 5),
                (int64_t)(seconds * 1000));
}

/* It goes on answering: only its probe says otherwise. */
static void post_unready(void *arg, struct http_conn_request *req)
{
    struct demo *demo = arg;
    char *end;
    const char *text = http_req_path(req) + strlen("/unready/");
    double seconds = strtod(text, &end);
    if (!*text || *end || !(seconds >= 0 && seconds * 1000 <= MAX_DELAY_MS)) {
        http_reply_text(req, 400, "/unready/SECONDS: expected a number from 0 to 300\n");
        return;
    }
    demo->unready_until_ms = clock_monotonic_ms() + (int64_t)(seconds * 1000);
    http_reply_text(req, 200, "OK\n");
}

static void get_healthz(void *arg, struct http_conn_request *req)
{
    (void)arg;
    http_reply_text(req, 200, "OK\n");
}

static void get_readyz(void *arg, struct http_conn_request *req)
{
    const struct demo *demo = arg;
    if (loop_draining(demo->loop))
        http_reply_text(req, 503, "shutting down\n");
    else if (clock_monotonic_ms() - demo->started_ms < demo->options.ready_delay_ms)
        http_reply_text(req, 503, "not ready yet\n");
    else if (clock_monotonic_ms() < demo->unready_until_ms)
        http_reply_text(req, 503, "not ready for a while\n");
    else
        http_reply_text(req, 200, "OK\n");
}

static void get_metrics(void *arg, struct http_conn_request *req)
{
    const struct demo *demo = arg;
    const char *accept = http_req_header(req, "accept");
    bool native = demo->options.behaviour.native && accept &&
                  strstr(accept, "application/vnd.google.protobuf") != NULL;
    struct buf out;
    buf_init(&out, MAX_METRICS);
    if (native)
        native_write(&native_durations, &out);
    else
        metrics_write(&out);
    http_reply(req, 200, native ? NATIVE_CONTENT_TYPE : METRICS_CONTENT_TYPE, out.data, out.len);
    buf_fini(&out);
}

static void not_found(void *arg, struct http_conn_request *req)
{
    static const char *const text = "no such page: see /, /version, /headers, /echo, /status/CODE, "
                                    "/delay/SECONDS\n";
    reply_after(pending_new(arg, req, "other", 404, "text/plain", text, strlen(text)), 0);
}

static const struct http_route routes[] = {{"GET", "/healthz", get_healthz},
                                           {"GET", "/readyz", get_readyz},
                                           {"GET", "/metrics", get_metrics},
                                           {NULL, "/status/*", any_status},
                                           {NULL, "/delay/*", any_delay},
                                           {NULL, "/echo", any_echo},
                                           {"POST", "/unready/*", post_unready},
                                           {"GET", "/headers", get_headers},
                                           {"GET", "/version", get_version},
                                           {"HEAD", "/", get_root},
                                           {"GET", "/", get_root},
                                           {NULL, "/*", not_found},
                                           {0}};

enum err demo_new(struct loop *loop, const struct demo_options *options, struct demo **out,
                  struct errinfo *ei)
{
    struct demo *demo = heap_alloc(sizeof(*demo));
    *demo = (struct demo){.loop = loop, .options = *options, .started_ms = clock_monotonic_ms()};
    /* two pods of one moment shall not fail together */
    demo->chance_state = (uint64_t)demo->started_ms << 32 | (uint64_t)getpid();
    const struct http_server_options server = {.address = options->address,
                                               .port = options->port,
                                               .routes = routes,
                                               .arg = demo,
                                               .no_builtin = true};
    enum err err = http_server_new(loop, &server, &demo->server, ei);
    if (err != ERR_OK) {
        free(demo);
        return err;
    }
    metrics_set(&info, 1, options->behaviour.version);
    *out = demo;
    return ERR_OK;
}

int demo_port(const struct demo *demo)
{
    return http_server_port(demo->server);
}

void demo_free(struct demo *demo)
{
    http_server_free(demo->server);
    while (demo->leaks) {
        struct leak *next = demo->leaks->next;
        free(demo->leaks);
        demo->leaks = next;
    }
    free(demo);
}

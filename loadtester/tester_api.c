#include "loadtester/tester_api.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/encoding.h"
#include "base/json.h"
#include "net/server/server.h"

enum {
    NAME_LIMIT = 253, /* limit of Kubernetes (RFC 1123 subdomains) */
    VALUE_LIMIT = 4096
};

/* --- admission of requests, and their webhook messages */

/* The load tester has no pages: a browser's request comes from another site's page. Its Host is
 * not checked: the page may have chosen it (DNS rebinding). */
static bool is_of_a_page(struct http_conn_request *req)
{
    const char *method = http_req_method(req), *site = http_req_header(req, "sec-fetch-site");

    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return site && strcasecmp(site, "none") != 0;
    return http_req_header(req, "origin") || (site && strcasecmp(site, "none") != 0);
}

static bool is_authenticated(const struct tester_api *api, struct http_conn_request *req)
{
    return !api->tokens || tokens_find(api->tokens, http_req_header(req, "authorization"));
}

bool tester_admit(struct tester_api *api, struct http_conn_request *req)
{
    if (is_of_a_page(req)) {
        http_reply_error(req, 403,
                         "a page of another site sent this request (Origin, Sec-Fetch-Site); "
                         "nothing is done for it");
        return false;
    }
    if (is_authenticated(api, req))
        return true;
    http_reply_header(req, "WWW-Authenticate", "Bearer");
    http_reply_text(req, 401,
                    "a bearer token is needed: Authorization: Bearer TOKEN (see --token-file)");
    return false;
}

bool tester_message(struct tester_api *api, struct http_conn_request *req, struct arena *arena,
                    struct webhook_message *out)
{
    struct errinfo info = {0};
    size_t len;
    const char *body = http_req_body(req, &len);

    if (webhook_parse(arena, body, len, out, &info) != ERR_OK) {
        http_reply_text(req, 400, info.text);
        return false;
    }
    if (api->namespaces && regexec(api->namespaces, out->namespace_, 0, NULL, 0) != 0) {
        http_reply_text(req, 403, "Forbidden");
        return false;
    }
    return true;
}

/*
 * GET /tasks/ID/stream: server-sent events (WHATWG HTML, "Server-sent events"). First `state` with
 * the task as JSON, including its output so far; then `output` with pieces of text as JSON strings,
 * and `state` when it starts and when it ends, after which the stream ends. A comment every fifteen
 * seconds keeps the connection alive.
 */

enum { HEARTBEAT_MS = 15000, MAX_QUEUE = 256 * 1024, UTF8_MAX = 4 };

struct stream {
    struct task_listener listener;
    LIST_ENTRY(stream) link;
    struct tester_api *api;
    struct task *task;
    struct http_conn_request *req;
    struct timer *heartbeat;
    char cut[UTF8_MAX]; /* first bytes of an incomplete character */
    size_t cut_len;
};

static void close_stream(struct stream *stream)
{
    timer_stop(stream->heartbeat);
    task_unlisten(stream->task, &stream->listener);
    LIST_REMOVE(stream, link);
    stream->api->streams--;
    free(stream);
}

static void stream_gone(void *arg)
{
    close_stream(arg);
}

static bool send_event(struct stream *stream, const char *name, const char *json, size_t len)
{
    struct buf event;

    buf_init(&event, len + 64);
    buf_printf(&event, "event: %s\ndata: ", name);
    buf_add(&event, json, len);
    buf_puts(&event, "\n\n");
    bool sent = http_stream_send(stream->req, event.data, event.len);
    buf_fini(&event);
    return sent;
}

/* Pieces arrive as read from the pipe: a character may be split. */
static void on_output(void *arg, const char *data, size_t len)
{
    struct stream *stream = arg;
    struct buf text, json;

    buf_init(&text, len + UTF8_MAX);
    buf_add(&text, stream->cut, stream->cut_len);
    buf_add(&text, data, len);
    size_t whole = utf8_cut(text.data, text.len);
    stream->cut_len = text.len - whole;
    memcpy(stream->cut, text.data + whole, stream->cut_len);
    buf_init(&json, 6 * text.len + 2);
    json_quote(&json, text.data, whole);
    /* if a client was disconnected as too slow, stream_gone() follows */
    if (whole > 0)
        (void)send_event(stream, "output", json.data, json.len);
    buf_fini(&json);
    buf_fini(&text);
}

static void send_state(struct stream *stream, const struct task *task)
{
    struct arena *arena = arena_new();
    const char *json = task_json(task, arena);

    (void)send_event(stream, "state", json, strlen(json));
    arena_free(arena);
}

static void on_state(void *arg, const struct task *task)
{
    struct stream *stream = arg;

    send_state(stream, task);
    if (!task_has_ended(task))
        return;
    http_stream_end(stream->req);
    close_stream(stream);
}

static void on_heartbeat(void *arg)
{
    struct stream *stream = arg;

    (void)http_stream_send(stream->req, ":\n\n", 3);
}

static void tester_stream(struct tester_api *api, struct http_conn_request *req, struct task *task)
{
    if (api->streams >= TESTER_MAX_STREAMS) {
        http_reply_header(req, "Retry-After", "10");
        http_reply_error(req, 429, "too many tasks are followed already");
        return;
    }
    struct stream *stream = heap_alloc(sizeof(*stream));
    api->streams++;
    *stream =
        (struct stream){.listener = {.on_output = on_output, .on_state = on_state, .arg = stream},
                        .api = api,
                        .task = task,
                        .req = req};
    LIST_INSERT_HEAD(&api->followers, stream, link);
    http_reply_header(req, "Cache-Control", "no-store");
    http_stream_start(req, 200, "text/event-stream", MAX_QUEUE);
    if (task_has_ended(task)) {
        on_state(stream, task);
        return;
    }
    http_req_on_gone(req, stream_gone, stream);
    task_listen(task, &stream->listener);
    stream->heartbeat = timer_start(api->loop, HEARTBEAT_MS, HEARTBEAT_MS, on_heartbeat, stream);
    send_state(stream, task);
}

void tester_tokens_changed(void *arg)
{
    struct tester_api *api = arg;
    struct stream *next;

    for (struct stream *stream = LIST_FIRST(&api->followers); stream; stream = next) {
        next = LIST_NEXT(stream, link);
        if (tokens_find(api->tokens, http_req_header(stream->req, "authorization")))
            continue;
        http_stream_end(stream->req);
        close_stream(stream);
    }
}

/* --- POST: a task */

/* A request that waits for the end of its task. */
struct waiting {
    struct http_conn_request *req; /* NULL if the client has disconnected */
    bool return_output, return_value;
};

static void on_gone(void *arg)
{
    struct waiting *waiting = arg;
    waiting->req = NULL;
}

/* The last line that is not blank. */
static const char *last_line(struct arena *arena, const char *output)
{
    const char *end = output + strlen(output), *begin;

    while (end > output && strchr(" \t\r\n", end[-1]))
        end--;
    for (begin = end; begin > output && begin[-1] != '\n';)
        begin--;
    return arena_strndup(arena, begin, (size_t)(end - begin));
}

/*
 * metadata.returnValue: {"value", "summary"}: JSON of the last line, such as a number, and the
 * figures counted by a load generator. At least one of them is present.
 */
static void reply_value(struct http_conn_request *req, const struct task_result *result)
{
    struct arena *arena = http_req_arena(req);
    struct json_object *out = json_own(arena, json_object_new_object()), *value = NULL;
    const char *line = last_line(arena, result->output);
    struct errinfo ei;
    bool is_value = json_parse(arena, line, strlen(line), VALUE_LIMIT, &value, &ei) == ERR_OK;

    if (!is_value && !result->summary) {
        http_reply_text(req, 500,
                        arena_printf(arena,
                                     "command %s: returnValue: expected a number or other JSON in "
                                     "the last line of its output, found \"%.80s\"",
                                     result->text, line));
        return;
    }
    json_set(out, "value", is_value ? value : NULL);
    if (result->summary)
        json_object_object_add(out, "summary", summary_json(result->summary));
    http_reply_json(req, 200, json_text(arena, out));
}

static void on_ended(void *arg, const struct task_result *result)
{
    struct waiting *waiting = arg;
    struct http_conn_request *req = waiting->req;

    if (req && result->error)
        http_reply_text(req, 500,
                        arena_printf(http_req_arena(req), "command %s failed: %s: %s", result->text,
                                     result->output, result->error));
    else if (req && waiting->return_value)
        reply_value(req, result);
    else if (req)
        http_reply_text(req, 200, waiting->return_output ? result->output : "");
    free(waiting);
}

static void reply_start(struct http_conn_request *req, enum runner_start start, const char *full)
{
    switch (start) {
    case RUNNER_STARTED:
    case RUNNER_RUNS_ALREADY:
        http_reply(req, 202, NULL, "", 0);
        break;
    case RUNNER_FULL:
        http_reply_header(req, "Retry-After", "10");
        http_reply_text(req, 429, arena_printf(http_req_arena(req), "%s, try again later", full));
        break;
    case RUNNER_STOPPED:
        http_reply_text(req, 503, "the load tester is shutting down");
        break;
    }
}

static void start_blocking(struct tester_api *api, struct http_conn_request *req,
                           struct runner_order *order)
{
    struct waiting *waiting = heap_alloc(sizeof(*waiting));
    const char *full;

    *waiting = (struct waiting){.req = req,
                                .return_output = order->plan.return_output,
                                .return_value = order->plan.return_value};
    enum runner_start start = runner_start(api->runner, order, true, on_ended, waiting, &full);
    if (start == RUNNER_STARTED || start == RUNNER_RUNS_ALREADY) {
        http_req_on_gone(req, on_gone, waiting);
        return;
    }
    free(waiting);
    reply_start(req, start, full);
}

/* The next run starts even if the last one failed, so that load continues between checks. */
static void start_background(struct tester_api *api, struct http_conn_request *req,
                             struct runner_order *order)
{
    const char *full;
    const char *failed = runner_verdict(api->runner, order, http_req_arena(req));
    enum runner_start start = runner_start(api->runner, order, false, NULL, NULL, &full);

    if (failed)
        http_reply_text(req, 500, failed);
    else
        reply_start(req, start, full);
}

/* Sets the order's type and plan. False: answered 400 or 403. */
static bool make_plan(struct tester_api *api, struct http_conn_request *req,
                      struct runner_order *order)
{
    struct errinfo info = {0};

    if (!order->message->metadata) {
        http_reply_text(req, 400, "metadata not found in payload");
        return false;
    }
    if (strlen(order->message->name) > NAME_LIMIT ||
        strlen(order->message->namespace_) > NAME_LIMIT ||
        strlen(order->message->checksum) > NAME_LIMIT) {
        http_reply_text(req, 400, "name, namespace and checksum: expected at most 253 bytes each");
        return false;
    }
    const char *name = webhook_metadata(order->message, "type");
    order->type = task_type_find(name);
    if (!order->type) {
        http_reply_text(req, 400,
                        arena_printf(http_req_arena(req), "unknown task type %.80s", name));
        return false;
    }
    enum err err =
        order->type->make(order->arena, order->message, &api->policy, &order->plan, &info);
    if (err != ERR_OK)
        http_reply_text(req, err == ERR_DENIED ? 403 : 400, info.text);
    return err == ERR_OK;
}

/* Runs the task of a webhook, on every path without another meaning, like Flagger's load tester.
 * The parsed message takes many times as much memory as its text, so it is freed before anything
 * waits. */
static void post_task(void *arg, struct http_conn_request *req)
{
    struct tester_api *api = arg;

    if (!tester_admit(api, req))
        return;
    struct arena *parsed = arena_new();
    struct webhook_message message;
    struct runner_order order = {.message = &message, .arena = arena_new()};
    if (!tester_message(api, req, parsed, &message) || !make_plan(api, req, &order))
        arena_free(order.arena);
    else if (order.plan.load)
        load_api_post(api, req, &order);
    else if (order.type->blocking || order.plan.return_value)
        start_blocking(api, req, &order);
    else
        start_background(api, req, &order);
    arena_free(parsed);
}

/* --- GET: tasks */

static void get_tasks(void *arg, struct http_conn_request *req)
{
    static const char key[] = "/tasks";
    struct tester_api *api = arg;

    if (!tester_admit(api, req) || http_reply_shared(req, key))
        return;
    http_reply_share_json(req, key, runner_list(api->runner, http_req_arena(req)));
}

/* /tasks/ID and /tasks/ID/stream */
static void get_task(void *arg, struct http_conn_request *req)
{
    struct tester_api *api = arg;
    const char *text = http_req_path(req) + strlen("/tasks/");
    char *rest;

    if (!tester_admit(api, req))
        return;
    uint64_t id = *text >= '1' && *text <= '9' ? strtoull(text, &rest, 10) : 0;
    bool stream = id > 0 && strcmp(rest, "/stream") == 0;
    struct task *task = id > 0 && (stream || !*rest) ? runner_find(api->runner, id) : NULL;
    if (!task)
        http_reply_error(req, 404,
                         "there is no such task, or it ended long ago; GET /tasks lists them");
    else if (stream)
        tester_stream(api, req, task);
    else
        http_reply_json(req, 200, task_json(task, http_req_arena(req)));
}

static void get_process(void *arg, struct http_conn_request *req)
{
    struct tester_api *api = arg;

    if (!tester_admit(api, req) || debug_shared(req))
        return;
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());
    debug_process(api->server, out);
    runner_snapshot(api->runner, json_sub(out, "tasks"));
    json_set_int(json_sub(out, "streams"), "open", api->streams);
    json_set_int(json_sub(out, "streams"), "most", TESTER_MAX_STREAMS);
    debug_reply(req, out);
}

static void gate(void *arg, struct http_conn_request *req)
{
    struct tester_api *api = arg;

    if (tester_admit(api, req))
        gates_answer(api->gates, api, req);
}

const struct http_route tester_routes[] = {
    {"GET", "/debug/process", get_process},
    {"GET", "/tasks", get_tasks},
    {"GET", "/tasks/*", get_task},
    {"GET", "/load-tests", load_api_get},
    {"GET", "/load-tests/*", load_api_get},
    {NULL, "/gate/*", gate},
    {NULL, "/rollback/*", gate},
    {"POST", "/*", post_task},
    {NULL, NULL, NULL},
};

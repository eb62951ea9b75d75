/*
 * GET /tasks/ID/stream: server-sent events (WHATWG HTML, "Server-sent events"). First `state` with
 * the task as JSON, its output so far included; then `output` with pieces of text as JSON strings,
 * `state` when it starts and when it ends, after which the stream ends. A comment every fifteen
 * seconds keeps the connection alive.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/encoding.h"
#include "base/json.h"
#include "loadtester/api.h"

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

static void on_gone(void *arg)
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

/* Pieces are as read from the pipe: a character may be split. */
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
    /* for a client that was disconnected as too slow on_gone follows */
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

void tester_stream(struct tester_api *api, struct http_conn_request *req, struct task *task)
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
    http_req_on_gone(req, on_gone, stream);
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

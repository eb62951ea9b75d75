/*
 * For the tests of watches and stores: a small world of ConfigMaps behind the fake API server, with
 * pages, events, compaction, and one fault at a chosen request.
 */
#ifndef KUBE_FAKE_WORLD_H
#define KUBE_FAKE_WORLD_H

#include <stdio.h>

#include "kube/fake_api.h"
#include "kube/watch.h"

enum { WORLD_MAX = 64, WORLD_EVENTS = 512 };

enum fault {
    FAULT_500,
    FAULT_429,
    FAULT_401,
    FAULT_403,
    FAULT_404,
    FAULT_410,
    FAULT_CUT,       /* the connection breaks in the middle of a line */
    FAULT_HALF_LINE, /* the answer ends normally, but in the middle of a line */
    FAULT_GARBAGE,
    FAULT_NO_LIST, /* 200 with a JSON object of another kind */
    FAULT_ERROR_410,
    FAULT_ERROR_500,
    FAULT_END, /* a watch ends at once; a list is empty text */
    FAULT_HANG,
    FAULT_COUNT,
};

struct world_object {
    char name[24];
    int uid; /* 0 if free */
    int version;
};

struct world_event {
    int version;
    char line[320];
};

struct world_stream {
    struct world *world;
    struct http_conn_request *req;
    struct world_stream *next;
};

struct world {
    struct fake_api *api;
    struct world_object objects[WORLD_MAX];
    struct world_event events[WORLD_EVENTS];
    int event_count;
    int version;
    int floor; /* older versions are compacted away */
    int next_uid;
    struct world_stream *streams;
    int lists, watches;
    int fault_at; /* number of the request with the fault; 0 if none */
    enum fault fault;
    bool mute; /* watches report nothing */
};

static inline int world_param(const char *query, const char *key, int missing)
{
    const char *found = strstr(query, key);

    return found ? (int)strtol(found + strlen(key), NULL, 10) : missing;
}

static inline const char *world_json(const struct world_object *object, char text[256])
{
    snprintf(text, 256,
             "{\"metadata\":{\"namespace\":\"test\",\"name\":\"%s\",\"uid\":\"u%d\","
             "\"resourceVersion\":\"%d\",\"generation\":%d},\"data\":{\"v\":\"%d\"}}",
             object->name, object->uid, object->version, object->version, object->version);
    return text;
}

static inline void world_gone(void *arg)
{
    struct world_stream *stream = arg;
    struct world_stream **at = &stream->world->streams;

    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
}

static inline void world_send(struct http_conn_request *req, const char *text)
{
    http_stream_send(req, text, strlen(text));
}

static inline void world_fault_watch(struct http_conn_request *req, enum fault fault)
{
    http_stream_start(req, 200, "application/json", 1024);
    if (fault == FAULT_ERROR_410)
        world_send(req, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n");
    else if (fault == FAULT_ERROR_500)
        world_send(req, "{\"type\":\"ERROR\",\"object\":{\"message\":\"etcd\",\"code\":500}}\n");
    else if (fault == FAULT_GARBAGE)
        world_send(req, "<html>\n");
    else if (fault == FAULT_NO_LIST)
        world_send(req, "{\"kind\":\"Pod\"}\n");
    else if (fault != FAULT_END)
        world_send(req, "{\"type\":\"ADDED\",\"object\":{\"meta");
    if (fault == FAULT_CUT)
        fake_cut(req, 1024);
    else
        http_stream_end(req);
}

static inline void world_fault_list(struct http_conn_request *req, enum fault fault)
{
    if (fault == FAULT_NO_LIST) {
        http_reply_json(req, 200, "{\"kind\":\"Pod\",\"metadata\":{}}");
    } else if (fault == FAULT_CUT) {
        http_stream_start(req, 200, "application/json", 1024);
        world_send(req, "{\"items\":[");
        fake_cut(req, 1024);
    } else {
        http_reply_json(req, 200, fault == FAULT_END ? "" : "{\"items\":[");
    }
}

static inline void world_do_fault(struct world *w, struct http_conn_request *req, bool watch)
{
    static const int statuses[FAULT_COUNT] = {
        [FAULT_500] = 500, [FAULT_429] = 429, [FAULT_401] = 401,
        [FAULT_403] = 403, [FAULT_404] = 404, [FAULT_410] = 410,
    };

    if (w->fault == FAULT_HANG)
        return;
    if (statuses[w->fault])
        fake_status(req, statuses[w->fault], "made to fail");
    else if (!watch && (w->fault == FAULT_ERROR_410 || w->fault == FAULT_ERROR_500))
        fake_status(req, w->fault == FAULT_ERROR_410 ? 410 : 500, "made to fail");
    else if (watch)
        world_fault_watch(req, w->fault);
    else
        world_fault_list(req, w->fault);
}

static inline void world_watch(struct world *w, struct http_conn_request *req, int from)
{
    struct world_stream *stream = arena_alloc(http_req_arena(req), sizeof(*stream));

    if (from < w->floor) {
        fake_status(req, 410, "too old resource version");
        return;
    }
    http_stream_start(req, 200, "application/json", 64 * 1024);
    *stream = (struct world_stream){.world = w, .req = req, .next = w->streams};
    w->streams = stream;
    http_req_on_gone(req, world_gone, stream);
    for (int i = 0; i < w->event_count && !w->mute; i++)
        if (w->events[i].version > from)
            world_send(req, w->events[i].line);
}

/* Pages are split by index; a token is "version-index" and expires with a compaction. */
static inline void world_list(struct world *w, struct http_conn_request *req, const char *query)
{
    struct arena *arena = http_req_arena(req);
    int limit = world_param(query, "limit=", WORLD_MAX);
    int at = 0;
    int version = world_param(query, "continue=", w->version);
    const char *token = strstr(query, "continue=");
    const char *items = "";
    char text[256];

    if (token)
        at = (int)strtol(strchr(token, '-') + 1, NULL, 10);
    if (version < w->floor) {
        fake_status(req, 410, "the continue token has expired");
        return;
    }
    for (; at < WORLD_MAX && limit > 0; at++) {
        if (!w->objects[at].uid)
            continue;
        items = arena_printf(arena, "%s%s%s", items, items[0] ? "," : "",
                             world_json(&w->objects[at], text));
        limit--;
    }
    while (at < WORLD_MAX && !w->objects[at].uid)
        at++;
    const char *more = at < WORLD_MAX ? arena_printf(arena, "%d-%d", version, at) : "";
    http_reply_json(
        req, 200,
        arena_printf(arena,
                     "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"%d"
                     "\",\"continue\":\"%s\"},\"items\":[%s]}",
                     version, more, items));
}

static inline void world_answer(struct fake_api *api, struct http_conn_request *req,
                                const struct fake_seen *seen)
{
    struct world *w = api->arg;
    bool watch = strstr(seen->query, "watch=1") != NULL;

    if (watch)
        w->watches++;
    else
        w->lists++;
    if (api->count == w->fault_at)
        world_do_fault(w, req, watch);
    else if (watch)
        world_watch(w, req, world_param(seen->query, "resourceVersion=", -1));
    else
        world_list(w, req, seen->query);
}

static inline struct world *world_start(void)
{
    struct world *w = heap_alloc(sizeof(*w));

    w->version = 100;
    w->next_uid = 1;
    w->api = fake_start(world_answer, w);
    fake_connect(w->api, NULL);
    return w;
}

static inline void world_stop(struct world *w)
{
    fake_stop(w->api);
    free(w);
}

static inline void world_tell(struct world *w, const char *type, const struct world_object *object)
{
    struct world_event *event = &w->events[w->event_count++];
    char text[256];

    assert_true(w->event_count < WORLD_EVENTS);
    event->version = object->version;
    snprintf(event->line, sizeof(event->line), "{\"type\":\"%s\",\"object\":%s}\n", type,
             world_json(object, text));
    for (struct world_stream *stream = w->streams; stream && !w->mute; stream = stream->next)
        world_send(stream->req, event->line);
}

static inline struct world_object *world_find(struct world *w, const char *name)
{
    for (int i = 0; i < WORLD_MAX; i++)
        if (w->objects[i].uid && strcmp(w->objects[i].name, name) == 0)
            return &w->objects[i];
    return NULL;
}

/* Creates or changes an object. */
static inline void world_put(struct world *w, const char *name)
{
    struct world_object *object = world_find(w, name);
    bool found = object != NULL;

    for (int i = 0; i < WORLD_MAX && !object; i++)
        if (!w->objects[i].uid)
            object = &w->objects[i];
    if (!found)
        *object = (struct world_object){.uid = w->next_uid++};
    snprintf(object->name, sizeof(object->name), "%s", name);
    object->version = ++w->version;
    world_tell(w, found ? "MODIFIED" : "ADDED", object);
}

static inline void world_delete(struct world *w, const char *name)
{
    struct world_object *object = world_find(w, name);

    object->version = ++w->version;
    world_tell(w, "DELETED", object);
    object->uid = 0;
}

static inline void world_bookmark(struct world *w)
{
    char line[128];

    snprintf(line, sizeof(line),
             "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%d\"}}}\n",
             ++w->version);
    for (struct world_stream *stream = w->streams; stream; stream = stream->next)
        world_send(stream->req, line);
}

/* Ends all streams normally. */
static inline void world_end_streams(struct world *w)
{
    while (w->streams) {
        struct http_conn_request *req = w->streams->req;
        w->streams = w->streams->next;
        http_req_on_gone(req, NULL, NULL);
        http_stream_end(req);
    }
}

/* Older versions become unavailable. */
static inline void world_compact(struct world *w)
{
    w->floor = ++w->version;
}

static inline int world_count(const struct world *w)
{
    int count = 0;

    for (int i = 0; i < WORLD_MAX; i++)
        count += w->objects[i].uid != 0;
    return count;
}

static const struct watch_timing world_quick = {
    .backoff_min_ms = 5,
    .backoff_max_ms = 40,
    .missing_ms = 20,
    .margin_ms = 100,
    .list_ms = 250,
    .timeout_s = 1,
    .page = 3,
};

#endif

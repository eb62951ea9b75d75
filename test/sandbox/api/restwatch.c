/*
 * Watches over HTTP: one object store watch per stream, filtered by the client's selectors and
 * shaped as it asked. A stream ends with its time-out, when the client goes or is too slow, when it
 * is cut, or when the server drains.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/rest.h"
#include "base/clock.h"
#include "object/form.h"
#include "object/table.h"

enum {
    BOOKMARK_MS = 30 * 1000,
    DEFAULT_TIMEOUT_S = 30 * 60,
    MAX_TIMEOUT_S = 24 * 60 * 60,
    QUEUE_MAX = 64 * 1024 * 1024, /* the initial state of a big cluster goes out at once */
};

/* A line that is held back, with --watch-delay. */
struct restwatch_line {
    struct restwatch_line *next;
    int64_t due; /* monotonic */
    size_t len;
    char text[];
};

struct restwatch {
    struct restreq *req; /* with its own copies of all that outlives the call */
    struct restselect select;
    const char *version_name;
    struct objwatch *watch;
    struct timer *timeout, *bookmark;
    bool first;    /* no event was sent yet */
    uint64_t seen; /* the version that a bookmark may name */
    struct restwatch_line *held, **held_last;
    struct timer *release;
    struct restwatch *next, **link;
};

static void end_watch(struct restwatch *w)
{
    objwatch_stop(w->watch);
    timer_stop(w->timeout);
    timer_stop(w->bookmark);
    timer_stop(w->release);
    while (w->held) {
        struct restwatch_line *line = w->held;
        w->held = line->next;
        free(line);
    }
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
}

/* The client has gone or was cut off: the request is no longer ours. */
static void gone(void *arg)
{
    end_watch(arg);
}

static void finish(struct restwatch *w)
{
    struct http_conn_request *http = w->req->http;
    end_watch(w);
    http_stream_end(http);
}

static void release(void *arg);

static void release_later(struct restwatch *w)
{
    int64_t left = w->held->due - clock_monotonic_ms();
    w->release = timer_start(w->req->api->loop, left > 0 ? left : 0, 0, release, w);
}

/* One line at a time: sending it may end the watch. */
static void release(void *arg)
{
    struct restwatch *w = arg;
    struct restwatch_line *line = w->held;
    w->release = NULL;
    w->held = line->next;
    if (w->held)
        release_later(w);
    else
        w->held_last = &w->held;
    (void)!http_stream_send(w->req->http, line->text, line->len);
    free(line);
}

/* What has happened reaches the client later, in its order. */
static void hold(struct restwatch *w, const char *text, size_t len)
{
    struct restwatch_line *line = heap_alloc(sizeof(*line) + len);
    line->next = NULL;
    line->due = clock_monotonic_ms() + w->req->api->watch_delay_ms;
    line->len = len;
    memcpy(line->text, text, len);
    *w->held_last = line;
    w->held_last = &line->next;
    if (!w->release)
        release_later(w);
}

static void send_text(struct restwatch *w, struct arena *arena, const char *type,
                      const char *object, size_t len)
{
    static const char end[] = "}\n";
    const char *begin = arena_printf(arena, "{\"type\":\"%s\",\"object\":", type);
    size_t before = strlen(begin);
    char *text = arena_alloc(arena, before + len + sizeof(end));
    memcpy(text, begin, before);
    memcpy(text + before, object, len);
    memcpy(text + before + len, end, sizeof(end));
    size_t whole = before + len + sizeof(end) - 1;
    w->first = false;
    restreply_sent(w->req, whole, 1);
    if (w->req->api->watch_delay_ms > 0) {
        hold(w, text, whole);
        return;
    }
    /* When this cuts the client off, gone() has been called and w is only good for nothing. */
    (void)!http_stream_send(w->req->http, text, whole);
}

static void send_event(struct restwatch *w, struct arena *arena, const char *type,
                       struct json_object *object)
{
    const char *text = json_text(arena, object);
    send_text(w, arena, type, text, strlen(text));
}

static const struct objversion *version_of(const struct restwatch *w)
{
    const struct objversion *version = objkind_version(w->req->kind, w->version_name);
    return version && w->req->kind->served ? version : NULL;
}

/* What changed, as this client sees it: leaving its selection is a deletion, entering it an
 * addition. */
static const char *event_type(const struct restwatch *w, const struct objevent *event)
{
    bool now = restselect_match(&w->select, event->object);
    bool before = event->before && restselect_match(&w->select, event->before);
    if (event->type == OBJ_DELETED)
        return before ? "DELETED" : NULL;
    if (event->type == OBJ_ADDED)
        return now ? "ADDED" : NULL;
    return now && before ? "MODIFIED" : now ? "ADDED" : before ? "DELETED" : NULL;
}

static void send_bookmark(struct restwatch *w)
{
    struct arena *arena = arena_new();
    const struct objkind *kind = w->req->kind;
    enum restas as = w->req->accept.as;
    bool itself = as == REST_AS_ITSELF, table = as == REST_AS_TABLE;
    struct json_object *object =
        form(arena, "{kind: %s, apiVersion: %s, metadata: {resourceVersion: %s}, rows: %p}",
             itself  ? kind->kind
             : table ? "Table"
                     : "PartialObjectMetadata",
             itself ? objkind_api_version(arena, kind, w->version_name) : "meta.k8s.io/v1",
             arena_printf(arena, "%" PRIu64, w->seen), table ? form(arena, "[]") : NULL);
    if (table)
        json_set(object, "columnDefinitions", NULL);
    send_event(w, arena, "BOOKMARK", object);
    arena_free(arena);
}

/* What leaves the selection is told as it was when it still belonged there, at the version of now.
 */
static struct json_object *as_it_left(struct arena *arena, const struct objevent *event)
{
    struct json_object *object = json_copy(arena, event->before);
    json_set_str(json_at(object, "metadata", NULL), "resourceVersion",
                 json_str_at(event->object, "metadata", "resourceVersion", NULL));
    return object;
}

static void send_change(struct restwatch *w, const struct objevent *event)
{
    const char *type = event_type(w, event);
    if (!type)
        return;
    w->req->version = version_of(w);
    if (!w->req->version)
        return; /* the CRD goes: its objects' deletion was told before */
    struct arena *arena = arena_new();
    struct json_object *object = event->object;
    if (event->type != OBJ_DELETED && strcmp(type, "DELETED") == 0)
        object = as_it_left(arena, event);
    struct json_object *shape = restreply_shape(w->req, arena, object, w->first);
    if (shape == event->object) { /* one text for all watches */
        size_t len;
        const char *text = objevent_text(event, &len);
        send_text(w, arena, type, text, len);
    } else {
        send_event(w, arena, type, shape);
    }
    arena_free(arena);
}

static void on_event(void *arg, const struct objevent *event)
{
    struct restwatch *w = arg;
    if (event->resource_version > w->seen)
        w->seen = event->resource_version;
    if (event->type != OBJ_SYNCED)
        send_change(w, event);
}

static void on_bookmark(void *arg)
{
    struct restwatch *w = arg;
    uint64_t told = objwatch_version(w->watch);
    w->seen = told > w->seen ? told : w->seen;
    if (w->seen > 0)
        send_bookmark(w);
}

static void on_timeout(void *arg)
{
    struct restwatch *w = arg;
    w->timeout = NULL;
    finish(w);
}

/* ---- starting ---- */

static int64_t timeout_of(struct restreq *req)
{
    const char *text = http_req_param(req->http, "timeoutSeconds");
    int64_t seconds = text ? strtoll(text, NULL, 10) : 0;
    return seconds <= 0 ? DEFAULT_TIMEOUT_S : seconds > MAX_TIMEOUT_S ? MAX_TIMEOUT_S : seconds;
}

static void send_expired(struct restreq *req, const char *asked)
{
    struct objfail fail = {.arena = req->arena};
    (void)!objfail_set(&fail, 410, "Expired", "too old resource version: %s (%" PRIu64 ")", asked,
                       objstore_oldest_version(req->store));
    struct json_object *event =
        form(req->arena, "{type: ERROR, object: %p}", objfail_status(&fail));
    const char *text = arena_printf(req->arena, "%s\n", json_text(req->arena, event));
    restreply_sent(req, strlen(text), 1);
    http_reply(req->http, 200, "application/json", text, strlen(text));
}

static struct objwatch *subscribe(struct restreq *req, struct restwatch *w, const char *text)
{
    const char *group = req->kind->group;
    uint64_t from = text ? strtoull(text, NULL, 10) : 0;
    if (from == 0)
        return objstore_watch(req->store, group, req->kind->plural, on_event, w);
    return objstore_watch_from(req->store, group, req->kind->plural, from, on_event, w);
}

void restwatch_start(struct restreq *req)
{
    const char *from = http_req_param(req->http, "resourceVersion");
    if (from && *from && strspn(from, "0123456789") != strlen(from)) {
        restreply_error(req, 400, "BadRequest",
                        "Invalid value: \"%s\": strconv.ParseUint: parsing \"%s\": invalid syntax",
                        from, from);
        return;
    }
    struct restwatch *w = ARENA_NEW(req->arena, struct restwatch);
    *w = (struct restwatch){.req = req, .first = true};
    w->version_name = arena_strdup(req->arena, req->version->name);
    w->held_last = &w->held;
    if (!restselect_read(req, req->arena, &w->select))
        return;
    if (req->path.name) {
        restreply_error(req, 405, "MethodNotAllowed", "watch a collection with a fieldSelector");
        return;
    }
    w->watch = subscribe(req, w, from);
    if (!w->watch) {
        send_expired(req, from);
        return;
    }
    w->seen = from && *from ? strtoull(from, NULL, 10) : 0;
    w->next = req->api->watches;
    w->link = &req->api->watches;
    if (w->next)
        w->next->link = &w->next;
    req->api->watches = w;
    http_req_on_gone(req->http, gone, w);
    w->timeout = timer_start(req->api->loop, timeout_of(req) * 1000, 0, on_timeout, w);
    if (restreq_is_true(req, "allowWatchBookmarks"))
        w->bookmark = timer_start(req->api->loop, BOOKMARK_MS, BOOKMARK_MS, on_bookmark, w);
    http_stream_start(req->http, 200, "application/json", QUEUE_MAX);
}

void restwatch_cut_all(struct api *api)
{
    while (api->watches)
        finish(api->watches);
}

void restwatch_expire_all(struct api *api)
{
    while (api->watches) {
        struct restwatch *w = api->watches;
        struct arena *arena = arena_new();
        struct objfail fail = {.arena = arena};
        (void)!objfail_set(&fail, 410, "Expired",
                           "too old resource version: %" PRIu64 " (%" PRIu64 ")", w->seen,
                           objstore_oldest_version(api->store));
        send_event(w, arena, "ERROR", objfail_status(&fail));
        arena_free(arena);
        if (api->watches == w)
            finish(w);
    }
}

size_t restwatch_count(const struct api *api)
{
    size_t count = 0;
    for (const struct restwatch *w = api->watches; w; w = w->next)
        count++;
    return count;
}

/*
 * States of a watch:
 *
 *   QUEUED     waits until fewer than MAX_LISTING watches of its client list
 *   LISTING    requests page after page; resumes at the same page after a transient failure
 *   STREAMING  reads events from the last resourceVersion on
 *   WAITING    backs off, then continues: with a resourceVersion STREAMING, else QUEUED
 *
 * Keys of all reported objects are kept, to find those that a new list lacks.
 */
#include "kube/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "kube/kube_internal.h"
#include "kube/rate_limit.h"

static void key_of(const void *item, const char **first, const char **second)
{
    const struct watch_key *key = item;

    *first = key->namespace_;
    *second = key->name;
}

void watch_keys_init(struct watch_keys *keys)
{
    *keys = (struct watch_keys){0};
    table_init(&keys->table, key_of);
}

void watch_keys_fini(struct watch_keys *keys)
{
    void *key = NULL;

    for (size_t i = 0; (key = table_next(&keys->table, &i));)
        free(key);
    table_fini(&keys->table);
}

void watch_keys_begin(struct watch_keys *keys)
{
    keys->round++;
}

/* One block: the struct and its three texts. */
static struct watch_key *key_new(const char *namespace_, const char *name, const char *uid)
{
    size_t sizes[] = {strlen(namespace_) + 1, strlen(name) + 1, strlen(uid) + 1};
    struct watch_key *key = heap_alloc(sizeof(*key) + sizes[0] + sizes[1] + sizes[2]);
    char *at = (char *)(key + 1);

    key->namespace_ = memcpy(at, namespace_, sizes[0]);
    key->name = memcpy(at + sizes[0], name, sizes[1]);
    key->uid = memcpy(at + sizes[0] + sizes[1], uid, sizes[2]);
    return key;
}

struct watch_key *watch_keys_put(struct watch_keys *keys, const char *namespace_, const char *name,
                                 const char *uid)
{
    struct watch_key *key = table_get(&keys->table, namespace_, name);
    struct watch_key *replaced = NULL;

    if (!key || strcmp(key->uid, uid) != 0) {
        key = key_new(namespace_, name, uid);
        replaced = table_put(&keys->table, key);
    }
    key->round = keys->round;
    return replaced;
}

void watch_keys_remove(struct watch_keys *keys, const char *namespace_, const char *name)
{
    free(table_take(&keys->table, namespace_, name));
}

struct watch_key **watch_keys_take_stale(struct watch_keys *keys, size_t *count)
{
    struct watch_key **stale = NULL;
    struct watch_key *key = NULL;

    *count = 0;
    for (size_t i = 0; (key = table_next(&keys->table, &i));)
        *count += key->round != keys->round;
    if (*count == 0)
        return NULL;
    stale = heap_array(*count, sizeof(struct watch_key *));
    size_t at = 0;
    for (size_t i = 0; (key = table_next(&keys->table, &i));)
        if (key->round != keys->round)
            stale[at++] = key;
    for (at = 0; at < *count; at++)
        table_take(&keys->table, stale[at]->namespace_, stale[at]->name);
    return stale;
}

static const struct {
    const char *name;
    enum line_type type;
} types[] = {
    {"ADDED", LINE_PUT},         {"MODIFIED", LINE_PUT}, {"DELETED", LINE_GONE},
    {"BOOKMARK", LINE_BOOKMARK}, {"ERROR", LINE_ERROR},
};

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

/* Fills the metadata part of *out from an object; returns false without name or resourceVersion. */
static bool watch_object_key(struct json_object *object, struct line_event *out)
{
    struct json_object *metadata = json_at(object, "metadata", NULL);

    out->namespace_ = text_or_empty(json_str_at(metadata, "namespace", NULL));
    out->name = text_or_empty(json_str_at(metadata, "name", NULL));
    out->uid = text_or_empty(json_str_at(metadata, "uid", NULL));
    out->resource_version = text_or_empty(json_str_at(metadata, "resourceVersion", NULL));
    return out->name[0] && out->resource_version[0];
}

static enum err parse_type(const char *name, enum line_type *type, struct errinfo *ei)
{
    for (size_t i = 0; name && i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, name) == 0) {
            *type = types[i].type;
            return ERR_OK;
        }
    }
    return err_set(ei, ERR_INVALID, "type: expected a watch event's type, found %.40s",
                   name ? name : "none");
}

enum err watch_line_parse(struct arena *arena, const char *line, size_t len, struct line_event *out,
                          struct errinfo *ei)
{
    struct json_object *event = NULL;
    enum reply_shape shape;
    enum err err = reply_parse(arena, line, len, REPLY_TRANSIENT, &event, &shape, ei);

    *out = (struct line_event){.outline = shape != REPLY_WHOLE};
    if (err == ERR_OK)
        err = parse_type(json_str_at(event, "type", NULL), &out->type, ei);
    if (err != ERR_OK)
        return err;
    out->object = json_at(event, "object", NULL);
    if (!json_object_is_type(out->object, json_type_object))
        return err_set(ei, ERR_INVALID, "object: expected an object");
    bool keyed = watch_object_key(out->object, out);
    if (out->type == LINE_ERROR) {
        out->code = (int)json_int_at(out->object, 0, "code", NULL);
        out->message = text_or_empty(json_str_at(out->object, "message", NULL));
    } else if (out->type == LINE_BOOKMARK ? !out->resource_version[0] : !keyed) {
        return err_set(ei, ERR_INVALID, "object.metadata: expected name and resourceVersion");
    }
    return ERR_OK;
}

bool watch_lines_feed(struct buf *rest, const char *data, size_t len,
                      bool (*fn)(void *arg, const char *line, size_t len), void *arg)
{
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t piece = end ? (size_t)(end - data) : len;
        if (!buf_add(rest, data, piece))
            return false;
        if (!end)
            return true;
        data += piece + 1;
        len -= piece + 1;
        bool more = rest->len == 0 || fn(arg, rest->data, rest->len);
        buf_clear(rest);
        if (!more)
            return false;
    }
    return true;
}

enum {
    MAX_LISTING = 4,
    SHORT_STREAM_MS = 1000, /* a stream that ends sooner is not resumed at once */
    CALM_MS = 5000,         /* a stream that lasted this long was not rejected */
};

enum watch_state { STATE_NEW, STATE_QUEUED, STATE_LISTING, STATE_STREAMING, STATE_WAITING };

/* The reason for the end of a stream, if the server sent one before the end. */
enum stream_end {
    STREAM_END_UNKNOWN,
    STREAM_END_RESUME,  /* after a wait */
    STREAM_END_RELIST,  /* the resourceVersion is gone */
    STREAM_END_INVALID, /* invalid data: list again, with back-off */
};

struct watch {
    struct loop *loop;
    struct kube_client *client;
    struct arena *arena; /* holds the copies of the spec's texts */
    struct kube_resource resource;
    struct watch_spec spec;
    watch_fn fn;
    void *arg;
    enum watch_state state;
    struct kube_call *call;
    struct timer *timer;
    struct watch *next; /* in the list limiter's queue */
    struct watch_keys keys;
    char *resource_version; /* NULL if a list is needed */
    char *continue_;        /* NULL before the first page */
    int page;
    bool begun;      /* WATCH_LISTING was reported */
    struct buf rest; /* an incomplete line of the stream */
    enum stream_end stream_end;
    int64_t stream_since_ms;
    int64_t heard_ms; /* time of the last page, event or bookmark; 0 if none */
    bool synced;
    bool dead;        /* watch_free() was called */
    bool dispatching; /* inside fn */
    struct backoff backoff;
    struct backoff missing;
    struct backoff relist; /* for repeated lists without a stable stream */
    struct errinfo trouble;
};

static void send_list(struct watch *w);
static void send_stream(struct watch *w);

static const struct machine_state states[] = {
    [STATE_NEW] = {.name = "new", .next = 1u << STATE_QUEUED},
    [STATE_QUEUED] = {.name = "queued", .next = 1u << STATE_LISTING},
    [STATE_LISTING] = {.name = "listing",
                       .next = 1u << STATE_QUEUED | 1u << STATE_STREAMING | 1u << STATE_WAITING},
    [STATE_STREAMING] = {.name = "streaming",
                         .next = 1u << STATE_STREAMING | 1u << STATE_QUEUED | 1u << STATE_WAITING},
    [STATE_WAITING] = {.name = "waiting", .next = 1u << STATE_QUEUED | 1u << STATE_STREAMING},
};
static const struct machine machine = {MACHINE_STATES(states), .event = "kube_watch"};

static void watch_set_state(struct watch *w, enum watch_state state)
{
    machine_step(&machine, w->state, state, NULL, "watch changed state",
                 LOG_STR("resource", w->resource.plural));
    w->state = state;
}

static void set_trouble(struct watch *w, const char *text)
{
    if (strcmp(w->trouble.text, text) == 0)
        return;
    err_set(&w->trouble, ERR_RETRY, "%s", text);
    log_warn("kube_watch_trouble", NULL, "the watch goes on by itself",
             LOG_STR("resource", w->resource.plural), LOG_STR("error", w->trouble.text));
}

static void clear_trouble(struct watch *w)
{
    if (w->trouble.text[0])
        log_info("kube_watch_recovered", NULL, "the watch works again",
                 LOG_STR("resource", w->resource.plural));
    w->trouble = (struct errinfo){0};
}

static void watch_destroy(struct watch *w)
{
    watch_keys_fini(&w->keys);
    buf_fini(&w->rest);
    free(w->resource_version);
    free(w->continue_);
    arena_free(w->arena);
    free(w);
}

/* Returns false if fn has freed the watch: the caller must unwind to where watch_destroy() is
 * called. */
static bool emit(struct watch *w, enum watch_event event, struct json_object *object)
{
    w->dispatching = true;
    w->fn(w->arg, event, object);
    w->dispatching = false;
    return !w->dead;
}

/* Reports GONE for an object known only by its key. Takes the key. */
static bool emit_gone(struct watch *w, struct watch_key *key)
{
    struct arena *arena = arena_new();
    struct json_object *object = json_own(arena, json_object_new_object());
    struct json_object *metadata = json_sub(object, "metadata");

    if (key->namespace_[0])
        json_set_str(metadata, "namespace", key->namespace_);
    json_set_str(metadata, "name", key->name);
    json_set_str(metadata, "uid", key->uid);
    free(key);
    bool alive = emit(w, WATCH_GONE, object);
    arena_free(arena);
    return alive;
}

static bool emit_put(struct watch *w, const struct line_event *event, bool outline)
{
    if (w->spec.no_keys)
        return emit(w, outline ? WATCH_OUTLINE : WATCH_PUT, event->object);
    struct watch_key *replaced =
        watch_keys_put(&w->keys, event->namespace_, event->name, event->uid);
    if (replaced && !emit_gone(w, replaced))
        return false;
    return emit(w, WATCH_PUT, event->object);
}

static bool emit_vanished(struct watch *w)
{
    size_t count = 0;
    struct watch_key **stale = watch_keys_take_stale(&w->keys, &count);
    bool alive = true;

    for (size_t i = 0; i < count; i++) {
        if (alive)
            alive = emit_gone(w, stale[i]);
        else
            free(stale[i]);
    }
    free(stale);
    return alive;
}

static void set_text(char **at, const char *text)
{
    char *copy = heap_strdup(text);

    free(*at);
    *at = copy;
}

/* ---- limit of concurrent lists */

static void start_list(struct watch *w)
{
    kube_client_list_limiter(w->client)->listing++;
    watch_set_state(w, STATE_LISTING);
    send_list(w);
}

static void enter_gate(struct watch *w)
{
    struct list_limiter *limiter = kube_client_list_limiter(w->client);

    watch_set_state(w, STATE_QUEUED);
    if (limiter->listing < MAX_LISTING) {
        start_list(w);
        return;
    }
    w->next = NULL;
    if (limiter->last)
        limiter->last->next = w;
    else
        limiter->first = w;
    limiter->last = w;
}

/* Must be called before w leaves LISTING or QUEUED, or is freed. */
static void leave_list_limiter(struct watch *w)
{
    struct list_limiter *limiter = kube_client_list_limiter(w->client);
    struct watch *before = NULL;

    if (w->state == STATE_LISTING) {
        limiter->listing--;
        struct watch *first = limiter->first;
        if (!first)
            return;
        limiter->first = first->next;
        limiter->last = limiter->first ? limiter->last : NULL;
        start_list(first);
    } else if (w->state == STATE_QUEUED) {
        for (struct watch *at = limiter->first; at && at != w; at = at->next)
            before = at;
        if (before)
            before->next = w->next;
        else
            limiter->first = w->next;
        if (limiter->last == w)
            limiter->last = before;
    }
}

/* ---- waiting */

static void wait_over(void *arg)
{
    struct watch *w = arg;

    w->timer = NULL;
    if (w->resource_version)
        send_stream(w);
    else
        enter_gate(w);
}

static void wait_for(struct watch *w, int64_t ms)
{
    leave_list_limiter(w);
    watch_set_state(w, STATE_WAITING);
    w->timer = timer_start(w->loop, ms, 0, wait_over, w);
}

static void forget_list(struct watch *w)
{
    free(w->continue_);
    w->continue_ = NULL;
}

static void forget_version(struct watch *w)
{
    free(w->resource_version);
    w->resource_version = NULL;
    forget_list(w);
}

/* The resourceVersion is gone: lists again, the first time at once. */
static void list_anew(struct watch *w)
{
    bool first = w->relist.failures == 0;
    int64_t ms = backoff_next(&w->relist, 0);

    forget_version(w);
    if (!first) {
        wait_for(w, ms);
        return;
    }
    leave_list_limiter(w);
    enter_gate(w);
}

static void wait_missing(struct watch *w)
{
    forget_version(w);
    wait_for(w, backoff_next(&w->missing, 0));
}

/* ---- listing */

static const char *selector_query(struct arena *arena, const struct watch *w)
{
    const char *query = "";

    if (w->spec.label_selector)
        query = arena_printf(arena, "&labelSelector=%s", url_encode(arena, w->spec.label_selector));
    if (w->spec.field_selector)
        query = arena_printf(arena, "%s&fieldSelector=%s", query,
                             url_encode(arena, w->spec.field_selector));
    return query;
}

static void tell_outline(const struct watch *w, const struct line_event *event)
{
    log_warn("kube_object_too_large", NULL,
             "the object takes too much memory to be read; only its metadata is known",
             LOG_STR("resource", w->resource.plural), LOG_STR("namespace", event->namespace_),
             LOG_STR("name", event->name));
}

/* Reports the beginning of a list, once. Returns false if the watch was freed. */
static bool report_begin(struct watch *w)
{
    bool begins = w->spec.no_keys && !w->continue_ && !w->begun;

    w->begun = true;
    return !begins || emit(w, WATCH_LISTING, NULL);
}

static bool list_item(void *arg, struct json_object *item, bool whole)
{
    struct watch *w = arg;
    struct line_event event = {.object = item};

    if (w->dead)
        return false;
    if (!watch_object_key(item, &event)) {
        log_warn("kube_watch_item", NULL, "an item without name or resourceVersion is left out",
                 LOG_STR("resource", w->resource.plural));
        return true;
    }
    if (!whole)
        tell_outline(w, &event);
    return report_begin(w) && emit_put(w, &event, !whole);
}

/* Reports the failure of a list; must be the last action. */
static void report_failed(struct watch *w)
{
    if (!w->spec.no_keys || emit(w, WATCH_FAILED, NULL))
        return;
    if (w->call)
        kube_cancel(w->call); /* its done callback destroys it */
    else
        watch_destroy(w);
}

static void list_failed(struct watch *w, const struct kube_result *result)
{
    bool paged = w->continue_ != NULL;

    set_trouble(w, result->info->text);
    if (result->status == 410) {
        list_anew(w);
        return;
    }
    if (result->status == 404) {
        wait_missing(w);
        return;
    }
    /* The page is too long, or the server refuses its token. */
    if (result->err == ERR_INVALID && result->status < 300 && w->page > 1)
        w->page /= 2;
    else if (result->err == ERR_INVALID && paged)
        forget_list(w);
    wait_for(w, backoff_next(&w->backoff, result->info->retry_after_ms));
}

static void list_complete(struct watch *w, const char *version)
{
    forget_list(w);
    set_text(&w->resource_version, version);
    w->synced = true;
    backoff_reset(&w->missing);
    if (!emit_vanished(w) || !emit(w, WATCH_SYNCED, NULL)) {
        watch_destroy(w);
        return;
    }
    leave_list_limiter(w);
    send_stream(w);
}

static void list_done(void *arg, const struct kube_result *result)
{
    struct watch *w = arg;
    struct json_object *items = json_at(result->body, "items", NULL);
    const char *version = json_str_at(result->body, "metadata", "resourceVersion", NULL);
    const char *more = json_str_at(result->body, "metadata", "continue", NULL);

    w->call = NULL;
    if (w->dead) {
        watch_destroy(w);
        return;
    }
    if (result->err != ERR_OK) {
        list_failed(w, result);
        report_failed(w);
        return;
    }
    /* An answer that is not a list must not be taken for an empty one. */
    if (!version || !version[0] || (items && !json_object_is_type(items, json_type_array))) {
        set_trouble(w, "the API server answered with something that is no list");
        wait_for(w, backoff_next(&w->backoff, 0));
        report_failed(w);
        return;
    }
    w->heard_ms = clock_monotonic_ms();
    clear_trouble(w);
    backoff_reset(&w->backoff);
    if (!report_begin(w)) {
        watch_destroy(w);
        return;
    }
    if (!more || !more[0]) {
        list_complete(w, version);
        return;
    }
    set_text(&w->continue_, more);
    send_list(w);
}

static struct kube_request request_of(const struct watch *w, const char *query)
{
    return (struct kube_request){
        .verb = KUBE_LIST,
        .resource = &w->resource,
        .namespace_ = w->spec.namespace_,
        .query = query,
        .metadata_only = w->spec.metadata_only,
    };
}

static void send_list(struct watch *w)
{
    struct arena *arena = arena_new();
    const char *query = arena_printf(arena, "limit=%d%s", w->page, selector_query(arena, w));

    if (w->continue_)
        query = arena_printf(arena, "%s&continue=%s", query, url_encode(arena, w->continue_));
    else
        watch_keys_begin(&w->keys);
    struct kube_request request = request_of(w, query);
    request.timeout_ms = w->spec.timing.list_ms;
    request.on_item = list_item;
    w->begun = false;
    w->call = kube_send(w->client, &request, list_done, w);
    arena_free(arena);
}

/* ---- streaming */

static bool stream_event(struct watch *w, const struct line_event *event)
{
    if (event->type == LINE_ERROR) {
        struct errinfo ei = {0};
        err_set(&ei, ERR_RETRY, "LIST %s: the watch was ended: %s (%d)", w->resource.plural,
                event->message && *event->message ? event->message : "no reason given",
                event->code);
        w->stream_end = event->code == 410 ? STREAM_END_RELIST : STREAM_END_RESUME;
        if (w->stream_end == STREAM_END_RESUME)
            set_trouble(w, ei.text);
        return false;
    }
    w->heard_ms = clock_monotonic_ms();
    backoff_reset(&w->backoff);
    clear_trouble(w);
    set_text(&w->resource_version, event->resource_version);
    if (event->outline)
        tell_outline(w, event);
    if (event->type == LINE_PUT)
        return emit_put(w, event, event->outline);
    if (event->type == LINE_GONE) {
        watch_keys_remove(&w->keys, event->namespace_, event->name);
        return emit(w, WATCH_GONE, event->object);
    }
    return true;
}

static bool stream_line(void *arg, const char *line, size_t len)
{
    struct watch *w = arg;
    struct arena *arena = arena_new();
    struct line_event event;
    struct errinfo ei = {0};
    bool more = false;

    if (watch_line_parse(arena, line, len, &event, &ei) == ERR_OK) {
        more = stream_event(w, &event);
    } else {
        err_wrap(&ei, ERR_INVALID, "LIST %s: the watch brought rubbish", w->resource.plural);
        set_trouble(w, ei.text);
        w->stream_end = STREAM_END_INVALID;
    }
    arena_free(arena);
    return more;
}

/* Counts an incomplete line against the memory limit; frees the buffer after a long line. */
static bool hold_rest(struct watch *w)
{
    enum { SMALL = 64 * 1024 };

    if (w->dead)
        return true;
    if (w->rest.len == 0 && w->rest.cap > SMALL) {
        buf_fini(&w->rest);
        buf_init(&w->rest, WATCH_LINE_MAX);
    }
    return kube_call_hold(w->call, &w->rest);
}

static bool stream_data(void *arg, const char *data, size_t len)
{
    struct watch *w = arg;

    if (w->dead || w->stream_end != STREAM_END_UNKNOWN)
        return false;
    bool more = watch_lines_feed(&w->rest, data, len, stream_line, w);
    if (!more && !w->dead && w->rest.truncated) {
        set_trouble(w, "the watch brought a line that is too long");
        w->stream_end = STREAM_END_INVALID;
    }
    return more && hold_rest(w);
}

/* The reason why a stream ended, if the server did not send one. */
static enum stream_end classify_end(struct watch *w, const struct kube_result *result,
                                    int64_t lived)
{
    if (result->err == ERR_OK)
        return STREAM_END_UNKNOWN;
    if (result->status == 410)
        return STREAM_END_RELIST;
    /* The end of a long stream is normal; repeated failures are not. */
    if (lived <= CALM_MS)
        set_trouble(w, result->info->text);
    /* The resource is gone, or our resourceVersion is rejected: the next list will show which. */
    return result->err == ERR_NOT_FOUND || result->err == ERR_INVALID ? STREAM_END_INVALID
                                                                      : STREAM_END_RESUME;
}

static void stream_done(void *arg, const struct kube_result *result)
{
    struct watch *w = arg;
    int64_t lived = clock_monotonic_ms() - w->stream_since_ms;

    w->call = NULL;
    if (w->dead) {
        watch_destroy(w);
        return;
    }
    buf_fini(&w->rest); /* a quiet watch must not hold a buffer of its longest line */
    if (lived > CALM_MS)
        clear_trouble(w);
    if (lived > w->spec.timing.backoff_max_ms) {
        backoff_reset(&w->relist);
        backoff_reset(&w->backoff);
    }
    if (w->stream_end == STREAM_END_UNKNOWN)
        w->stream_end = classify_end(w, result, lived);
    switch (w->stream_end) {
    case STREAM_END_RELIST:
        list_anew(w);
        break;
    case STREAM_END_INVALID:
        forget_version(w);
        wait_for(w, backoff_next(&w->relist, 0));
        break;
    case STREAM_END_RESUME:
        wait_for(w, backoff_next(&w->backoff, result->info->retry_after_ms));
        break;
    case STREAM_END_UNKNOWN:
        if (lived < SHORT_STREAM_MS)
            wait_for(w, backoff_next(&w->backoff, 0));
        else
            send_stream(w);
        break;
    }
}

static void send_stream(struct watch *w)
{
    const struct watch_timing *timing = &w->spec.timing;
    struct arena *arena = arena_new();
    int seconds = timing->timeout_s + (int)backoff_random(timing->timeout_s / 2 + 1);
    const char *query = arena_printf(
        arena, "watch=1&allowWatchBookmarks=true&resourceVersion=%s&timeoutSeconds=%d%s",
        url_encode(arena, w->resource_version), seconds, selector_query(arena, w));
    struct kube_request request = request_of(w, query);

    request.on_data = stream_data;
    request.idle_timeout_ms = seconds * INT64_C(1000) + timing->margin_ms;
    /* Ends streams of servers that ignore timeoutSeconds. */
    request.timeout_ms = request.idle_timeout_ms + timing->margin_ms;
    watch_set_state(w, STATE_STREAMING);
    w->stream_end = STREAM_END_UNKNOWN;
    w->stream_since_ms = clock_monotonic_ms();
    buf_init(&w->rest, WATCH_LINE_MAX);
    w->call = kube_send(w->client, &request, stream_done, w);
    arena_free(arena);
}

/* ---- public functions */

static void set_defaults(struct watch_timing *timing)
{
    static const struct watch_timing defaults = {.backoff_min_ms = 500,
                                                 .backoff_max_ms = 30000,
                                                 .missing_min_ms = 1000,
                                                 .missing_ms = 60000,
                                                 .margin_ms = 30000,
                                                 .list_ms = 60000,
                                                 .timeout_s = 290,
                                                 .page = 500};

    if (!timing->backoff_min_ms)
        timing->backoff_min_ms = defaults.backoff_min_ms;
    if (!timing->backoff_max_ms)
        timing->backoff_max_ms = defaults.backoff_max_ms;
    if (!timing->missing_ms)
        timing->missing_ms = defaults.missing_ms;
    if (!timing->missing_min_ms)
        timing->missing_min_ms = timing->missing_ms < defaults.missing_min_ms
                                     ? timing->missing_ms
                                     : defaults.missing_min_ms;
    if (!timing->margin_ms)
        timing->margin_ms = defaults.margin_ms;
    if (!timing->list_ms)
        timing->list_ms = defaults.list_ms;
    if (!timing->timeout_s)
        timing->timeout_s = defaults.timeout_s;
    if (!timing->page)
        timing->page = defaults.page;
}

struct watch *watch_new(struct loop *loop, struct kube_client *client,
                        const struct watch_spec *spec, watch_fn fn, void *arg)
{
    struct watch *w = heap_alloc(sizeof(*w));
    struct arena *arena = arena_new();

    *w = (struct watch){.loop = loop, .client = client, .arena = arena, .fn = fn, .arg = arg};
    w->resource = (struct kube_resource){
        .group = arena_strdup(arena, spec->resource->group),
        .version = arena_strdup(arena, spec->resource->version),
        .plural = arena_strdup(arena, spec->resource->plural),
        .kind = arena_strdup(arena, spec->resource->kind),
        .cluster_scoped = spec->resource->cluster_scoped,
        .also = spec->resource->also, /* static tables */
    };
    w->spec = *spec;
    w->spec.resource = &w->resource;
    w->spec.namespace_ = arena_strdup(arena, spec->namespace_);
    w->spec.label_selector = arena_strdup(arena, spec->label_selector);
    w->spec.field_selector = arena_strdup(arena, spec->field_selector);
    set_defaults(&w->spec.timing);
    w->page = w->spec.timing.page;
    w->missing = (struct backoff){.min_ms = w->spec.timing.missing_min_ms,
                                  .max_ms = w->spec.timing.missing_ms};
    w->backoff = w->relist = (struct backoff){.min_ms = w->spec.timing.backoff_min_ms,
                                              .max_ms = w->spec.timing.backoff_max_ms};
    watch_keys_init(&w->keys);
    buf_init(&w->rest, WATCH_LINE_MAX);
    enter_gate(w);
    return w;
}

void watch_free(struct watch *w)
{
    if (!w || w->dead)
        return;
    w->dead = true;
    leave_list_limiter(w);
    timer_stop(w->timer);
    w->timer = NULL;
    if (w->dispatching)
        return; /* emit() destroys it */
    if (w->call)
        kube_cancel(w->call); /* its done callback destroys it */
    else
        watch_destroy(w);
}

bool watch_synced(const struct watch *w)
{
    return w->synced;
}

const char *watch_position(const struct watch *w)
{
    return w->resource_version;
}

const char *watch_trouble(const struct watch *w)
{
    bool calm = w->state == STATE_STREAMING && clock_monotonic_ms() - w->stream_since_ms > CALM_MS;

    return w->trouble.text[0] && !calm ? w->trouble.text : NULL;
}

void watch_snapshot(const struct watch *w, struct watch_snapshot *out)
{
    *out = (struct watch_snapshot){
        .state = machine_name(&machine, (int)w->state),
        .resource_version = w->resource_version,
        .trouble = watch_trouble(w),
        .heard_ms = w->heard_ms,
        .synced = w->synced,
        .missing = w->missing.failures > 0,
    };
}

/*
 * A note is one Event: an object, a type, a reason and a message. It is in the recent table while
 * it is kept, and in its subject's queue until the API server has its latest count. A repetition
 * only increments the count, so the queue is bounded by the table. Namespaces take turns in
 * sending; if the whole table is queued, the namespace with the most notes loses its latest.
 */
#include "kube/event.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/shares.h"
#include "base/table.h"
#include "kube/rate_limit.h"

enum {
    MAX_NOTES = 10000,
    MAX_MESSAGE = 1024,
    AGGREGATE_MS = 600000,
    BURST = 50,
    REPEATS = 10,          /* repetitions that are each sent; */
    REPEAT_MS = 10 * 1000, /* after that, minimum interval between updates of the count */
    MAX_TRIES = 4,         /* the first try and three retries */
    MAX_CALLS = 8,         /* calls in progress: events must not spend their time-outs in a queue */
    BACKOFF_MIN_MS = 500,
    BACKOFF_MAX_MS = 10000,
};
static const double per_second = 0.1;

struct note {
    struct subject *subject;
    char *text; /* "type\nreason\nmessage", the key among the subject's notes */
    char *type, *reason, *message;
    char *name; /* name of the Event; NULL before it is created */
    bool known; /* the API server has it: PATCH */
    bool queued;
    bool changed; /* its count has changed while it was being sent */
    int64_t count;
    int64_t first_ms, last_ms; /* Unix time */
    int64_t queued_ms;         /* when it was last queued */
    struct note *next_queued;
    struct note *older, *newer; /* list of notes that are not queued, by their last use */
};

/* An object that events are about. */
struct subject {
    struct event_recorder *recorder;
    char *key; /* "namespace/kind/name/uid" */
    struct event_object object;
    struct rate_limit limit;
    int64_t left_out;
    size_t notes;
    struct note *first, *last; /* queue, in order */
    bool busy;                 /* the first one is being sent, or waits for a retry */
    struct fair_item ready;    /* entry in the recorder's ready queue */
    int tries;
    struct backoff backoff;
    struct timer *timer;
    struct kube_call *call;
};

struct event_recorder {
    struct loop *loop;
    struct kube_client *client;
    char *component;
    struct table subjects;
    struct table notes; /* by the subject's key and the text */
    struct note *oldest, *newest;
    struct fair_queue ready; /* subjects with notes to send */
    struct shares queued;    /* queued notes, by namespace */
    size_t calls;            /* calls in progress; the last one destroys a freed recorder */
    uint64_t serial;
    int64_t window_ms;
    bool freed;
    /* callback of event_flush() */
    void (*flushed)(void *arg);
    void *flushed_arg;
    struct timer *flush_timer;
};

static void send_next(struct subject *s);
static void send_ready(struct event_recorder *r);

static void subject_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct subject *)item)->key;
    *second = "";
}

static void note_key(const void *item, const char **first, const char **second)
{
    const struct note *note = item;

    *first = note->subject->key;
    *second = note->text;
}

/* ---- recent notes */

static void unlink_age(struct event_recorder *r, struct note *note)
{
    if (note->older)
        note->older->newer = note->newer;
    else
        r->oldest = note->newer;
    if (note->newer)
        note->newer->older = note->older;
    else
        r->newest = note->older;
    note->older = note->newer = NULL;
}

static void link_newest(struct event_recorder *r, struct note *note)
{
    note->older = r->newest;
    if (r->newest)
        r->newest->newer = note;
    else
        r->oldest = note;
    r->newest = note;
}

static void subject_free(struct subject *s)
{
    struct event_object *o = &s->object;
    const char *const texts[] = {o->api_version, o->kind, o->namespace_,
                                 o->name,        o->uid,  o->resource_version};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free((void *)(uintptr_t)texts[i]);
    timer_stop(s->timer);
    free(s->key);
    free(s);
}

static void note_free(struct note *note)
{
    free(note->text);
    free(note->type);
    free(note->reason);
    free(note->message);
    free(note->name);
    free(note);
}

/* Frees a note that is not queued and, with its last note, the subject. */
static void forget(struct event_recorder *r, struct note *note)
{
    struct subject *s = note->subject;

    assert(!note->queued);
    table_take(&r->notes, s->key, note->text);
    unlink_age(r, note);
    note_free(note);
    if (--s->notes == 0) {
        table_take(&r->subjects, s->key, "");
        subject_free(s);
    }
}

static const char *namespace_of(const struct subject *s)
{
    return s->object.namespace_ ? s->object.namespace_ : "";
}

/* A subject of the namespace whose last note is queued and not being sent; NULL if none. */
static struct subject *find_droppable(const struct event_recorder *r, const char *namespace_)
{
    struct subject *s;

    for (size_t i = 0; (s = table_next(&r->subjects, &i));)
        if (s->last && (!s->busy || s->first != s->last) &&
            strcmp(namespace_of(s), namespace_) == 0)
            return s;
    return NULL;
}

static void set_unqueued(struct event_recorder *r, struct note *note)
{
    note->queued = false;
    note->next_queued = NULL;
    link_newest(r, note);
    shares_give_back(&r->queued, namespace_of(note->subject), 1);
}

static void drop_last(struct event_recorder *r, struct subject *s)
{
    struct note *dropped = s->last, *before = s->first == dropped ? NULL : s->first;

    while (before && before->next_queued != dropped)
        before = before->next_queued;
    s->last = before;
    if (before)
        before->next_queued = NULL;
    else
        s->first = NULL;
    if (!s->first)
        fair_remove(&s->ready);
    log_warn("kube_event_lost", NULL, dropped->message, LOG_STR("object", s->key),
             LOG_STR("error", "too many events of this namespace wait"));
    set_unqueued(r, dropped);
    forget(r, dropped);
}

/* Makes room for a note by freeing the oldest that is not queued, or the last one of the
 * namespace with the most queued notes. Returns false if that is this namespace. */
static bool make_room(struct event_recorder *r, const char *namespace_)
{
    const char *largest;
    struct subject *s;

    if (r->notes.count < MAX_NOTES)
        return true;
    if (r->oldest) {
        forget(r, r->oldest);
        return true;
    }
    largest = shares_yields(&r->queued, namespace_, 1);
    if (!largest || strcmp(largest, namespace_) == 0 || !(s = find_droppable(r, largest)))
        return false;
    drop_last(r, s);
    return true;
}

static struct subject *subject_of(struct event_recorder *r, const struct event_object *object)
{
    char *key = heap_printf("%s/%s/%s/%s", object->namespace_ ? object->namespace_ : "",
                            object->kind, object->name, object->uid ? object->uid : "");
    struct subject *s = table_get(&r->subjects, key, "");

    if (s) {
        free(key);
        return s;
    }
    s = heap_alloc(sizeof(*s));
    *s = (struct subject){
        .recorder = r,
        .key = key,
        .object = {.api_version = heap_strdup(object->api_version),
                   .kind = heap_strdup(object->kind),
                   .namespace_ = heap_strdup(object->namespace_),
                   .name = heap_strdup(object->name),
                   .uid = heap_strdup(object->uid)},
        .backoff = {.min_ms = BACKOFF_MIN_MS, .max_ms = BACKOFF_MAX_MS},
    };
    rate_limit_init(&s->limit, per_second, BURST, clock_monotonic_ms());
    table_put(&r->subjects, s);
    return s;
}

static struct note *note_new(struct subject *s, const char *type, const char *reason,
                             const char *message, char *text)
{
    struct note *note = heap_alloc(sizeof(*note));

    *note = (struct note){
        .subject = s,
        .text = text,
        .type = heap_strdup(type),
        .reason = heap_strdup(reason),
        .message = heap_strdup(message),
    };
    s->notes++;
    table_put(&s->recorder->notes, note);
    link_newest(s->recorder, note);
    return note;
}

/* ---- the queue */

static void enqueue(struct subject *s, struct note *note)
{
    if (note->queued) {
        note->changed = true; /* sent with its new count, or once more if in progress */
        return;
    }
    unlink_age(s->recorder, note);
    note->queued = true;
    note->changed = false;
    note->next_queued = NULL;
    if (s->last)
        s->last->next_queued = note;
    else
        s->first = note;
    s->last = note;
    shares_take(&s->recorder->queued, namespace_of(s), 1);
}

static void end_flush(void *arg)
{
    struct event_recorder *r = arg;

    r->flush_timer = NULL;
    r->flushed(r->flushed_arg);
}

static void flush_within(struct event_recorder *r, int64_t ms)
{
    timer_stop(r->flush_timer);
    r->flush_timer = timer_start(r->loop, ms, 0, end_flush, r);
}

static struct note *dequeue(struct subject *s)
{
    struct note *note = s->first;

    s->first = note->next_queued;
    if (!s->first)
        s->last = NULL;
    set_unqueued(s->recorder, note);
    return note;
}

/* ---- sending */

static struct json_object *event_body(struct arena *arena, const struct note *note)
{
    const struct event_recorder *r = note->subject->recorder;
    const struct event_object *object = &note->subject->object;
    struct json_object *event = json_own(arena, json_object_new_object());
    struct json_object *metadata = json_sub(event, "metadata");
    struct json_object *involved = json_sub(event, "involvedObject");
    char text[CLOCK_TEXT];

    json_set_str(event, "apiVersion", "v1");
    json_set_str(event, "kind", "Event");
    json_set_str(metadata, "name", note->name);
    json_set_str(metadata, "namespace", object->namespace_ ? object->namespace_ : "default");
    json_set_str(involved, "apiVersion", object->api_version);
    json_set_str(involved, "kind", object->kind);
    json_set_str(involved, "namespace", object->namespace_);
    json_set_str(involved, "name", object->name);
    json_set_str(involved, "uid", object->uid);
    json_set_str(involved, "resourceVersion", object->resource_version);
    json_set_str(event, "type", note->type);
    json_set_str(event, "reason", note->reason);
    json_set_str(event, "message", note->message);
    json_set_int(event, "count", note->count);
    json_set_str(event, "firstTimestamp", clock_rfc3339(note->first_ms, text));
    json_set_str(event, "lastTimestamp", clock_rfc3339(note->last_ms, text));
    json_set_str(json_sub(event, "source"), "component", r->component);
    json_set_str(event, "reportingComponent", r->component);
    json_set_str(event, "reportingInstance", "");
    return event;
}

static struct json_object *event_patch(struct arena *arena, const struct note *note)
{
    struct json_object *patch = json_own(arena, json_object_new_object());
    char text[CLOCK_TEXT];

    json_set_int(patch, "count", note->count);
    json_set_str(patch, "lastTimestamp", clock_rfc3339(note->last_ms, text));
    return patch;
}

static void recorder_destroy(struct event_recorder *r)
{
    struct subject *s = NULL;

    for (size_t i = 0; (s = table_next(&r->subjects, &i));) {
        fair_remove(&s->ready);
        while (s->first)
            dequeue(s);
    }
    while (r->oldest)
        forget(r, r->oldest);
    table_fini(&r->subjects);
    table_fini(&r->notes);
    fair_fini(&r->ready);
    shares_fini(&r->queued);
    free(r->component);
    free(r);
}

static void retry(void *arg)
{
    struct subject *s = arg;

    s->timer = NULL;
    s->busy = false;
    send_next(s);
}

/* Removes the first note of the queue, which was sent or dropped, and sends the next. */
static void finish_first(struct subject *s)
{
    struct note *note = dequeue(s);

    s->busy = false;
    s->tries = 0;
    backoff_reset(&s->backoff);
    if (note->changed)
        enqueue(s, note);
    send_next(s);
    send_ready(s->recorder);
    if (s->recorder->flush_timer && event_pending(s->recorder) == 0)
        flush_within(s->recorder, 0);
}

static void sent(void *arg, const struct kube_result *result)
{
    struct subject *s = arg;
    struct event_recorder *r = s->recorder;
    struct note *note = s->first;

    s->call = NULL;
    r->calls--;
    if (r->freed) {
        if (r->calls == 0)
            recorder_destroy(r);
        return;
    }
    /* A retried create may conflict with its own event. */
    bool there = result->err == ERR_OK || (!note->known && result->err == ERR_CONFLICT);
    if (there) {
        note->known = true;
        note->changed |= result->err == ERR_CONFLICT && note->count > 1;
        finish_first(s);
    } else if (result->err == ERR_NOT_FOUND && note->known) {
        note->known = false; /* it has expired: create another with the same count */
        note->changed = true;
        free(note->name);
        note->name = NULL;
        finish_first(s);
    } else if (result->err == ERR_RETRY && ++s->tries < MAX_TRIES) {
        note->changed = false;
        send_ready(r);
        s->timer = timer_start(r->loop, backoff_next(&s->backoff, result->info->retry_after_ms), 0,
                               retry, s);
    } else {
        log_warn("kube_event_lost", NULL, note->message, LOG_STR("object", s->key),
                 LOG_STR("error", result->info->text));
        note->changed = false;
        finish_first(s);
    }
}

static void send_first(struct subject *s)
{
    struct event_recorder *r = s->recorder;
    struct note *note = s->first;
    struct arena *arena = arena_new();
    const char *namespace_ = s->object.namespace_ ? s->object.namespace_ : "default";
    if (!note->name)
        note->name = heap_printf("%.200s.%llx", s->object.name, (unsigned long long)r->serial++);
    struct kube_request request = {
        .verb = note->known ? KUBE_MERGE_PATCH : KUBE_CREATE,
        .resource = &kube_events,
        .namespace_ = namespace_,
        .name = note->known ? note->name : NULL,
        .body = note->known ? event_patch(arena, note) : event_body(arena, note),
        .purpose = KUBE_NOTIFY,
    };
    s->busy = true;
    note->changed = false;
    r->calls++;
    s->call = kube_send(r->client, &request, sent, s);
    arena_free(arena);
}

static void send_ready(struct event_recorder *r)
{
    struct fair_item *item;

    while (r->calls < MAX_CALLS && (item = fair_take(&r->ready)))
        send_first((struct subject *)((char *)item - offsetof(struct subject, ready)));
}

/* Queues the subject for sending; each sends one note at a time. */
static void send_next(struct subject *s)
{
    if (!s->first || s->busy || s->ready.lane)
        return;
    fair_add_of(&s->recorder->ready, namespace_of(s), &s->ready);
    send_ready(s->recorder);
}

/* ---- public functions */

struct event_recorder *event_recorder_new(struct loop *loop, struct kube_client *client,
                                          const char *component)
{
    struct event_recorder *r = heap_alloc(sizeof(*r));

    *r = (struct event_recorder){
        .loop = loop,
        .client = client,
        .component = heap_strdup(component),
        .window_ms = AGGREGATE_MS,
        /* Like client-go, names Events by nanoseconds, which differ between recorders. */
        .serial = (uint64_t)clock_wall_ms() * 1000000 + (uint64_t)backoff_random(1000000),
    };
    fair_init(&r->ready);
    shares_init(&r->queued, BUDGET_RECORDS, MAX_NOTES);
    table_init(&r->subjects, subject_key);
    table_init(&r->notes, note_key);
    return r;
}

void event_recorder_set_window(struct event_recorder *r, int64_t ms)
{
    r->window_ms = ms;
}

void event_recorder_free(struct event_recorder *r)
{
    struct subject *s = NULL;

    if (!r)
        return;
    if (event_pending(r) > 0)
        log_warn("kube_events_lost", NULL, "events were not sent before the end",
                 LOG_INT("count", event_pending(r)));
    r->freed = true;
    timer_stop(r->flush_timer);
    r->flush_timer = NULL;
    r->calls++; /* so that the cancels below do not free the recorder */
    for (size_t i = 0; (s = table_next(&r->subjects, &i));) {
        timer_stop(s->timer);
        s->timer = NULL;
        if (s->call)
            kube_cancel(s->call);
    }
    if (--r->calls == 0)
        recorder_destroy(r);
}

/* The first max bytes, not cut within a character, on the heap. */
static char *cut_text(const char *text, size_t max)
{
    size_t len = strlen(text);

    if (len > max) {
        len = max;
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
            len--;
    }
    return heap_printf("%.*s", (int)len, text);
}

/* Returns false if this object had too many events; the next one logs how many were dropped. */
static bool within_limit(struct subject *s)
{
    if (!rate_limit_try(&s->limit, clock_monotonic_ms())) {
        s->left_out++;
        return false;
    }
    if (s->left_out > 0)
        log_warn("kube_events_left_out", NULL, "an object has had too many events",
                 LOG_STR("object", s->key), LOG_INT("count", s->left_out));
    s->left_out = 0;
    return true;
}

/* A waiting release repeats its event at every check, for hours: limits the requests for it. */
static bool is_frequent(const struct note *note, int64_t now)
{
    return note->count >= REPEATS && now >= note->queued_ms && now - note->queued_ms < REPEAT_MS;
}

static void set_version(struct subject *s, const char *version)
{
    free((void *)(uintptr_t)s->object.resource_version);
    s->object.resource_version = heap_strdup(version);
}

void event_record(struct event_recorder *r, const struct event_object *object, const char *type,
                  const char *reason, const char *message)
{
    int64_t now = clock_wall_ms();
    char *cut = cut_text(message, MAX_MESSAGE);
    char *text = heap_printf("%s\n%s\n%s", type, reason, cut);
    struct subject *s = NULL;
    struct note *note = NULL;

    if (!make_room(r, object->namespace_ ? object->namespace_ : "")) {
        log_warn("kube_event_lost", NULL, cut, LOG_STR("error", "too many events wait"));
        goto out;
    }
    s = subject_of(r, object);
    note = table_get(&r->notes, s->key, text);
    if (!note) { /* even when over the limit: a subject needs a note */
        note = note_new(s, type, reason, cut, text);
        text = NULL;
    }
    if (!note->queued) {
        unlink_age(r, note);
        link_newest(r, note);
    }
    if (is_frequent(note, now)) {
        note->count++;
        note->last_ms = now;
        goto out;
    }
    if (!within_limit(s))
        goto out;
    set_version(s, object->resource_version);
    if (note->count > 0 && now - note->last_ms >= r->window_ms && !note->queued) {
        note->count = 0;
        note->known = false;
        free(note->name);
        note->name = NULL;
    }
    if (note->count == 0)
        note->first_ms = now;
    note->count++;
    note->last_ms = note->queued_ms = now;
    enqueue(s, note);
    send_next(s);
out:
    free(cut);
    free(text);
}

size_t event_pending(const struct event_recorder *r)
{
    return r->queued.taken;
}

void event_flush(struct event_recorder *r, int64_t max_ms, void (*done)(void *arg), void *arg)
{
    r->flushed = done;
    r->flushed_arg = arg;
    flush_within(r, event_pending(r) > 0 ? max_ms : 0);
}

/*
 * A note is one Event: an object, a type, a reason and a message. It stands in the recent table for
 * as long as it is remembered, and in its subject's queue when the API server does not know its
 * latest count yet. Saying it again only raises the count, so what waits is bounded by what is
 * remembered.
 */
#include "kube/event.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/table.h"
#include "kube/backoff.h"
#include "kube/rate_limit.h"

enum {
    MAX_NOTES = 10000,
    MAX_MESSAGE = 1024,
    AGGREGATE_MS = 600000,
    BURST = 50,
    REPEATS = 10,          /* of one event in a row are each sent, */
    REPEAT_MS = 10 * 1000, /* then its count, so often at most */
    MAX_TRIES = 4,         /* the first and three more */
    MAX_CALLS = 8,         /* under way: so many events must not spend their time-outs in a queue */
    BACKOFF_MIN_MS = 500,
    BACKOFF_MAX_MS = 10000,
};
static const double per_second = 0.1;

struct note {
    struct subject *subject;
    char *text; /* "type\nreason\nmessage", the key among the subject's notes */
    char *type, *reason, *message;
    char *name; /* of the Event; NULL: not yet made */
    bool known; /* the API server has it: PATCH */
    bool queued;
    bool changed; /* its count rose while it was being sent */
    int64_t count;
    int64_t first_ms, last_ms; /* Unix time */
    int64_t told_ms;           /* when it was last put into the queue */
    struct note *next_queued;
    struct note *older, *newer; /* those that are not queued, by their last use */
};

/* The object that events are about. */
struct subject {
    struct event_recorder *recorder;
    char *key; /* "namespace/kind/name/uid" */
    struct event_object object;
    struct rate_limit limit;
    int64_t left_out;
    size_t notes;
    struct note *first, *last; /* to be sent, in order */
    bool busy;                 /* the first one is being sent, or waits to be sent again */
    bool ready;                /* it stands among those that want to send */
    TAILQ_ENTRY(subject) link;
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
    struct table notes; /* by subject's key and text */
    struct note *oldest, *newest;
    TAILQ_HEAD(, subject) ready; /* have something to send, in order */
    size_t pending;
    size_t calls; /* under way; the last one frees a recorder that is freed */
    uint64_t serial;
    int64_t window_ms;
    bool freed;
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

/* ---- what is remembered */

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

/* Forgets a note that is not queued, and its subject with the last one. */
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

/* Makes room for one more: the oldest that does not wait to be sent goes. False when all of them
 * wait. */
static bool make_room(struct event_recorder *r)
{
    if (r->notes.count < MAX_NOTES)
        return true;
    if (!r->oldest)
        return false;
    forget(r, r->oldest);
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
        note->changed = true; /* sent with its new count, or once more if it is under way */
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
    s->recorder->pending++;
}

static struct note *dequeue(struct subject *s)
{
    struct note *note = s->first;

    s->first = note->next_queued;
    if (!s->first)
        s->last = NULL;
    note->queued = false;
    note->next_queued = NULL;
    link_newest(s->recorder, note);
    s->recorder->pending--;
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
        s->ready = false;
        while (s->first)
            dequeue(s);
    }
    while (r->oldest)
        forget(r, r->oldest);
    table_fini(&r->subjects);
    table_fini(&r->notes);
    free(r->component);
    free(r);
}

static void again(void *arg)
{
    struct subject *s = arg;

    s->timer = NULL;
    s->busy = false;
    send_next(s);
}

/* The first of the queue has been sent, or is given up: on with the next. */
static void settle(struct subject *s)
{
    struct note *note = dequeue(s);

    s->busy = false;
    s->tries = 0;
    backoff_reset(&s->backoff);
    if (note->changed)
        enqueue(s, note);
    send_next(s);
    send_ready(s->recorder);
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
    /* A create that was repeated may find its own event there already. */
    bool there = result->err == ERR_OK || (!note->known && result->err == ERR_CONFLICT);
    if (there) {
        note->known = true;
        note->changed |= result->err == ERR_CONFLICT && note->count > 1;
        settle(s);
    } else if (result->err == ERR_NOT_FOUND && note->known) {
        note->known = false; /* it has expired: made anew, under the count it has */
        note->changed = true;
        free(note->name);
        note->name = NULL;
        settle(s);
    } else if (result->err == ERR_RETRY && ++s->tries < MAX_TRIES) {
        note->changed = false;
        send_ready(r);
        s->timer = timer_start(r->loop, backoff_next(&s->backoff, result->info->retry_after_ms), 0,
                               again, s);
    } else {
        log_warn("kube_event_lost", NULL, note->message, LOG_STR("object", s->key),
                 LOG_STR("error", result->info->text));
        note->changed = false;
        settle(s);
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
        .purpose = KUBE_TELL,
    };
    s->busy = true;
    note->changed = false;
    r->calls++;
    s->call = kube_send(r->client, &request, sent, s);
    arena_free(arena);
}

static void send_ready(struct event_recorder *r)
{
    struct subject *s = NULL;

    while (r->calls < MAX_CALLS && (s = TAILQ_FIRST(&r->ready))) {
        TAILQ_REMOVE(&r->ready, s, link);
        s->ready = false;
        send_first(s);
    }
}

/* When it is its turn: each subject sends one at a time. */
static void send_next(struct subject *s)
{
    if (!s->first || s->busy || s->ready)
        return;
    s->ready = true;
    TAILQ_INSERT_TAIL(&s->recorder->ready, s, link);
    send_ready(s->recorder);
}

/* ---- the owner's side */

struct event_recorder *event_recorder_new(struct loop *loop, struct kube_client *client,
                                          const char *component)
{
    struct event_recorder *r = heap_alloc(sizeof(*r));

    *r = (struct event_recorder){
        .loop = loop,
        .client = client,
        .component = heap_strdup(component),
        .window_ms = AGGREGATE_MS,
        /* As client-go names events: by the nanoseconds, which no two recorders share. */
        .serial = (uint64_t)clock_wall_ms() * 1000000 + (uint64_t)backoff_random(1000000),
    };
    TAILQ_INIT(&r->ready);
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
    if (r->pending > 0)
        log_warn("kube_events_lost", NULL, "events were not sent before the end",
                 LOG_INT("count", r->pending));
    r->freed = true;
    r->calls++; /* ours, so that no cancel below frees the recorder under us */
    for (size_t i = 0; (s = table_next(&r->subjects, &i));) {
        timer_stop(s->timer);
        s->timer = NULL;
        if (s->call)
            kube_cancel(s->call);
    }
    if (--r->calls == 0)
        recorder_destroy(r);
}

/* The first max bytes without half a character at the end, on the heap. */
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

/* False when this object has had too many events; the first that passes again tells how many were
 * left out. */
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

/* What waits says so at every check, for hours: that is no reason for a request each time. */
static bool is_old_news(const struct note *note, int64_t now)
{
    return note->count >= REPEATS && now >= note->told_ms && now - note->told_ms < REPEAT_MS;
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

    if (!make_room(r)) {
        log_warn("kube_event_lost", NULL, cut, LOG_STR("error", "too many events wait"));
        goto out;
    }
    s = subject_of(r, object);
    note = table_get(&r->notes, s->key, text);
    if (!note) { /* also when over the limit: a subject lives by its notes */
        note = note_new(s, type, reason, cut, text);
        text = NULL;
    }
    if (!note->queued) {
        unlink_age(r, note);
        link_newest(r, note);
    }
    if (is_old_news(note, now)) {
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
    note->last_ms = note->told_ms = now;
    enqueue(s, note);
    send_next(s);
out:
    free(cut);
    free(text);
}

size_t event_pending(const struct event_recorder *r)
{
    return r->pending;
}

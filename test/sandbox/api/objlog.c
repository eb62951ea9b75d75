/*
 * The event log: a queue of the last changes, from which every watcher, in-process or HTTP, is
 * served. Watchers have a cursor; one timer round hands out what was logged when it began, so that
 * controllers that answer each other's events cannot starve the sockets. The log is only shortened
 * after a round, so no watcher ever misses an event.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"

struct objlog {
    struct objstore *store;
    struct logged *entries; /* a ring of cap, `count` from `first` on */
    size_t first, count, cap;
    size_t keep;
    uint64_t begin;  /* sequence number of entries[first] */
    uint64_t oldest; /* the oldest version that can be resumed from */
    struct objwatch *watches, **watches_end;
    struct timer *timer;
    bool handing_out;
};

struct logged {
    enum objevent_type type;
    uint64_t version;
    struct objset *set;
    const struct objkind *kind;
    struct objstate *object, *before; /* NULL for ADDED */
};

struct objwatch {
    struct objlog *log;
    struct objset *set; /* NULL: every kind */
    objwatch_fn fn;
    void *arg;
    uint64_t cursor; /* sequence number of the next entry */
    bool initial;    /* the state is yet to be told */
    bool stopped;
    struct objwatch *next;
};

struct objlog *objlog_new(struct objstore *store, size_t capacity)
{
    struct objlog *log = heap_alloc(sizeof(*log));
    *log = (struct objlog){.store = store, .keep = capacity};
    log->watches_end = &log->watches;
    return log;
}

static struct logged *entry(struct objlog *log, uint64_t sequence)
{
    assert(sequence >= log->begin && sequence - log->begin < log->count);
    return &log->entries[(log->first + (size_t)(sequence - log->begin)) % log->cap];
}

static void drop_first(struct objlog *log)
{
    struct logged *it = &log->entries[log->first];
    log->oldest = it->version;
    objstate_put(log->store, it->object);
    objstate_put(log->store, it->before);
    log->first = (log->first + 1) % log->cap;
    log->begin++;
    log->count--;
}

void objlog_free(struct objlog *log)
{
    timer_stop(log->timer);
    while (log->watches) {
        struct objwatch *watch = log->watches;
        log->watches = watch->next;
        free(watch);
    }
    while (log->count > 0)
        drop_first(log);
    free(log->entries);
    free(log);
}

static void grow(struct objlog *log)
{
    size_t cap = log->cap ? log->cap * 2 : 64;
    struct logged *entries = heap_array(cap, sizeof(*entries));
    for (size_t i = 0; i < log->count; i++)
        entries[i] = log->entries[(log->first + i) % log->cap];
    free(log->entries);
    log->entries = entries;
    log->first = 0;
    log->cap = cap;
}

static void hand_out(void *arg);

static void wake(struct objlog *log)
{
    if (!log->timer && !log->handing_out)
        log->timer = timer_start(log->store->loop, 0, 0, hand_out, log);
}

void objlog_add(struct objlog *log, enum objevent_type type, struct objset *set,
                struct objstate *object, struct objstate *before, uint64_t version)
{
    if (log->count == log->cap)
        grow(log);
    log->entries[(log->first + log->count) % log->cap] = (struct logged){
        .type = type,
        .version = version,
        .set = set,
        .kind = set->kind,
        .object = objstate_ref(object),
        .before = before ? objstate_ref(before) : NULL,
    };
    log->count++;
    wake(log);
}

/* The trees stay for the call, whatever fn reads. */
static void tell(struct objwatch *watch, struct objevent event, struct objstate *before)
{
    struct objstore *store = watch->log->store;
    event.object = json_object_get(objstate_tree(store, event.state));
    event.before = before ? json_object_get(objstate_tree(store, before)) : NULL;
    watch->fn(watch->arg, &event);
    json_object_put(event.object);
    json_object_put(event.before);
}

static void tell_state_of(struct objwatch *watch, struct objset *set)
{
    size_t count = set->count;
    struct objstate **states = heap_array(count + 1, sizeof(struct objstate *));
    for (size_t i = 0; i < count; i++)
        states[i] = objstate_ref(set->records[i]->state);
    for (size_t i = 0; i < count; i++) {
        struct objstore *store = watch->log->store;
        if (!watch->stopped) {
            struct objevent event = {.type = OBJ_ADDED, .kind = set->kind, .state = states[i]};
            const char *version =
                json_str_at(objstate_tree(store, states[i]), "metadata", "resourceVersion", NULL);
            event.resource_version = version ? strtoull(version, NULL, 10) : 0;
            tell(watch, event, NULL);
        }
        objstate_put(store, states[i]);
    }
    free(states);
}

static void tell_state(struct objwatch *watch)
{
    struct objlog *log = watch->log;
    watch->initial = false;
    watch->cursor = log->begin + log->count;
    uint64_t version = log->store->version;
    if (watch->set)
        tell_state_of(watch, watch->set);
    else
        for (struct objset *set = log->store->sets; set && !watch->stopped; set = set->next)
            tell_state_of(watch, set);
    if (!watch->stopped) {
        watch->fn(watch->arg, &(struct objevent){.type = OBJ_SYNCED,
                                                 .kind = watch->set ? watch->set->kind : NULL,
                                                 .resource_version = version});
    }
}

static void tell_changes(struct objwatch *watch, uint64_t end)
{
    while (!watch->stopped && watch->cursor < end) {
        /* A copy: fn may change the store, which may move the ring. */
        struct logged it = *entry(watch->log, watch->cursor++);
        if (watch->set && watch->set != it.set)
            continue;
        tell(watch,
             (struct objevent){.type = it.type,
                               .resource_version = it.version,
                               .kind = it.kind,
                               .state = it.object},
             it.before);
    }
}

static void free_stopped(struct objlog *log)
{
    struct objwatch **at = &log->watches;
    while (*at) {
        struct objwatch *watch = *at;
        if (watch->stopped) {
            *at = watch->next;
            free(watch);
        } else {
            at = &watch->next;
        }
    }
    log->watches_end = at;
}

static void hand_out(void *arg)
{
    struct objlog *log = arg;
    log->timer = NULL;
    log->handing_out = true;
    uint64_t end = log->begin + log->count;
    for (struct objwatch *watch = log->watches; watch; watch = watch->next)
        if (watch->initial && !watch->stopped)
            tell_state(watch);
        else
            tell_changes(watch, end);
    log->handing_out = false;
    free_stopped(log);
    uint64_t needed = log->begin + log->count;
    bool behind = false;
    for (struct objwatch *watch = log->watches; watch; watch = watch->next)
        behind = behind || watch->initial || watch->cursor < needed;
    if (behind) {
        wake(log);
        return;
    }
    while (log->count > log->keep)
        drop_first(log);
}

static struct objwatch *add_watch(struct objstore *store, const char *group, const char *plural,
                                  objwatch_fn fn, void *arg)
{
    struct objlog *log = store->log;
    struct objwatch *watch = heap_alloc(sizeof(*watch));
    *watch = (struct objwatch){
        .log = log,
        .set = plural ? objset_of(store, group, plural) : NULL,
        .fn = fn,
        .arg = arg,
        .cursor = log->begin + log->count,
    };
    *log->watches_end = watch;
    log->watches_end = &watch->next;
    return watch;
}

struct objwatch *objstore_watch(struct objstore *store, const char *group, const char *plural,
                                objwatch_fn fn, void *arg)
{
    struct objwatch *watch = add_watch(store, group, plural, fn, arg);
    watch->initial = true;
    wake(store->log);
    return watch;
}

struct objwatch *objstore_watch_from(struct objstore *store, const char *group, const char *plural,
                                     uint64_t version, objwatch_fn fn, void *arg)
{
    struct objlog *log = store->log;
    if (version != 0 && version < log->oldest)
        return NULL;
    struct objwatch *watch = add_watch(store, group, plural, fn, arg);
    if (version != 0) {
        while (watch->cursor > log->begin && entry(log, watch->cursor - 1)->version > version)
            watch->cursor--;
        wake(log);
    }
    return watch;
}

void objwatch_stop(struct objwatch *watch)
{
    if (watch) {
        watch->stopped = true;
        wake(watch->log);
    }
}

uint64_t objwatch_version(const struct objwatch *watch)
{
    struct objlog *log = watch->log;
    if (watch->initial)
        return 0;
    return watch->cursor == log->begin + log->count ? log->store->version
                                                    : entry(log, watch->cursor)->version - 1;
}

const char *objevent_text(const struct objevent *event, size_t *len)
{
    return objstate_text(event->state, len);
}

uint64_t objstore_version(const struct objstore *store)
{
    return store->version;
}

uint64_t objstore_oldest_version(const struct objstore *store)
{
    return store->log->oldest;
}

/* Entries that a watcher still has to see stay until the round is over; only resuming ends now. */
void objstore_compact(struct objstore *store)
{
    struct objlog *log = store->log;
    bool behind = log->handing_out || log->timer;
    while (!behind && log->count > 0)
        drop_first(log);
    log->oldest = store->version;
}

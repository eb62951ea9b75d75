#include "engine/recent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "base/table.h"

struct event {
    char *namespace_, *name, *text;
    bool warning;
    int64_t at_ms;
    int count;
    uint64_t number; /* serial number; 0 if the slot is free */
};

struct recent_events {
    struct event events[RECENT_EVENTS_MAX];
    uint64_t last;
};

struct recent_events *recent_events_new(void)
{
    struct recent_events *recent = heap_alloc(sizeof(*recent));

    memset(recent, 0, sizeof(*recent));
    return recent;
}

static void forget(struct event *event)
{
    free(event->namespace_);
    free(event->name);
    free(event->text);
    *event = (struct event){0};
}

void recent_events_free(struct recent_events *recent)
{
    if (!recent)
        return;
    for (size_t i = 0; i < RECENT_EVENTS_MAX; i++)
        forget(&recent->events[i]);
    free(recent);
}

static bool is_of(const struct event *event, const char *namespace_, const char *name)
{
    return event->number > 0 && strcmp(event->name, name) == 0 &&
           strcmp(event->namespace_, namespace_) == 0;
}

/*
 * The slot for the next event of this Canary: its own oldest event if it has reached its limit,
 * otherwise a free slot, or that of the oldest event of all.
 */
static struct event *place_for(struct recent_events *recent, const char *namespace_,
                               const char *name)
{
    struct event *own = NULL, *oldest = &recent->events[0];
    int count = 0;

    for (size_t i = 0; i < RECENT_EVENTS_MAX; i++) {
        struct event *event = &recent->events[i];
        if (event->number < oldest->number)
            oldest = event;
        if (!is_of(event, namespace_, name))
            continue;
        count++;
        if (!own || event->number < own->number)
            own = event;
    }
    return count >= RECENT_EVENTS_PER_CANARY ? own : oldest;
}

static struct event *newest_of(struct recent_events *recent, const char *namespace_,
                               const char *name)
{
    struct event *newest = NULL;

    for (size_t i = 0; i < RECENT_EVENTS_MAX; i++) {
        struct event *event = &recent->events[i];
        if (is_of(event, namespace_, name) && (!newest || event->number > newest->number))
            newest = event;
    }
    return newest;
}

void recent_events_add(struct recent_events *recent, const char *namespace_, const char *name,
                       const char *type, const char *text, int64_t now_ms)
{
    if (!recent)
        return;
    bool warning = strcmp(type, "Warning") == 0;
    size_t len = strlen(text),
           most = len > RECENT_EVENTS_TEXT ? utf8_cut(text, RECENT_EVENTS_TEXT) : len;
    struct event *event = newest_of(recent, namespace_, name);
    bool again = event && event->warning == warning && strlen(event->text) == most &&
                 strncmp(event->text, text, most) == 0;

    if (!again) {
        event = place_for(recent, namespace_, name);
        forget(event);
        *event = (struct event){.namespace_ = heap_strdup(namespace_),
                                .name = heap_strdup(name),
                                .text = heap_printf("%.*s", (int)most, text),
                                .warning = warning};
    }
    event->at_ms = now_ms;
    event->count++;
    event->number = ++recent->last;
}

static struct json_object *show(const struct event *event)
{
    struct json_object *out = json_object_new_object();
    char at[CLOCK_TEXT];

    json_set_str(out, "at", clock_rfc3339(event->at_ms, at));
    json_set_str(out, "type", event->warning ? "Warning" : "Normal");
    json_set_str(out, "text", event->text);
    json_set_int(out, "count", event->count);
    return out;
}

/* The newest event before this number; NULL if there is none. */
static const struct event *before(const struct recent_events *recent, const char *namespace_,
                                  const char *name, uint64_t number)
{
    const struct event *found = NULL;

    for (size_t i = 0; i < RECENT_EVENTS_MAX; i++) {
        const struct event *event = &recent->events[i];
        if (is_of(event, namespace_, name) && event->number < number &&
            (!found || event->number > found->number))
            found = event;
    }
    return found;
}

struct json_object *recent_events_list(const struct recent_events *recent, struct arena *arena,
                                       const char *namespace_, const char *name)
{
    struct json_object *list = json_own(arena, json_object_new_array());
    const struct event *event = before(recent, namespace_, name, UINT64_MAX);

    for (; event; event = before(recent, namespace_, name, event->number))
        json_object_array_add(list, show(event));
    return list;
}

struct kept {
    TAILQ_ENTRY(kept) link;
    char *namespace_, *name, *text;
    int64_t at_ms;
};

struct recent_plans {
    struct table table;
    TAILQ_HEAD(, kept) order; /* least recently active first */
    size_t bytes;
};

static void key_of(const void *item, const char **first, const char **second)
{
    const struct kept *kept = item;

    *first = kept->namespace_;
    *second = kept->name;
}

struct recent_plans *recent_plans_new(void)
{
    struct recent_plans *plans = heap_alloc(sizeof(*plans));

    *plans = (struct recent_plans){0};
    table_init(&plans->table, key_of);
    TAILQ_INIT(&plans->order);
    return plans;
}

static void drop(struct recent_plans *plans, struct kept *kept)
{
    table_take(&plans->table, kept->namespace_, kept->name);
    TAILQ_REMOVE(&plans->order, kept, link);
    plans->bytes -= strlen(kept->text);
    free(kept->namespace_);
    free(kept->name);
    free(kept->text);
    free(kept);
}

void recent_plans_free(struct recent_plans *plans)
{
    struct kept *kept;

    if (!plans)
        return;
    while ((kept = TAILQ_FIRST(&plans->order)))
        drop(plans, kept);
    table_fini(&plans->table);
    free(plans);
}

void recent_plans_put(struct recent_plans *plans, const char *namespace_, const char *name,
                      const char *text, int64_t now_ms)
{
    struct kept *kept = heap_alloc(sizeof(*kept));
    size_t len = strnlen(text, RECENT_PLANS_TEXT);

    recent_plans_forget(plans, namespace_, name);
    if (plans->table.count >= RECENT_PLANS_MAX)
        drop(plans, TAILQ_FIRST(&plans->order));
    *kept = (struct kept){.namespace_ = heap_strdup(namespace_),
                          .name = heap_strdup(name),
                          .text = heap_printf("%.*s", (int)len, text),
                          .at_ms = now_ms};
    plans->bytes += len;
    table_put(&plans->table, kept);
    TAILQ_INSERT_TAIL(&plans->order, kept, link);
}

void recent_plans_forget(struct recent_plans *plans, const char *namespace_, const char *name)
{
    struct kept *kept = table_get(&plans->table, namespace_, name);

    if (kept)
        drop(plans, kept);
}

const char *recent_plans_find(const struct recent_plans *plans, const char *namespace_,
                              const char *name, int64_t *at_ms)
{
    const struct kept *kept = table_get(&plans->table, namespace_, name);

    if (!kept)
        return NULL;
    *at_ms = kept->at_ms;
    return kept->text;
}

size_t recent_plans_count(const struct recent_plans *plans)
{
    return plans->table.count;
}

size_t recent_plans_bytes(const struct recent_plans *plans)
{
    return plans->bytes;
}

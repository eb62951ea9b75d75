#include "engine/told.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"

struct event {
    char *namespace_, *name, *text;
    bool warning;
    int64_t at_ms;
    int count;
    uint64_t number; /* of all events, in their order; 0: there is none in this place */
};

struct told {
    struct event events[TOLD_MAX];
    uint64_t last;
};

struct told *told_new(void)
{
    struct told *told = heap_alloc(sizeof(*told));

    memset(told, 0, sizeof(*told));
    return told;
}

static void forget(struct event *event)
{
    free(event->namespace_);
    free(event->name);
    free(event->text);
    *event = (struct event){0};
}

void told_free(struct told *told)
{
    if (!told)
        return;
    for (size_t i = 0; i < TOLD_MAX; i++)
        forget(&told->events[i]);
    free(told);
}

static bool is_of(const struct event *event, const char *namespace_, const char *name)
{
    return event->number > 0 && strcmp(event->name, name) == 0 &&
           strcmp(event->namespace_, namespace_) == 0;
}

/* Where the next event of this Canary goes: in place of its own oldest one when it has enough, or else
 * into an empty place, or in place of the oldest of all. */
static struct event *place_for(struct told *told, const char *namespace_, const char *name)
{
    struct event *own = NULL, *oldest = &told->events[0];
    int count = 0;

    for (size_t i = 0; i < TOLD_MAX; i++) {
        struct event *event = &told->events[i];
        if (event->number < oldest->number)
            oldest = event;
        if (!is_of(event, namespace_, name))
            continue;
        count++;
        if (!own || event->number < own->number)
            own = event;
    }
    return count >= TOLD_OF_ONE ? own : oldest;
}

static struct event *newest_of(struct told *told, const char *namespace_, const char *name)
{
    struct event *newest = NULL;

    for (size_t i = 0; i < TOLD_MAX; i++) {
        struct event *event = &told->events[i];
        if (is_of(event, namespace_, name) && (!newest || event->number > newest->number))
            newest = event;
    }
    return newest;
}

void told_add(struct told *told, const char *namespace_, const char *name, const char *type,
              const char *text, int64_t now_ms)
{
    if (!told)
        return;
    bool warning = strcmp(type, "Warning") == 0;
    size_t len = strlen(text), most = len > TOLD_TEXT ? utf8_cut(text, TOLD_TEXT) : len;
    struct event *event = newest_of(told, namespace_, name);
    bool again = event && event->warning == warning && strlen(event->text) == most &&
                 strncmp(event->text, text, most) == 0;

    if (!again) {
        event = place_for(told, namespace_, name);
        forget(event);
        *event = (struct event){.namespace_ = heap_strdup(namespace_),
                                .name = heap_strdup(name),
                                .text = heap_printf("%.*s", (int)most, text),
                                .warning = warning};
    }
    event->at_ms = now_ms;
    event->count++;
    event->number = ++told->last;
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

/* The newest before this number; NULL: there is none. */
static const struct event *before(const struct told *told, const char *namespace_, const char *name,
                                  uint64_t number)
{
    const struct event *found = NULL;

    for (size_t i = 0; i < TOLD_MAX; i++) {
        const struct event *event = &told->events[i];
        if (is_of(event, namespace_, name) && event->number < number &&
            (!found || event->number > found->number))
            found = event;
    }
    return found;
}

struct json_object *told_list(const struct told *told, struct arena *arena, const char *namespace_,
                              const char *name)
{
    struct json_object *list = json_own(arena, json_object_new_array());
    const struct event *event = before(told, namespace_, name, UINT64_MAX);

    for (; event; event = before(told, namespace_, name, event->number))
        json_object_array_add(list, show(event));
    return list;
}

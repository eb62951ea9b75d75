#include "cluster/work.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct item {
    struct item *next;
    work_fn fn;
    void *arg;
    char *ns, *name;
    int64_t due_ms;
};

struct work {
    struct loop *loop;
    struct item *items; /* in order of due time, first come first served among equals */
    struct timer *timer;
    int64_t timer_due_ms;
};

static void item_free(struct item *item)
{
    free(item->ns);
    free(item->name);
    free(item);
}

static void run(void *arg);

static void arm(struct work *work)
{
    if (!work->items || (work->timer && work->timer_due_ms <= work->items->due_ms))
        return;
    timer_stop(work->timer);
    int64_t wait = work->items->due_ms - clock_monotonic_ms();
    work->timer_due_ms = work->items->due_ms;
    work->timer = timer_start(work->loop, wait > 0 ? wait : 0, 0, run, work);
}

static void run(void *arg)
{
    struct work *work = arg;
    int64_t now = clock_monotonic_ms();

    work->timer = NULL;
    /* Only what is due by now: work that makes work must leave the loop a turn in between. */
    while (work->items && work->items->due_ms <= now) {
        struct item *item = work->items;
        work->items = item->next;
        struct arena *arena = arena_new();
        item->fn(item->arg, arena, item->ns, item->name);
        arena_free(arena);
        item_free(item);
        if (clock_monotonic_ms() > now + 20)
            break;
    }
    arm(work);
}

struct work *work_new(struct loop *loop)
{
    struct work *work = heap_alloc(sizeof(*work));
    *work = (struct work){.loop = loop};
    return work;
}

void work_free(struct work *work)
{
    if (!work)
        return;
    timer_stop(work->timer);
    while (work->items) {
        struct item *item = work->items;
        work->items = item->next;
        item_free(item);
    }
    free(work);
}

static bool same_key(const struct item *item, work_fn fn, const char *ns, const char *name)
{
    return item->fn == fn && strcmp(item->name, name) == 0 && strcmp(item->ns, ns) == 0;
}

void work_add_after(struct work *work, work_fn fn, void *arg, const char *ns, const char *name,
                    int64_t delay_ms)
{
    int64_t due = clock_monotonic_ms() + delay_ms;
    struct item *item = NULL;

    for (struct item **at = &work->items; *at; at = &(*at)->next) {
        if (!same_key(*at, fn, ns, name))
            continue;
        if ((*at)->due_ms <= due)
            return;
        item = *at;
        *at = item->next;
        break;
    }
    if (!item) {
        item = heap_alloc(sizeof(*item));
        *item =
            (struct item){.fn = fn, .arg = arg, .ns = heap_strdup(ns), .name = heap_strdup(name)};
    }
    item->due_ms = due;
    struct item **at = &work->items;
    while (*at && (*at)->due_ms <= due)
        at = &(*at)->next;
    item->next = *at;
    *at = item;
    arm(work);
}

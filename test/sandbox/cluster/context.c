#include "cluster/context.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "object/meta.h"

void context_queue(struct cluster *cluster, work_fn fn, const char *ns, const char *name)
{
    context_queue_after(cluster, fn, ns, name, 0);
}

void context_queue_after(struct cluster *cluster, work_fn fn, const char *ns, const char *name,
                         int64_t delay_ms)
{
    if (!cluster->draining)
        work_add_after(cluster->work, fn, cluster, ns, name, delay_ms);
}

struct json_object *context_get(struct cluster *cluster, struct arena *arena, enum kind kind,
                                const char *ns, const char *name)
{
    struct json_object *obj = objstore_get(cluster->store, cluster->kinds[kind], ns, name);
    return obj ? json_own(arena, json_object_get(obj)) : NULL;
}

size_t context_list(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    struct json_object ***items)
{
    return objstore_list(cluster->store, arena, cluster->kinds[kind], ns, items);
}

static struct objcall call_new(struct arena *arena)
{
    return (struct objcall){.arena = arena, .manager = "flagger-sandbox", .fail = {.arena = arena}};
}

/* What is gone or was changed meanwhile comes back through the watch: no reason to complain. */
static bool succeeded(enum err err, const struct objcall *call, const char *what, const char *ns,
                      const char *name)
{
    if (err != ERR_OK && err != ERR_NOT_FOUND && err != ERR_CONFLICT)
        log_warn("write_failed", NULL, call->fail.message ? call->fail.message : err_name(err),
                 LOG_STR("write", what), LOG_STR("namespace", ns), LOG_STR("name", name));
    return err == ERR_OK;
}

bool context_create(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    struct json_object *obj, struct json_object **out)
{
    struct objcall call = call_new(arena);
    enum err err = objstore_create(cluster->store, &call, cluster->kinds[kind], ns, obj, out);
    return succeeded(err, &call, "create", ns, meta_name(obj));
}

static bool merge(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                  const char *name, enum objsub sub, struct json_object *patch)
{
    struct objcall call = call_new(arena);
    enum err err =
        objstore_merge(cluster->store, &call, cluster->kinds[kind], ns, name, sub, patch, NULL);
    return succeeded(err, &call, "patch", ns, name);
}

bool context_merge(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                   const char *name, struct json_object *patch)
{
    return merge(cluster, arena, kind, ns, name, OBJSUB_NONE, patch);
}

bool context_merge_status(struct cluster *cluster, struct arena *arena, enum kind kind,
                          const char *ns, const char *name, struct json_object *patch)
{
    return merge(cluster, arena, kind, ns, name, OBJSUB_STATUS, patch);
}

bool context_status(struct cluster *cluster, struct arena *arena, const struct objkind *kind,
                    const char *ns, const char *name, struct json_object *status)
{
    struct json_object *live = objstore_get(cluster->store, kind, ns, name);
    if (!live)
        return false;
    if (json_same(json_at(live, "status", NULL), status))
        return true;
    struct json_object *copy = json_copy(arena, live);
    json_set(copy, "status", status);
    struct objcall call = call_new(arena);
    enum err err = objstore_update(cluster->store, &call, kind, ns, OBJSUB_STATUS, copy, NULL);
    return succeeded(err, &call, "status", ns, name);
}

static void delete_with(struct cluster *cluster, struct arena *arena, enum kind kind,
                        const char *ns, const char *name, int64_t grace)
{
    struct objcall call = call_new(arena);
    const struct objdelete options = {.propagation = OBJ_BACKGROUND, .grace_seconds = grace};
    bool gone;
    enum err err = objstore_delete(cluster->store, &call, cluster->kinds[kind], ns, name, &options,
                                   NULL, &gone);
    succeeded(err, &call, "delete", ns, name);
}

void context_remove(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    const char *name)
{
    delete_with(cluster, arena, kind, ns, name, 0);
}

void context_delete(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    const char *name)
{
    delete_with(cluster, arena, kind, ns, name, -1);
}

const char *context_now(struct arena *arena)
{
    return meta_time(arena, clock_wall_ms());
}

/* ---- the queue ---- */

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

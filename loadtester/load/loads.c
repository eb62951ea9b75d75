#include "loadtester/load/loads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct loads_waiter {
    struct loads_waiter *next;
    loads_fn fn;
    void *arg;
};

struct item {
    TAILQ_ENTRY(item) link;
    struct loads *loads;
    struct load_run *run;
    struct loads_waiter *waiters;
    int n_waiters;
    bool over; /* its release has ended: only for lists */
};

struct loads {
    struct load_context context;
    TAILQ_HEAD(items, item) items; /* newest first */
    int count;
};

struct loads *loads_new(struct loop *loop, struct kube_client *kube,
                        const struct load_policy *policy, int64_t poll_ms)
{
    struct loads *loads = heap_alloc(sizeof(*loads));

    *loads = (struct loads){
        .context = {.loop = loop, .kube = kube, .policy = policy, .poll_ms = poll_ms}};
    TAILQ_INIT(&loads->items);
    return loads;
}

static void call_waiters(struct item *item, const struct load_run *run)
{
    struct loads_waiter *next, *waiter = item->waiters;

    item->waiters = NULL;
    item->n_waiters = 0;
    for (; waiter; waiter = next) {
        next = waiter->next;
        waiter->fn(waiter->arg, run);
        free(waiter);
    }
}

static void drop(struct loads *loads, struct item *item)
{
    TAILQ_REMOVE(&loads->items, item, link);
    loads->count--;
    call_waiters(item, NULL);
    load_run_free(item->run);
    free(item);
}

void loads_stop(struct loads *loads)
{
    struct item *item;

    while (loads && (item = TAILQ_FIRST(&loads->items)))
        drop(loads, item);
}

void loads_free(struct loads *loads)
{
    loads_stop(loads);
    free(loads);
}

/* --- questions */

static struct item *find(const struct loads *loads, const char *name)
{
    struct item *item;

    TAILQ_FOREACH(item, &loads->items, link)
    {
        if (!item->over && strcmp(item->run->order.name, name) == 0)
            return item;
    }
    return NULL;
}

static struct item *find_run(const struct loads *loads, const struct load_run *run)
{
    struct item *item;

    TAILQ_FOREACH(item, &loads->items, link)
    {
        if (item->run == run)
            return item;
    }
    return NULL;
}

/* Only now is it known that there is a new step: what older ones have left running is ended. */
static void on_change(void *arg, struct load_run *run)
{
    struct item *item = arg;

    if (run->state == LOAD_RUNNING && !run->adopted)
        load_sweep(&item->loads->context, run->order.resource, &run->order, true);
    call_waiters(item, run);
}

static bool make_room(struct loads *loads)
{
    struct item *item;

    if (loads->count < LOADS_KEPT)
        return true;
    TAILQ_FOREACH_REVERSE(item, &loads->items, items, link)
    {
        if (load_run_ended(item->run)) {
            drop(loads, item);
            return true;
        }
    }
    return false;
}

static int running_in(const struct loads *loads, const char *namespace_)
{
    const struct item *item;
    int n = 0;

    TAILQ_FOREACH(item, &loads->items, link)
    {
        n += !load_run_ended(item->run) &&
             strcmp(item->run->order.canary_namespace, namespace_) == 0;
    }
    return n;
}

const struct load_run *loads_ask(struct loads *loads, struct arena *arena,
                                 const struct load_order *order, const char **full)
{
    struct item *item = find(loads, order->name);

    *full = NULL;
    if (item) {
        arena_free(arena);
        return item->run;
    }
    if (running_in(loads, order->canary_namespace) >= LOADS_PER_NAMESPACE || !make_room(loads)) {
        *full = "too many load tests run already";
        arena_free(arena);
        return NULL;
    }
    item = heap_alloc(sizeof(*item));
    *item = (struct item){.loads = loads};
    TAILQ_INSERT_HEAD(&loads->items, item, link);
    loads->count++;
    item->run = load_run_new(&loads->context, arena, order, on_change, item);
    return item->run;
}

bool loads_wait(struct loads *loads, const struct load_run *run, loads_fn fn, void *arg)
{
    struct item *item = find_run(loads, run);

    if (!item || item->n_waiters >= LOADS_MAX_WAITERS)
        return false;
    struct loads_waiter *waiter = heap_alloc(sizeof(*waiter));
    *waiter = (struct loads_waiter){.next = item->waiters, .fn = fn, .arg = arg};
    item->waiters = waiter;
    item->n_waiters++;
    return true;
}

void loads_answered(struct loads *loads, const struct load_run *run)
{
    struct item *item = find_run(loads, run);

    if (item && (run->state == LOAD_REFUSED || run->gone))
        item->over = true;
}

void loads_end(struct loads *loads, const struct load_order *order)
{
    struct item *item, *next;

    load_sweep(&loads->context, order->resource, order, false);
    for (item = TAILQ_FIRST(&loads->items); item; item = next) {
        next = TAILQ_NEXT(item, link);
        const struct load_order *other = &item->run->order;
        if (other->resource != order->resource || strcmp(other->of_canary, order->of_canary) != 0)
            continue;
        if (load_run_ended(item->run))
            item->over = true;
        else
            drop(loads, item);
    }
}

const char *loads_list(const struct loads *loads, struct arena *arena, const char *namespace_,
                       const char *name)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *list = json_object_new_array();
    const struct item *item;

    json_object_object_add(out, "loadTests", list);
    TAILQ_FOREACH(item, &loads->items, link)
    {
        const struct load_order *order = &item->run->order;
        if (!namespace_ || (strcmp(order->canary_namespace, namespace_) == 0 &&
                            strcmp(order->canary_name, name) == 0))
            json_object_array_add(list, load_run_json(item->run));
    }
    return json_text(arena, out);
}

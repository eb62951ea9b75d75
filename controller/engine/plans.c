#include "engine/plans.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/table.h"

struct kept {
    TAILQ_ENTRY(kept) link;
    char *namespace_, *name, *text;
    int64_t at_ms;
};

struct plans {
    struct table table;
    TAILQ_HEAD(, kept) order; /* who acted longest ago first */
    size_t bytes;
};

static void key_of(const void *item, const char **first, const char **second)
{
    const struct kept *kept = item;

    *first = kept->namespace_;
    *second = kept->name;
}

struct plans *plans_new(void)
{
    struct plans *plans = heap_alloc(sizeof(*plans));

    *plans = (struct plans){0};
    table_init(&plans->table, key_of);
    TAILQ_INIT(&plans->order);
    return plans;
}

static void drop(struct plans *plans, struct kept *kept)
{
    table_take(&plans->table, kept->namespace_, kept->name);
    TAILQ_REMOVE(&plans->order, kept, link);
    plans->bytes -= strlen(kept->text);
    free(kept->namespace_);
    free(kept->name);
    free(kept->text);
    free(kept);
}

void plans_free(struct plans *plans)
{
    struct kept *kept;

    if (!plans)
        return;
    while ((kept = TAILQ_FIRST(&plans->order)))
        drop(plans, kept);
    table_fini(&plans->table);
    free(plans);
}

void plans_keep(struct plans *plans, const char *namespace_, const char *name, const char *text,
                int64_t now_ms)
{
    struct kept *kept = heap_alloc(sizeof(*kept));
    size_t len = strnlen(text, PLANS_TEXT);

    plans_forget(plans, namespace_, name);
    if (plans->table.count >= PLANS_KEPT)
        drop(plans, TAILQ_FIRST(&plans->order));
    *kept = (struct kept){.namespace_ = heap_strdup(namespace_),
                          .name = heap_strdup(name),
                          .text = heap_printf("%.*s", (int)len, text),
                          .at_ms = now_ms};
    plans->bytes += len;
    table_put(&plans->table, kept);
    TAILQ_INSERT_TAIL(&plans->order, kept, link);
}

void plans_forget(struct plans *plans, const char *namespace_, const char *name)
{
    struct kept *kept = table_get(&plans->table, namespace_, name);

    if (kept)
        drop(plans, kept);
}

const char *plans_find(const struct plans *plans, const char *namespace_, const char *name,
                       int64_t *at_ms)
{
    const struct kept *kept = table_get(&plans->table, namespace_, name);

    if (!kept)
        return NULL;
    *at_ms = kept->at_ms;
    return kept->text;
}

size_t plans_count(const struct plans *plans)
{
    return plans->table.count;
}

size_t plans_bytes(const struct plans *plans)
{
    return plans->bytes;
}

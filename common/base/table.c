/* Open addressing with linear probing; a removal closes the gap by moving later items of the run
 * up. */
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { FIRST_CAP = 16 };

void table_init(struct table *table,
                void (*key)(const void *item, const char **first, const char **second))
{
    *table = (struct table){.key = key};
}

void table_fini(struct table *table)
{
    free(table->slots);
    *table = (struct table){.key = table->key};
}

/* FNV-1a over both texts and the NUL between them. */
static uint32_t hash_of(const char *first, const char *second)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (const char *at = first; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    hash *= UINT64_C(1099511628211);
    for (const char *at = second; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    return (uint32_t)(hash ^ hash >> 32);
}

/* The slot of this pair, or the free one where it would go. The table has a free slot. */
static struct table_slot *find(const struct table *table, uint32_t hash, const char *first,
                               const char *second)
{
    for (size_t i = hash & (table->cap - 1);; i = (i + 1) & (table->cap - 1)) {
        struct table_slot *slot = &table->slots[i];
        const char *a = NULL;
        const char *b = NULL;
        if (!slot->item)
            return slot;
        if (slot->hash != hash)
            continue;
        table->key(slot->item, &a, &b);
        if (strcmp(a ? a : "", first) == 0 && strcmp(b ? b : "", second) == 0)
            return slot;
    }
}

static void grow(struct table *table)
{
    struct table_slot *old = table->slots;
    size_t old_cap = table->cap;

    table->cap = old_cap ? old_cap * 2 : FIRST_CAP;
    table->slots = heap_array(table->cap, sizeof(*table->slots));
    memset(table->slots, 0, table->cap * sizeof(*table->slots));
    for (size_t i = 0; i < old_cap; i++) {
        if (!old[i].item)
            continue;
        size_t at = old[i].hash & (table->cap - 1);
        while (table->slots[at].item)
            at = (at + 1) & (table->cap - 1);
        table->slots[at] = old[i];
    }
    free(old);
}

void *table_get(const struct table *table, const char *first, const char *second)
{
    first = first ? first : "";
    second = second ? second : "";
    return table->cap ? find(table, hash_of(first, second), first, second)->item : NULL;
}

void *table_put(struct table *table, void *item)
{
    const char *first = NULL;
    const char *second = NULL;

    if ((table->count + 1) * 4 > table->cap * 3)
        grow(table);
    table->key(item, &first, &second);
    first = first ? first : "";
    second = second ? second : "";
    uint32_t hash = hash_of(first, second);
    struct table_slot *slot = find(table, hash, first, second);
    void *before = slot->item;
    *slot = (struct table_slot){.hash = hash, .item = item};
    table->count += before ? 0 : 1;
    return before;
}

void *table_take(struct table *table, const char *first, const char *second)
{
    first = first ? first : "";
    second = second ? second : "";
    if (!table->cap)
        return NULL;
    struct table_slot *slot = find(table, hash_of(first, second), first, second);
    void *item = slot->item;
    if (!item)
        return NULL;
    size_t mask = table->cap - 1;
    size_t gap = (size_t)(slot - table->slots);
    table->slots[gap].item = NULL;
    table->count--;
    for (size_t i = (gap + 1) & mask; table->slots[i].item; i = (i + 1) & mask) {
        size_t home = table->slots[i].hash & mask;
        /* May move up only if its home does not lie behind the gap. */
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        table->slots[gap] = table->slots[i];
        table->slots[i].item = NULL;
        gap = i;
    }
    return item;
}

void *table_next(const struct table *table, size_t *index)
{
    while (*index < table->cap) {
        void *item = table->slots[(*index)++].item;
        if (item)
            return item;
    }
    return NULL;
}

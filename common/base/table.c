/* Open addressing with linear probing; a removal closes the gap by moving up later items of the
 * run. */
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/encoding.h"

enum { FIRST_CAP = 16 };

void table_init(struct table *table,
                void (*key)(const void *item, const char **first, const char **second))
{
    *table = (struct table){.key = key};
}

void table_fini(struct table *table)
{
    free(table->items);
    free(table->hashes);
    *table = (struct table){.key = table->key};
}

/* Hashes both texts and the NUL between them. */
uint32_t table_hash(const char *first, const char *second)
{
    uint64_t hash = hash_text(hash_byte(hash_text(HASH_START, first), 0), second);

    return (uint32_t)(hash ^ hash >> 32);
}

/* The slot of this pair, or a free slot for it. The table must have a free slot. */
static size_t find(const struct table *table, uint32_t hash, const char *first, const char *second)
{
    size_t mask = table->cap - 1;

    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        const char *a = NULL;
        const char *b = NULL;
        if (!table->items[i])
            return i;
        if (table->hashes[i] != hash)
            continue;
        table->key(table->items[i], &a, &b);
        if (strcmp(a ? a : "", first) == 0 && strcmp(b ? b : "", second) == 0)
            return i;
    }
}

static void grow(struct table *table)
{
    struct table old = *table;

    table->cap = old.cap ? old.cap * 2 : FIRST_CAP;
    table->items = heap_array(table->cap, sizeof(*table->items));
    table->hashes = heap_array(table->cap, sizeof(*table->hashes));
    memset(table->items, 0, table->cap * sizeof(*table->items));
    for (size_t i = 0; i < old.cap; i++) {
        if (!old.items[i])
            continue;
        size_t at = old.hashes[i] & (table->cap - 1);
        while (table->items[at])
            at = (at + 1) & (table->cap - 1);
        table->items[at] = old.items[i];
        table->hashes[at] = old.hashes[i];
    }
    free(old.items);
    free(old.hashes);
}

void *table_get(const struct table *table, const char *first, const char *second)
{
    first = first ? first : "";
    second = second ? second : "";
    return table->cap ? table->items[find(table, table_hash(first, second), first, second)] : NULL;
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
    uint32_t hash = table_hash(first, second);
    size_t at = find(table, hash, first, second);
    void *before = table->items[at];
    table->items[at] = item;
    table->hashes[at] = hash;
    table->count += before ? 0 : 1;
    return before;
}

void *table_take(struct table *table, const char *first, const char *second)
{
    first = first ? first : "";
    second = second ? second : "";
    if (!table->cap)
        return NULL;
    size_t gap = find(table, table_hash(first, second), first, second);
    void *item = table->items[gap];
    if (!item)
        return NULL;
    size_t mask = table->cap - 1;
    table->items[gap] = NULL;
    table->count--;
    for (size_t i = (gap + 1) & mask; table->items[i]; i = (i + 1) & mask) {
        size_t home = table->hashes[i] & mask;
        /* An item may move up only if its home is not after the gap. */
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        table->items[gap] = table->items[i];
        table->hashes[gap] = table->hashes[i];
        table->items[i] = NULL;
        gap = i;
    }
    return item;
}

void *table_next(const struct table *table, size_t *index)
{
    while (*index < table->cap) {
        void *item = table->items[(*index)++];
        if (item)
            return item;
    }
    return NULL;
}

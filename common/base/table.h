/*
 * A hash table of pointers found by a pair of texts (namespace and name, or any two). The items
 * belong to the caller, who tells where their pair is; it must not change while the item is in the
 * table. A NULL text counts as "".
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
    void (*key)(const void *item, const char **first, const char **second);
    void **items;     /* NULL: free */
    uint32_t *hashes; /* of the items */
    size_t cap;       /* 0 or a power of two */
    size_t count;
};

void table_init(struct table *table,
                void (*key)(const void *item, const char **first, const char **second));
void table_fini(struct table *table); /* the items stay */
void *table_get(const struct table *table, const char *first, const char *second); /* NULL: none */
/* Puts the item in place of the one with its pair, which is returned (NULL: none). */
void *table_put(struct table *table, void *item);
/* Takes out and returns the item with this pair, NULL if there is none. */
void *table_take(struct table *table, const char *first, const char *second);
/* Of a pair, the same in every process. */
uint32_t table_hash(const char *first, const char *second);
/*
 * Goes over the items, in no order: `for (size_t i = 0; (item = table_next(&t, &i));)`. The table
 * must not change on the way.
 */
void *table_next(const struct table *table, size_t *index);

#endif

/*
 * A hash table of pointers, by a pair of texts (namespace and name, or any two). Items belong to
 * the caller, with a function for their pair; it must not change while the item is in the table. A
 * NULL text counts as "".
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
    void (*key)(const void *item, const char **first, const char **second);
    void **items;     /* NULL if free */
    uint32_t *hashes; /* number of items */
    size_t cap;       /* 0 or a power of two */
    size_t count;
};

void table_init(struct table *table,
                void (*key)(const void *item, const char **first, const char **second));
void table_fini(struct table *table); /* does not free the items */
void *table_get(const struct table *table, const char *first,
                const char *second); /* NULL if none */
/* Inserts the item; returns the replaced one with the same pair, NULL if none. */
void *table_put(struct table *table, void *item);
/* Removes and returns the item with this pair, NULL if none. */
void *table_take(struct table *table, const char *first, const char *second);
/* Hash of a pair, the same in every process. */
uint32_t table_hash(const char *first, const char *second);
/* Iterates over the items, in no order: `for (size_t i = 0; (item = table_next(&t, &i));)`. The
 * table must not change meanwhile. */
void *table_next(const struct table *table, size_t *index);

#endif

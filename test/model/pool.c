#include "pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { FIRST = 1024 };

void pool_init(struct pool *pool, size_t size, size_t room)
{
    *pool = (struct pool){.size = size, .room = room, .capacity = FIRST, .mask = 2 * FIRST - 1};
    pool->records = heap_array(FIRST, room);
    pool->slots = heap_array(2 * (size_t)FIRST, sizeof(*pool->slots));
}

void pool_fini(struct pool *pool)
{
    free(pool->records);
    free(pool->slots);
    *pool = (struct pool){0};
}

/* Eight bytes at a time: a walk asks for millions of records. */
static uint32_t hash(const unsigned char *at, size_t size)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t piece = 0;
        memcpy(&piece, at + i, size - i < sizeof(piece) ? size - i : sizeof(piece));
        h = (h ^ piece) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return (uint32_t)(h ^ h >> 29);
}

void *pool_at(const struct pool *pool, uint32_t number)
{
    assert(number < pool->count);
    return pool->records + (size_t)number * pool->room;
}

static uint32_t *find(const struct pool *pool, const void *identity)
{
    uint32_t at = hash(identity, pool->size) & pool->mask;

    while (pool->slots[at] && memcmp(pool_at(pool, pool->slots[at] - 1), identity, pool->size) != 0)
        at = (at + 1) & pool->mask;
    return &pool->slots[at];
}

static void grow(struct pool *pool)
{
    size_t capacity = 2 * (size_t)pool->capacity;

    assert(capacity < UINT32_MAX / 2);
    pool->records = heap_grow(pool->records, capacity * pool->room);
    free(pool->slots);
    pool->slots = heap_array(2 * capacity, sizeof(*pool->slots));
    pool->capacity = (uint32_t)capacity;
    pool->mask = (uint32_t)(2 * capacity - 1);
    for (uint32_t i = 0; i < pool->count; i++)
        *find(pool, pool_at(pool, i)) = i + 1;
}

uint32_t pool_put(struct pool *pool, const void *identity, bool *is_new)
{
    uint32_t *slot = find(pool, identity);

    if (is_new)
        *is_new = *slot == 0;
    if (*slot)
        return *slot - 1;
    if (pool->count == pool->capacity) {
        grow(pool);
        slot = find(pool, identity);
    }
    uint32_t number = pool->count++;
    unsigned char *record = pool_at(pool, number);
    memcpy(record, identity, pool->size);
    memset(record + pool->size, 0, pool->room - pool->size);
    *slot = number + 1;
    return number;
}

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
static uint32_t hash_of(const unsigned char *at, size_t size)
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

static struct pool_slot *find(const struct pool *pool, const void *identity, uint32_t hash)
{
    struct pool_slot *slot = &pool->slots[hash & pool->mask];

    while (slot->number && (slot->hash != hash ||
                            memcmp(pool_at(pool, slot->number - 1), identity, pool->size) != 0))
        slot = slot == &pool->slots[pool->mask] ? pool->slots : slot + 1;
    return slot;
}

static void grow(struct pool *pool)
{
    size_t capacity = 2 * (size_t)pool->capacity;

    assert(capacity < UINT32_MAX / 2);
    pool->records = heap_grow(pool->records, capacity * pool->room);
    struct pool_slot *old = pool->slots;
    size_t len = (size_t)pool->mask + 1;
    pool->slots = heap_array(2 * capacity, sizeof(*pool->slots));
    pool->capacity = (uint32_t)capacity;
    pool->mask = (uint32_t)(2 * capacity - 1);
    for (size_t i = 0; i < len; i++) {
        uint32_t at = old[i].hash & pool->mask;
        if (!old[i].number)
            continue;
        while (pool->slots[at].number)
            at = (at + 1) & pool->mask;
        pool->slots[at] = old[i];
    }
    free(old);
}

uint32_t pool_put(struct pool *pool, const void *identity, bool *is_new)
{
    uint32_t hash = hash_of(identity, pool->size);
    struct pool_slot *slot = find(pool, identity, hash);

    if (is_new)
        *is_new = slot->number == 0;
    if (slot->number)
        return slot->number - 1;
    if (pool->count == pool->capacity) {
        grow(pool);
        slot = find(pool, identity, hash);
    }
    uint32_t number = pool->count++;
    unsigned char *record = pool_at(pool, number);
    memcpy(record, identity, pool->size);
    memset(record + pool->size, 0, pool->room - pool->size);
    *slot = (struct pool_slot){.number = number + 1, .hash = hash};
    return number;
}

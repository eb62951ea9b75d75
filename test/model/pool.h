/*
 * Records of one size, each kept once: the same bytes always get the same number. Numbers count up
 * from 0 and records never move in number, but their address may change with each pool_put().
 */
#ifndef MODEL_POOL_H
#define MODEL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* hash: looked at before the record, which is far away in memory */
struct pool_slot {
    uint32_t number; /* of the record, + 1; 0: free */
    uint32_t hash;
};

struct pool {
    size_t size; /* of the part of a record that identifies it; padding must be zeroed */
    size_t room; /* of a whole record: what follows the identity is the caller's */
    uint32_t count, capacity;
    uint32_t mask;
    unsigned char *records;
    struct pool_slot *slots;
};

void pool_init(struct pool *pool, size_t size, size_t room);
void pool_fini(struct pool *pool);
/* The number of the record with this identity; *is_new (may be NULL): it was not there, and all
 * that follows the identity is zero. */
uint32_t pool_put(struct pool *pool, const void *identity, bool *is_new);
void *pool_at(const struct pool *pool, uint32_t number);

#endif

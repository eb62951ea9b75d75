/* Open addressing with linear probing; a removal closes the gap by moving up later hashes of the
 * run. */
#include "kube/object_presence.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arena.h"

enum { FIRST_CAP = 16 };

static uint64_t seed(void)
{
    static uint64_t drawn;

    while (!drawn)
        if (getrandom(&drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
            drawn = 0;
    return drawn;
}

static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

static uint64_t hash_more(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = mix(hash ^ (unsigned char)*text);
    return mix(hash ^ 0x100);
}

uint64_t name_hash(const char *first, const char *second)
{
    uint64_t hash = hash_more(hash_more(seed(), first), second);

    return hash ? hash : 1;
}

void object_presence_init(struct object_presence *set)
{
    *set = (struct object_presence){0};
}

void object_presence_fini(struct object_presence *set)
{
    free(set->slots);
    *set = (struct object_presence){0};
}

/* The slot of the hash, or the free one for it. The set has a free slot. */
static size_t find(const struct object_presence *set, uint64_t hash)
{
    size_t i = hash & (set->cap - 1);

    while (set->slots[i] && set->slots[i] != hash)
        i = (i + 1) & (set->cap - 1);
    return i;
}

bool object_presence_has(const struct object_presence *set, const char *namespace_,
                         const char *name)
{
    return set->cap && set->slots[find(set, name_hash(namespace_, name))];
}

static void grow(struct object_presence *set)
{
    struct object_presence old = *set;

    set->cap = old.cap ? old.cap * 2 : FIRST_CAP;
    set->slots = heap_array(set->cap, sizeof(*set->slots));
    memset(set->slots, 0, set->cap * sizeof(*set->slots));
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i])
            set->slots[find(set, old.slots[i])] = old.slots[i];
    free(old.slots);
}

void object_presence_add(struct object_presence *set, const char *namespace_, const char *name)
{
    uint64_t hash = name_hash(namespace_, name);

    if ((set->count + 1) * 4 > set->cap * 3)
        grow(set);
    size_t at = find(set, hash);
    set->count += set->slots[at] == 0;
    set->slots[at] = hash;
}

bool object_presence_remove(struct object_presence *set, const char *namespace_, const char *name)
{
    if (!set->cap)
        return false;
    size_t mask = set->cap - 1;
    size_t gap = find(set, name_hash(namespace_, name));
    if (!set->slots[gap])
        return false;
    set->slots[gap] = 0;
    set->count--;
    for (size_t i = (gap + 1) & mask; set->slots[i]; i = (i + 1) & mask) {
        size_t home = set->slots[i] & mask;
        /* May move up only if its home is not behind the gap. */
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        set->slots[gap] = set->slots[i];
        set->slots[i] = 0;
        gap = i;
    }
    return true;
}

/*
 * A set of objects of which only the existence is known: eight bytes each, a hash of namespace and
 * name. Names with equal hashes cannot be distinguished; the hash is seeded in each process, so
 * that collisions cannot be chosen.
 */
#ifndef KUBE_OBJECT_PRESENCE_H
#define KUBE_OBJECT_PRESENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object_presence {
    uint64_t *slots; /* 0 if free */
    size_t cap;      /* 0 or a power of two */
    size_t count;
};

/* The hash: never 0, stable within this process. NULL counts as "". */
uint64_t name_hash(const char *first, const char *second);

void object_presence_init(struct object_presence *set);
void object_presence_fini(struct object_presence *set);
/* NULL counts as "". */
bool object_presence_has(const struct object_presence *set, const char *namespace_,
                         const char *name);
void object_presence_add(struct object_presence *set, const char *namespace_, const char *name);
/* Returns false if it was not in the set. */
bool object_presence_remove(struct object_presence *set, const char *namespace_, const char *name);

#endif

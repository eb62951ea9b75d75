/*
 * A set of objects of which nothing is kept but that they exist: eight bytes each, a hash of
 * namespace and name. Two names with one hash cannot be told apart; the hash is seeded anew in each
 * process, so that nobody can choose such names.
 */
#ifndef KUBE_NAME_SET_H
#define KUBE_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_set {
    uint64_t *slots; /* 0: free */
    size_t cap;      /* 0 or a power of two */
    size_t count;
};

/* The hash: never 0, the same for the same texts in this process. NULL counts as "". */
uint64_t name_hash(const char *first, const char *second);

void name_set_init(struct name_set *set);
void name_set_fini(struct name_set *set);
/* NULL counts as "". */
bool name_set_has(const struct name_set *set, const char *namespace_, const char *name);
void name_set_add(struct name_set *set, const char *namespace_, const char *name);
/* False: it was not there. */
bool name_set_remove(struct name_set *set, const char *namespace_, const char *name);

#endif

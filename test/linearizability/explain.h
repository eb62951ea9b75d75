/*
 * Sets of explanations: ways in which all the answers so far can have come about. A set holds none
 * that can do no more than another one of it.
 */
#ifndef LINEAR_EXPLAIN_H
#define LINEAR_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linearizability/model.h"

/* Operations of known outcome that are under way, and kinds of unknown ones between two barriers.
 */
enum { EXPLAIN_SLOTS = 64, EXPLAIN_KINDS = 64 };

/* One way in which all answers so far can have come about. */
struct explanation {
    model_state state;
    uint64_t done;               /* slots whose operation has had its moment */
    size_t turn;                 /* numbered gates: how many of the changes have had their moment */
    uint8_t used[EXPLAIN_KINDS]; /* of each kind of unknown operations, how many have happened */
    bool dropped;
};

/* Zeroed, then explain_clear(). Those that are `dropped` do not count. */
struct explanations {
    struct explanation *all;
    size_t *next; /* of the same bucket; SIZE_MAX ends it */
    size_t *buckets;
    size_t n, cap, n_buckets;
    bool full;
};

/* Where more than so many would be, the set is `full` and tells nothing any more. */
enum { EXPLAIN_MAX = 1 << 19 };

void explain_clear(struct explanations *set);
void explain_fini(struct explanations *set);
/* May drop others of the set; moves set->all. e is copied. */
void explain_add(struct explanations *set, const struct explanation *e);
/* Drops those that can do no more than e, which is not in the set. */
void explain_drop(struct explanations *set, const struct explanation *e);
void explain_swap(struct explanations *a, struct explanations *b);

#endif

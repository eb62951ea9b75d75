/*
 * Fairness between owners, such as namespaces: a budget that they share, and a queue that serves
 * them in turn.
 */
#ifndef BASE_SHARES_H
#define BASE_SHARES_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/table.h"

/* The budgets of budgets.def. */
enum budget {
#define BUDGET(name, what, programs, unit, owner) BUDGET_##name,
#include "base/budgets.def"
#undef BUDGET
    BUDGETS
};

/* The name of a budget in budgets.def, such as "answers". */
const char *budget_name(enum budget budget);

/*
 * A budget shared by several owners: counts the amount that each has taken. Nothing is reserved for
 * idle owners; if there is no room for more, the owner with the largest amount has to give back, so
 * small requests are served.
 */
struct shares {
    enum budget budget;
    struct table owners;
    size_t taken, most; /* most may change at any time */
};

void shares_init(struct shares *shares, enum budget budget, size_t most);
void shares_fini(struct shares *shares);

/* An owner is a text, such as a namespace; NULL and "" mean this process. An owner with a slash
 * is part of another: the amount of "a/b" counts for "a" too, and the largest part of the
 * largest owner has to give back. */
void shares_take(struct shares *shares, const char *owner, size_t amount);
/* amount is at most what the owner has taken. */
void shares_give_back(struct shares *shares, const char *owner, size_t amount);
size_t shares_of(const struct shares *shares, const char *owner);

/*
 * Returns true if the owner may take this amount, for budgets that cannot be taken back: an owner
 * gets at most three times what is then free, so there is always room for a smaller one.
 */
bool shares_admit(const struct shares *shares, const char *owner, size_t amount);

/*
 * Returns the owner that has to give back before this one may take the amount, NULL if there is
 * room: the largest owner, or this one if it would be the largest. The text lives until that owner
 * has given back everything. This process itself is never returned in favour of another owner.
 */
const char *shares_yields(const struct shares *shares, const char *owner, size_t amount);

/*
 * --- A fair queue: each owner with entries has a lane, which gets one turn a round, in order of
 * arrival, and is served first in, first out. A single entry waits for at most one entry of each
 * other owner. Adding, removing and taking are O(1).
 */

/* An entry, embedded in the queued object. All zero: not queued. */
struct fair_item {
    TAILQ_ENTRY(fair_item) link;
    struct fair_lane *lane; /* the lane that it is queued in */
};

/*
 * Entries of one owner in one queue. The caller's, set up by fair_lane_init(), and must outlive its
 * entries; or the queue's, see fair_add_of().
 */
struct fair_lane {
    TAILQ_ENTRY(fair_lane) link;
    TAILQ_HEAD(fair_items, fair_item) items;
    struct fair_queue *queue;
    int count;
    char *owner; /* name, only for a lane that the queue owns */
};

struct fair_queue {
    TAILQ_HEAD(fair_lanes, fair_lane) lanes; /* lanes with entries; the first has the turn */
    int count;
    struct table owned; /* lanes of fair_add_of(), by owner */
};

void fair_init(struct fair_queue *queue);
/* All entries added by fair_add_of() must have been removed. */
void fair_fini(struct fair_queue *queue);
void fair_lane_init(struct fair_lane *lane, struct fair_queue *queue);
/* The item must not be queued. */
void fair_add(struct fair_lane *lane, struct fair_item *item);
/* The same in the lane of an owner, NULL for this process. The queue makes and frees the lane. */
void fair_add_of(struct fair_queue *queue, const char *owner, struct fair_item *item);
/* Does nothing if the item is not queued. */
void fair_remove(struct fair_item *item);
/* Removes the next entry and gives the turn to the next owner; NULL if the queue is empty. */
struct fair_item *fair_take(struct fair_queue *queue);
/* Number of entries served before this one if none is added. O(n), for debugging. */
int fair_before(const struct fair_item *item);

#endif

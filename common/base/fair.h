/*
 * A queue that is fair to owners, such as namespaces: each owner with entries has a lane, which gets
 * one turn a round, in order of arrival, and is served first in, first out. A single entry waits
 * for at most one entry of each other owner. Adding, removing and taking are O(1).
 */
#ifndef BASE_FAIR_H
#define BASE_FAIR_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/table.h"

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
    char *owner; /* of a lane of the queue's own */
};

struct fair_queue {
    TAILQ_HEAD(fair_lanes, fair_lane) lanes; /* lanes with entries; the first has the turn */
    int count;
    struct table owned; /* lanes of fair_add_of(), by owner */
};

void fair_init(struct fair_queue *queue);
/* No entry may be left that was added by fair_add_of(). */
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

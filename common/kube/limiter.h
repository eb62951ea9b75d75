/*
 * The client-side limit of requests: a token bucket, and before it a queue for each urgency. Writes
 * go before reads, and both before what only tells (events), however long that waits already: a
 * rollback must not stand behind a thousand events. Within an urgency in order.
 *
 * The caller's storage; it must be ended before the loop.
 */
#ifndef KUBE_LIMITER_H
#define KUBE_LIMITER_H

#include <sys/queue.h>

#include "kube/rate_limit.h"
#include "net/loop.h"

enum limiter_urgency { LIMITER_WRITE, LIMITER_READ, LIMITER_TELL, LIMITER_URGENCIES };

/* One that waits; part of what its owner keeps. */
struct limiter_place {
    TAILQ_ENTRY(limiter_place) link;
    enum limiter_urgency urgency;
    void (*turn)(void *arg);
    void *arg;
};

TAILQ_HEAD(limiter_queue, limiter_place);

struct limiter {
    struct loop *loop;
    struct rate_limit limit;
    struct limiter_queue queues[LIMITER_URGENCIES];
    int waiting[LIMITER_URGENCIES]; /* in each queue */
    struct timer *timer;            /* to the next token */
};

void limiter_init(struct limiter *limiter, struct loop *loop, double per_second, int burst);
void limiter_fini(struct limiter *limiter); /* nobody waits any more */
/* True: go at once. False: turn(arg) is called from the loop when it may, once, unless it leaves.
 */
bool limiter_enter(struct limiter *limiter, struct limiter_place *place,
                   enum limiter_urgency urgency, void (*turn)(void *arg), void *arg);
/* One that waits does not want to any more. */
void limiter_leave(struct limiter *limiter, struct limiter_place *place);

#endif

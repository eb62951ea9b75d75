/*
 * A budget of requests: a token bucket, and before it a queue in the order of coming. Whoever has
 * another budget is not held up by it.
 *
 * The caller's storage; it must be ended before the loop.
 */
#ifndef KUBE_LIMITER_H
#define KUBE_LIMITER_H

#include <sys/queue.h>

#include "kube/rate_limit.h"
#include "net/loop.h"

/* One that waits; part of what its owner keeps. */
struct limiter_place {
    TAILQ_ENTRY(limiter_place) link;
    void (*turn)(void *arg);
    void *arg;
};

struct limiter {
    struct loop *loop;
    struct rate_limit limit;
    TAILQ_HEAD(limiter_queue, limiter_place) queue;
    int waiting;
    struct timer *timer; /* to the next token */
};

void limiter_init(struct limiter *limiter, struct loop *loop, double per_second, double burst);
void limiter_fini(struct limiter *limiter); /* nobody waits any more */
/* True: go at once. False: turn(arg) is called from the loop when it may, once, unless it leaves.
 */
bool limiter_enter(struct limiter *limiter, struct limiter_place *place, void (*turn)(void *arg),
                   void *arg);
/* As of rate_limit.h, for those that wait as well. */
void limiter_hold(struct limiter *limiter);
void limiter_recover(struct limiter *limiter);
/* One that waits does not want to any more. */
void limiter_leave(struct limiter *limiter, struct limiter_place *place);

#endif

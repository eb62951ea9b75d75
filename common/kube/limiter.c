#include "kube/limiter.h"

#include "base/clock.h"

void limiter_init(struct limiter *limiter, struct loop *loop, double per_second, int burst)
{
    *limiter = (struct limiter){.loop = loop};
    rate_limit_init(&limiter->limit, per_second, burst, clock_monotonic_ms());
    for (int i = 0; i < LIMITER_URGENCIES; i++)
        TAILQ_INIT(&limiter->queues[i]);
}

void limiter_fini(struct limiter *limiter)
{
    timer_stop(limiter->timer);
    limiter->timer = NULL;
}

static struct limiter_place *most_urgent(struct limiter *limiter)
{
    for (int i = 0; i < LIMITER_URGENCIES; i++) {
        if (!TAILQ_EMPTY(&limiter->queues[i]))
            return TAILQ_FIRST(&limiter->queues[i]);
    }
    return NULL;
}

static void on_token(void *arg)
{
    struct limiter *limiter = arg;
    struct limiter_place *place;

    limiter->timer = NULL;
    while ((place = most_urgent(limiter))) {
        int64_t now = clock_monotonic_ms();
        if (!rate_limit_try(&limiter->limit, now)) {
            /* a turn may have begun the wait already, for somebody new */
            if (!limiter->timer)
                limiter->timer = timer_start(limiter->loop, rate_limit_wait(&limiter->limit, now),
                                             0, on_token, limiter);
            return;
        }
        limiter_leave(limiter, place);
        place->turn(place->arg);
    }
}

bool limiter_enter(struct limiter *limiter, struct limiter_place *place,
                   enum limiter_urgency urgency, void (*turn)(void *arg), void *arg)
{
    int64_t now = clock_monotonic_ms();

    if (!most_urgent(limiter) && rate_limit_try(&limiter->limit, now))
        return true;
    *place = (struct limiter_place){.urgency = urgency, .turn = turn, .arg = arg};
    TAILQ_INSERT_TAIL(&limiter->queues[urgency], place, link);
    limiter->waiting[urgency]++;
    if (!limiter->timer)
        limiter->timer =
            timer_start(limiter->loop, rate_limit_wait(&limiter->limit, now), 0, on_token, limiter);
    return false;
}

void limiter_leave(struct limiter *limiter, struct limiter_place *place)
{
    TAILQ_REMOVE(&limiter->queues[place->urgency], place, link);
    limiter->waiting[place->urgency]--;
}

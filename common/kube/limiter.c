#include "kube/limiter.h"

#include "base/clock.h"

void limiter_init(struct limiter *limiter, struct loop *loop, double per_second, double burst)
{
    *limiter = (struct limiter){.loop = loop};
    rate_limit_init(&limiter->limit, per_second, burst, clock_monotonic_ms());
    TAILQ_INIT(&limiter->queue);
}

void limiter_fini(struct limiter *limiter)
{
    timer_stop(limiter->timer);
    limiter->timer = NULL;
}

static void on_token(void *arg)
{
    struct limiter *limiter = arg;
    struct limiter_place *place;

    limiter->timer = NULL;
    while ((place = TAILQ_FIRST(&limiter->queue))) {
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

bool limiter_enter(struct limiter *limiter, struct limiter_place *place, void (*turn)(void *arg),
                   void *arg)
{
    int64_t now = clock_monotonic_ms();

    if (TAILQ_EMPTY(&limiter->queue) && rate_limit_try(&limiter->limit, now))
        return true;
    *place = (struct limiter_place){.turn = turn, .arg = arg};
    TAILQ_INSERT_TAIL(&limiter->queue, place, link);
    limiter->waiting++;
    if (!limiter->timer)
        limiter->timer =
            timer_start(limiter->loop, rate_limit_wait(&limiter->limit, now), 0, on_token, limiter);
    return false;
}

void limiter_leave(struct limiter *limiter, struct limiter_place *place)
{
    TAILQ_REMOVE(&limiter->queue, place, link);
    limiter->waiting--;
}

/* Those that wait were promised another time. */
static void wait_anew(struct limiter *limiter)
{
    timer_stop(limiter->timer);
    limiter->timer = NULL;
    if (!TAILQ_EMPTY(&limiter->queue))
        limiter->timer =
            timer_start(limiter->loop, rate_limit_wait(&limiter->limit, clock_monotonic_ms()), 0,
                        on_token, limiter);
}

void limiter_hold(struct limiter *limiter)
{
    rate_limit_hold(&limiter->limit, clock_monotonic_ms());
    wait_anew(limiter);
}

void limiter_recover(struct limiter *limiter)
{
    rate_limit_recover(&limiter->limit, clock_monotonic_ms());
    wait_anew(limiter);
}

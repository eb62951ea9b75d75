#include "kube/rate_limit.h"

#include <assert.h>
#include <math.h>
#include <sys/random.h>

#include "base/clock.h"

enum { FIRST_SHARE = 16, DOUBLING_MS = 1000 };

void rate_limit_init(struct rate_limit *limit, double per_second, double burst, int64_t now_ms)
{
    assert(per_second > 0 && burst >= 1);
    *limit = (struct rate_limit){
        .per_ms = per_second / 1000, .burst = burst, .tokens = burst, .at_ms = now_ms};
    limit->pace = limit->per_ms;
}

/* The maximum of saved tokens: the burst; while throttled or recovering, the tokens of one
 * second. */
static double max_tokens(const struct rate_limit *limit)
{
    double second = fmax(limit->pace * 1000, 1);

    return limit->pace < limit->per_ms ? fmin(second, limit->burst) : limit->burst;
}

/* Adds the tokens up to now_ms, at the current pace. */
static void earn(struct rate_limit *limit, int64_t now_ms)
{
    limit->tokens += (double)(now_ms - limit->at_ms) * limit->pace;
    limit->tokens = fmin(limit->tokens, max_tokens(limit));
    limit->at_ms = now_ms;
}

static void refill(struct rate_limit *limit, int64_t now_ms)
{
    if (now_ms <= limit->at_ms)
        return;
    while (limit->doubling_ms && limit->doubling_ms <= now_ms) {
        earn(limit, limit->doubling_ms);
        limit->pace = fmin(limit->pace * 2, limit->per_ms);
        limit->doubling_ms = limit->pace < limit->per_ms ? limit->doubling_ms + DOUBLING_MS : 0;
    }
    earn(limit, now_ms);
}

void rate_limit_throttle(struct rate_limit *limit, int64_t now_ms)
{
    refill(limit, now_ms);
    limit->tokens = 0;
    limit->pace = fmin(limit->per_ms, 1.0 / 1000);
    limit->doubling_ms = 0;
}

void rate_limit_recover(struct rate_limit *limit, int64_t now_ms)
{
    refill(limit, now_ms);
    limit->pace = fmin(limit->per_ms, fmax(limit->pace, limit->per_ms / FIRST_SHARE));
    limit->doubling_ms = limit->pace < limit->per_ms ? limit->at_ms + DOUBLING_MS : 0;
}

bool rate_limit_try(struct rate_limit *limit, int64_t now_ms)
{
    refill(limit, now_ms);
    if (limit->tokens < 1)
        return false;
    limit->tokens -= 1;
    return true;
}

double rate_limit_level(const struct rate_limit *limit, int64_t now_ms)
{
    struct rate_limit then = *limit;

    refill(&then, now_ms);
    return then.tokens;
}

int64_t rate_limit_wait(struct rate_limit *limit, int64_t now_ms)
{
    refill(limit, now_ms);
    return limit->tokens >= 1 ? 0 : (int64_t)ceil((1 - limit->tokens) / limit->pace);
}

void limiter_init(struct limiter *limiter, struct loop *loop, double per_second, double burst)
{
    *limiter = (struct limiter){.loop = loop};
    rate_limit_init(&limiter->limit, per_second, burst, clock_monotonic_ms());
    fair_init(&limiter->queue);
}

void limiter_fini(struct limiter *limiter)
{
    timer_stop(limiter->timer);
    limiter->timer = NULL;
    fair_fini(&limiter->queue);
}

static void on_token(void *arg)
{
    struct limiter *limiter = arg;

    limiter->timer = NULL;
    while (limiter->queue.count > 0) {
        int64_t now = clock_monotonic_ms();
        if (!rate_limit_try(&limiter->limit, now)) {
            /* ready() may have queued a new waiter, and started the timer */
            if (!limiter->timer)
                limiter->timer = timer_start(limiter->loop, rate_limit_wait(&limiter->limit, now),
                                             0, on_token, limiter);
            return;
        }
        struct limiter_waiter *waiter = (struct limiter_waiter *)fair_take(&limiter->queue);
        waiter->ready(waiter->arg);
    }
}

bool limiter_acquire(struct limiter *limiter, const char *namespace_, struct limiter_waiter *waiter,
                     void (*ready)(void *arg), void *arg)
{
    int64_t now = clock_monotonic_ms();

    if (limiter->queue.count == 0 && rate_limit_try(&limiter->limit, now))
        return true;
    *waiter = (struct limiter_waiter){.ready = ready, .arg = arg};
    fair_add_of(&limiter->queue, namespace_, &waiter->item);
    if (!limiter->timer)
        limiter->timer =
            timer_start(limiter->loop, rate_limit_wait(&limiter->limit, now), 0, on_token, limiter);
    return false;
}

void limiter_cancel(struct limiter_waiter *waiter)
{
    fair_remove(&waiter->item);
}

/* Restarts the timer after a change of the pace. */
static void restart_timer(struct limiter *limiter)
{
    timer_stop(limiter->timer);
    limiter->timer = NULL;
    if (limiter->queue.count > 0)
        limiter->timer =
            timer_start(limiter->loop, rate_limit_wait(&limiter->limit, clock_monotonic_ms()), 0,
                        on_token, limiter);
}

void limiter_throttle(struct limiter *limiter)
{
    rate_limit_throttle(&limiter->limit, clock_monotonic_ms());
    restart_timer(limiter);
}

void limiter_recover(struct limiter *limiter)
{
    rate_limit_recover(&limiter->limit, clock_monotonic_ms());
    restart_timer(limiter);
}

int64_t backoff_random(int64_t below)
{
    uint64_t bits = 0;

    if (below <= 0)
        return 0;
    /* Without entropy the jitter is 0, which is still a valid wait. */
    if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != (ssize_t)sizeof(bits))
        return 0;
    return (int64_t)(bits % (uint64_t)below);
}

int64_t backoff_next(struct backoff *backoff, int64_t asked_ms)
{
    int64_t wait = backoff->min_ms;

    for (int i = 0; i < backoff->failures && wait < backoff->max_ms; i++)
        wait *= 2;
    if (wait > backoff->max_ms)
        wait = backoff->max_ms;
    backoff->failures++;
    wait = wait - wait / 2 + backoff_random(wait / 2 + 1);
    if (asked_ms > BACKOFF_MAX_ASKED_MS)
        asked_ms = BACKOFF_MAX_ASKED_MS;
    /* asked_ms is a minimum; since all clients got the same value, jitter is added. */
    return asked_ms > 0 ? asked_ms + wait / 4 : wait;
}

void backoff_reset(struct backoff *backoff)
{
    backoff->failures = 0;
}

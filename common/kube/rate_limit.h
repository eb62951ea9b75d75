/*
 * Timing of requests: a token bucket, a queue in front of one, and back-off after failures. All in
 * the caller's storage.
 */
#ifndef KUBE_RATE_LIMIT_H
#define KUBE_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/shares.h"
#include "net/loop.h"

/* Token bucket. The time is an input: milliseconds of a monotonic clock. It can be throttled
 * while the server is unavailable, and recovers gradually. */
struct rate_limit {
    double per_ms; /* tokens per millisecond */
    double pace;   /* the current rate: lower while throttled or recovering */
    double burst;
    double tokens;
    int64_t at_ms;
    int64_t doubling_ms; /* time of the next doubling of the pace, 0 if none */
};

void rate_limit_init(struct rate_limit *limit, double per_second, double burst, int64_t now_ms);
/* Takes a token if one is available. */
bool rate_limit_try(struct rate_limit *limit, int64_t now_ms);
/* Throttles to one token a second (or its own rate, if lower) and drops saved tokens. */
void rate_limit_throttle(struct rate_limit *limit, int64_t now_ms);
/* Ends throttling: starts with a sixteenth of its rate and doubles that each second. Until the
 * full rate is reached, at most the tokens of one second are saved. */
void rate_limit_recover(struct rate_limit *limit, int64_t now_ms);
/* Tokens available. */
double rate_limit_level(const struct rate_limit *limit, int64_t now_ms);
/* Milliseconds until a token is available, 0 if now. */
int64_t rate_limit_wait(struct rate_limit *limit, int64_t now_ms);

/* A budget of requests: a token bucket with a queue in which the namespaces take turns.
 * limiter_fini() must come before the end of the loop. A waiting request is embedded in its
 * owner. */
struct limiter_waiter {
    struct fair_item item; /* first */
    void (*ready)(void *arg);
    void *arg;
};

struct limiter {
    struct loop *loop;
    struct rate_limit limit;
    struct fair_queue queue;
    struct timer *timer; /* fires when the next token is available */
};

void limiter_init(struct limiter *limiter, struct loop *loop, double per_second, double burst);
void limiter_fini(struct limiter *limiter); /* no request may still be waiting */
/* Returns true if the request may be sent at once. Otherwise ready(arg) is called once, from the
 * loop, unless cancelled. `namespace_`: NULL for this process. */
bool limiter_acquire(struct limiter *limiter, const char *namespace_, struct limiter_waiter *waiter,
                     void (*ready)(void *arg), void *arg);
/* rate_limit_throttle() and _recover(), which apply to waiting requests too. */
void limiter_throttle(struct limiter *limiter);
void limiter_recover(struct limiter *limiter);
/* Stops waiting. */
void limiter_cancel(struct limiter_waiter *waiter);

/* Exponential back-off with jitter: min, 2 min, 4 min ... max, each spread over its upper half so
 * that clients that failed together do not retry together. */
struct backoff {
    int64_t min_ms;
    int64_t max_ms;
    int failures;
};

/* Counts a failure and returns the time to wait, at least asked_ms (the server's Retry-After, 0 if
 * none). */
int64_t backoff_next(struct backoff *backoff, int64_t asked_ms);
void backoff_reset(struct backoff *backoff);
/* A random number from 0 to below - 1, for jitter only. */
int64_t backoff_random(int64_t below);

/* Longest Retry-After that is respected. */
enum { BACKOFF_MAX_ASKED_MS = 300000 };

#endif

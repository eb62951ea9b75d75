/*
 * Exponential back-off with jitter: min, 2 min, 4 min ... max, each spread over its upper half so
 * that many that failed together do not come back together. The caller's storage.
 */
#ifndef KUBE_BACKOFF_H
#define KUBE_BACKOFF_H

#include <stdint.h>

struct backoff {
    int64_t min_ms;
    int64_t max_ms;
    int failures;
};

/* Counts a failure and returns the time to wait; at least what the other side asked for (0: nothing
 * asked). */
int64_t backoff_next(struct backoff *backoff, int64_t asked_ms);
void backoff_reset(struct backoff *backoff);
/* A random number of 0 to below, for jitter only. */
int64_t backoff_random(int64_t below);

/* No Retry-After is followed further than this. */
enum { BACKOFF_MAX_ASKED_MS = 300000 };

#endif

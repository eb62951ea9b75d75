/*
 * Token bucket. A taker reserves its place at once and waits by itself, so places are given in
 * order. The caller's storage; the time is an input (milliseconds of any clock that never steps
 * back).
 */
#ifndef KUBE_RATE_LIMIT_H
#define KUBE_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct rate_limit {
    double per_ms; /* tokens that come back per millisecond */
    double burst;
    double tokens; /* below 0: reserved in advance */
    int64_t at_ms;
};

void rate_limit_init(struct rate_limit *limit, double per_second, int burst, int64_t now_ms);
/* Takes a token and returns how many milliseconds the taker must wait before it acts, 0: none. */
int64_t rate_limit_take(struct rate_limit *limit, int64_t now_ms);
/* Takes a token only if one is there now. */
bool rate_limit_try(struct rate_limit *limit, int64_t now_ms);
/* Gives a token back that was taken and not used. */
void rate_limit_give(struct rate_limit *limit);

#endif

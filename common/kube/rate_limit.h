/*
 * Token bucket. The caller's storage; the time is an input (milliseconds of any clock that never
 * steps back).
 */
#ifndef KUBE_RATE_LIMIT_H
#define KUBE_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct rate_limit {
    double per_ms; /* tokens that come back per millisecond */
    double burst;
    double tokens;
    int64_t at_ms;
};

void rate_limit_init(struct rate_limit *limit, double per_second, double burst, int64_t now_ms);
/* Takes a token if one is there now. */
bool rate_limit_try(struct rate_limit *limit, int64_t now_ms);
/* Tokens that are there now. */
double rate_limit_level(const struct rate_limit *limit, int64_t now_ms);
/* In how many milliseconds one will be there, 0: now. */
int64_t rate_limit_wait(struct rate_limit *limit, int64_t now_ms);

#endif

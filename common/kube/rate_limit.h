/*
 * Token bucket. The caller's storage; the time is an input (milliseconds of any clock that never
 * steps back). It can be held back while the other side is away, and comes back by degrees.
 */
#ifndef KUBE_RATE_LIMIT_H
#define KUBE_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct rate_limit {
    double per_ms; /* tokens that come back per millisecond */
    double pace;   /* ... now: less while it is held back or comes back */
    double burst;
    double tokens;
    int64_t at_ms;
    int64_t doubles_ms; /* when the pace doubles next; 0: it stays */
};

void rate_limit_init(struct rate_limit *limit, double per_second, double burst, int64_t now_ms);
/* Takes a token if one is there now. */
bool rate_limit_try(struct rate_limit *limit, int64_t now_ms);
/* From now on one a second (never more than its own pace), and nothing saved. */
void rate_limit_hold(struct rate_limit *limit, int64_t now_ms);
/* The end of that: from a sixteenth of its own pace on, twice as much each second; until it is back
 * at that, no more than the tokens of a second are saved. */
void rate_limit_recover(struct rate_limit *limit, int64_t now_ms);
/* Tokens that are there now. */
double rate_limit_level(const struct rate_limit *limit, int64_t now_ms);
/* In how many milliseconds one will be there, 0: now. */
int64_t rate_limit_wait(struct rate_limit *limit, int64_t now_ms);

#endif

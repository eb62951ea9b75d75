#include "kube/rate_limit.h"

#include <assert.h>
#include <math.h>

enum { FIRST_SHARE = 16, DOUBLES_MS = 1000 };

void rate_limit_init(struct rate_limit *limit, double per_second, double burst, int64_t now_ms)
{
    assert(per_second > 0 && burst >= 1);
    *limit = (struct rate_limit){
        .per_ms = per_second / 1000, .burst = burst, .tokens = burst, .at_ms = now_ms};
    limit->pace = limit->per_ms;
}

/* What may be saved: all, but for as long as it is slower than it could be. */
static double most(const struct rate_limit *limit)
{
    double second = fmax(limit->pace * 1000, 1);

    return limit->pace < limit->per_ms ? fmin(second, limit->burst) : limit->burst;
}

/* Up to now_ms, at the pace of now. */
static void earn(struct rate_limit *limit, int64_t now_ms)
{
    limit->tokens += (double)(now_ms - limit->at_ms) * limit->pace;
    limit->tokens = fmin(limit->tokens, most(limit));
    limit->at_ms = now_ms;
}

static void refill(struct rate_limit *limit, int64_t now_ms)
{
    if (now_ms <= limit->at_ms)
        return;
    while (limit->doubles_ms && limit->doubles_ms <= now_ms) {
        earn(limit, limit->doubles_ms);
        limit->pace = fmin(limit->pace * 2, limit->per_ms);
        limit->doubles_ms = limit->pace < limit->per_ms ? limit->doubles_ms + DOUBLES_MS : 0;
    }
    earn(limit, now_ms);
}

void rate_limit_hold(struct rate_limit *limit, int64_t now_ms)
{
    refill(limit, now_ms);
    limit->tokens = 0;
    limit->pace = fmin(limit->per_ms, 1.0 / 1000);
    limit->doubles_ms = 0;
}

void rate_limit_recover(struct rate_limit *limit, int64_t now_ms)
{
    refill(limit, now_ms);
    limit->pace = fmin(limit->per_ms, fmax(limit->pace, limit->per_ms / FIRST_SHARE));
    limit->doubles_ms = limit->pace < limit->per_ms ? limit->at_ms + DOUBLES_MS : 0;
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

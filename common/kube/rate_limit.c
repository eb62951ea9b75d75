#include "kube/rate_limit.h"

#include <assert.h>
#include <math.h>

void rate_limit_init(struct rate_limit *limit, double per_second, double burst, int64_t now_ms)
{
    assert(per_second > 0 && burst >= 1);
    *limit = (struct rate_limit){
        .per_ms = per_second / 1000, .burst = burst, .tokens = burst, .at_ms = now_ms};
}

static void refill(struct rate_limit *limit, int64_t now_ms)
{
    if (now_ms <= limit->at_ms)
        return;
    limit->tokens += (double)(now_ms - limit->at_ms) * limit->per_ms;
    if (limit->tokens > limit->burst)
        limit->tokens = limit->burst;
    limit->at_ms = now_ms;
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
    return limit->tokens >= 1 ? 0 : (int64_t)ceil((1 - limit->tokens) / limit->per_ms);
}

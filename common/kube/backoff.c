#include "kube/backoff.h"

#include <sys/random.h>

int64_t backoff_random(int64_t below)
{
    uint64_t bits = 0;

    if (below <= 0)
        return 0;
    /* Without entropy the jitter is 0, which is a correct wait all the same. */
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
    /* What was asked is a floor: everybody was told the same, so the jitter comes on top. */
    return asked_ms > 0 ? asked_ms + wait / 4 : wait;
}

void backoff_reset(struct backoff *backoff)
{
    backoff->failures = 0;
}

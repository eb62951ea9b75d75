#include "net/outage.h"

/* A restart of a single server behind a balancer is none. */
enum { FAILURES = 8, SPAN_MS = 3000 };

bool outage_note(struct outage *outage, bool answered, int64_t now_ms)
{
    bool before = outage->away;

    if (answered) {
        *outage = (struct outage){0};
        return before;
    }
    if (outage->failures == 0)
        outage->since_ms = now_ms;
    if (outage->failures < FAILURES)
        outage->failures++;
    outage->away = before || (outage->failures == FAILURES && now_ms - outage->since_ms >= SPAN_MS);
    return outage->away != before;
}

bool outage_is_answer(int status)
{
    return status > 0 && (status < 502 || status > 504);
}

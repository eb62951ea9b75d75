/*
 * Whether a server is away: many requests in a row have found nobody who answers, for some
 * seconds. Any answer ends that, also one that says no. The caller's storage; pure.
 */
#ifndef NET_OUTAGE_H
#define NET_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

struct outage {
    int failures;     /* in a row */
    int64_t since_ms; /* the first of them */
    bool away;
};

/* What a request has come to, at a time of a clock that never steps back. True when the server has
 * gone away, or has come back, with that. */
bool outage_note(struct outage *outage, bool answered, int64_t now_ms);

/* Is the status (0: none came) the answer of the server? Those of a proxy whose server is away
 * are none. */
bool outage_is_answer(int status);

#endif

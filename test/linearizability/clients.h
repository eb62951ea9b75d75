/*
 * Many clients at once that ask several gates to check, open and close, and write down what they
 * asked, when, and what came of it (history.h).
 *
 * Each client has one request under way at a time, and is one of a few people. Nothing is asked
 * twice: a change goes over a connection of its own, because on one that was used before curl sends
 * a request again when the answer stays out.
 */
#ifndef LINEAR_CLIENTS_H
#define LINEAR_CLIENTS_H

#include <stdint.h>
#include <stdio.h>

#include "net/loop.h"

/* Lies that a gate could tell, to see that they are found; told by the clients instead. */
enum lie {
    LIE_NONE,
    LIE_STALE,  /* a check is answered as another one was up to half a second ago */
    LIE_LOST,   /* now and then an open is answered and nobody was asked */
    LIE_DOUBLE, /* now and then somebody votes in another one's name */
};

struct clients_options {
    const char *const *urls;   /* of the gates, NULL-ended */
    const char *const *tokens; /* of the people: "NAME=TOKEN" each, NULL-ended; may be empty */
    FILE *out;
    int64_t count, seconds, pause_ms; /* pause: the longest between two requests of a client */
    uint64_t seed;
    int64_t first_id; /* of the changes, so that they are unique over many runs */
    enum lie lie;
};

struct clients_result {
    uint64_t ok, failed, unknown;
    uint64_t wrong; /* answers that no gate should ever give; the first ones are told on stderr */
};

/* Begins with a barrier: nothing may be under way. Runs until the time is over and all answers are
 * there, or their time-outs. */
struct clients_result clients_run(const struct clients_options *options);

#endif

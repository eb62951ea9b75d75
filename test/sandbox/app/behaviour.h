/*
 * How a demo app behaves, as its image name says: `demo-app:2.0.0-errors50-slow800ms` is
 * version 2.0.0 that fails half of its requests and takes 800 ms for each. Of `-load2`, those fail
 * that come while two are being answered. `-median30ms` takes by chance less or more than 30 ms,
 * each as often. `-leak20` keeps 20 KiB of memory for each request.
 * Of `-native`, durations are in a native histogram alone. Pure.
 */
#ifndef SANDBOX_BEHAVIOUR_H
#define SANDBOX_BEHAVIOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum {
    BEHAVIOUR_ERROR_PERCENT = 50,
    BEHAVIOUR_SLOW_MS = 800,
    BEHAVIOUR_AT_ONCE = 1,
    BEHAVIOUR_LEAK_KB = 1
};

struct behaviour {
    const char *version;   /* the tag without suffixes; "latest" without a tag */
    int64_t error_percent; /* 0..100 */
    bool by_chance; /* each request fails with this chance; otherwise errors are spread evenly */
    int64_t latency_ms;
    bool latency_varies;    /* latency_ms is the median; each request takes by chance */
    int64_t crash_after_ms; /* < 0 if never */
    int64_t most_at_once;   /* requests; those beyond fail; 0: any number */
    int64_t leak_kb;        /* that each request leaves in memory */
    bool native;            /* durations are a native histogram, and not one with fixed buckets */
};

/* Whether an image has this name: that of its last path element, without tag and digest. NULL has none. */
bool behaviour_is_named(const char *image, const char *name);
/* Whether a pod with this image runs the demo app: its name is demo-app. */
bool behaviour_is_demo(const char *image);
/*
 * Reads the tag: any number of suffixes -errors[N], -chance[N], -load[N], -leak[KIB], -native, -slow[DURATION],
 * -median[DURATION] and -crash[DURATION] (at once without a duration). A suffix that is none of these belongs to the version; one whose value
 * cannot be read is ERR_INVALID.
 */
enum err behaviour_of_image(struct arena *arena, const char *image, struct behaviour *out,
                            struct errinfo *ei) MUST_USE;

/* Spreads errors evenly: true for percent of 100 consecutive calls. state starts at 0. */
bool behaviour_fails(int64_t percent, int64_t *state);
/* True with a chance of percent of 100, whatever came before. state is the seed at first, and any. */
bool behaviour_fails_by_chance(int64_t percent, uint64_t *state);
/*
 * Milliseconds by chance, whatever came before: log-normal like those of a service, half of them up
 * to the median, 1 % above 5.1 times that. state as above.
 */
int64_t behaviour_latency_by_chance(int64_t median_ms, uint64_t *state);

#endif

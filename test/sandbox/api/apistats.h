/*
 * What the API was asked: counts by user agent, verb and resource.
 * A "quiet" agent is one that only watches and renews leases; `busy` counts everything else.
 */
#ifndef SANDBOX_APISTATS_H
#define SANDBOX_APISTATS_H

#include <json-c/json.h>
#include <stdint.h>

#include "base/arena.h"

enum { APISTATS_ROWS_MAX = 4096 };

struct apistats;

struct apistats *apistats_new(void);
void apistats_free(struct apistats *stats);

void apistats_count(struct apistats *stats, const char *agent, const char *verb,
                    const char *resource);
/* Adds to what was counted by apistats_count() with these texts. */
void apistats_sent(struct apistats *stats, const char *agent, const char *verb,
                   const char *resource, size_t bytes, int events);
void apistats_reset(struct apistats *stats);

/*
 * {"since": TIME, "requests": N, "busy": N, "agents": {AGENT: {"requests": N, "busy": N}},
 * "counts": [{"agent", "verb", "resource", "count", "bytes", "events"}]}, owned by the arena; bytes:
 * of the bodies that were sent; events: of watches.
 */
struct json_object *apistats_counts(const struct apistats *stats, struct arena *arena);

#endif

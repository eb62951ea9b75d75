/*
 * What the API was asked: counts by user agent, verb and resource, and a ring of the last requests.
 * A "quiet" agent is one that only watches and renews leases; `busy` counts everything else.
 */
#ifndef SANDBOX_APISTATS_H
#define SANDBOX_APISTATS_H

#include <json-c/json.h>
#include <stdint.h>

#include "base/arena.h"

enum { APISTATS_RING = 2000, APISTATS_ROWS_MAX = 4096 };

struct apistats;

struct apistats *apistats_new(void);
void apistats_free(struct apistats *stats);

/* Counts a request and returns its sequence number (from 1 on). */
uint64_t apistats_begin(struct apistats *stats, const char *agent, const char *verb,
                        const char *resource, const char *path, int64_t now_ms);
/* Adds to what was counted by apistats_begin() with these texts. */
void apistats_sent(struct apistats *stats, const char *agent, const char *verb,
                   const char *resource, size_t bytes, int events);
/* Notes the status of the request; 0 for one that was dropped. */
void apistats_finish(struct apistats *stats, uint64_t sequence, int status);
void apistats_reset(struct apistats *stats); /* the counts; sequence numbers go on */

/*
 * {"since": TIME, "requests": N, "busy": N, "agents": {AGENT: {"requests": N, "busy": N}},
 * "counts": [{"agent", "verb", "resource", "count", "bytes", "events"}]}, owned by the arena; bytes:
 * of the bodies that were sent; events: of watches. Requests to /sandbox/ are not counted.
 */
struct json_object *apistats_counts(const struct apistats *stats, struct arena *arena);
/* {"last": SEQ, "requests": [{"seq", "time", "agent", "verb", "resource", "path", "status"}]} after
 * `since`. */
struct json_object *apistats_requests(const struct apistats *stats, struct arena *arena,
                                      uint64_t since);

#endif

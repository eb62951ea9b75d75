/*
 * Recent events and plans, in memory only.
 *
 * Recent events are for the release page, without a request to the API server. Repeated events are
 * counted. At most RECENT_EVENTS_PER_CANARY are kept for a Canary and RECENT_EVENTS_MAX in total;
 * a noisy Canary evicts its own events first.
 */
#ifndef ENGINE_RECENT_H
#define ENGINE_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

enum { RECENT_EVENTS_MAX = 1024, RECENT_EVENTS_PER_CANARY = 20, RECENT_EVENTS_TEXT = 300 };

struct recent_events;
struct recent_events *recent_events_new(void);
void recent_events_free(struct recent_events *events); /* NULL is allowed */
/*
 * type: Normal or Warning; now_ms: wall clock. Copied, the text is truncated. Does nothing if
 * events is NULL.
 */
void recent_events_add(struct recent_events *events, const char *namespace_, const char *name,
                       const char *type, const char *text, int64_t now_ms);
/* [{"at", "type", "text", "count"}], newest first, owned by the arena. */
struct json_object *recent_events_list(const struct recent_events *events, struct arena *arena,
                                       const char *namespace_, const char *name);

/*
 * The last plan of a Canary as text, for debugging. Only the RECENT_PLANS_MAX most recently active
 * Canaries are remembered, up to RECENT_PLANS_TEXT bytes each: idle Canaries cost nothing, a busy
 * cluster at most a few MB.
 */

enum { RECENT_PLANS_MAX = 1024, RECENT_PLANS_TEXT = 1024 };

struct recent_plans;
struct recent_plans *recent_plans_new(void);
void recent_plans_free(struct recent_plans *plans);

/* Replaces the last plan of the Canary. Copied, truncated after RECENT_PLANS_TEXT bytes. */
void recent_plans_put(struct recent_plans *plans, const char *namespace_, const char *name,
                      const char *text, int64_t now_ms);
void recent_plans_forget(struct recent_plans *plans, const char *namespace_, const char *name);
/* NULL if no plan is remembered. Borrowed; *at_ms is the time given to recent_plans_put(). */
const char *recent_plans_find(const struct recent_plans *plans, const char *namespace_,
                              const char *name, int64_t *at_ms);
size_t recent_plans_count(const struct recent_plans *plans);
size_t recent_plans_bytes(const struct recent_plans *plans); /* of the texts */

#endif

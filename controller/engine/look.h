/*
 * The engine as JSON, for a person who looks into the process: what each Canary does and waits for,
 * the queue, the watches. Made on demand from what is kept anyway; it changes nothing and reads
 * nothing from anywhere. What is shown is bounded as net/server/debug.h says: names, states, times,
 * counts and sentences of the Kubernetes API; no object's content, no answer of a webhook, of URLs
 * the host only.
 */
#ifndef ENGINE_LOOK_H
#define ENGINE_LOOK_H

#include "base/arena.h"
#include "base/json.h"
#include "engine/engine.h"

/* Which Canaries are wanted; NULL: whatever they have there. `state` is a job's, "asking". */
struct look_filter {
    const char *namespace_, *phase, *state;
};
/* Entries that one page looks at; with a filter it may then be short, or empty, and go on. */
enum { LOOK_SCAN = 20000 };

/*
 * {"canaries": [...], "continue": "namespace/name"}: at most `limit` after the Canary `after`
 * (NULL: from the first), in the order in which they were found; continue only where there may be
 * more. NULL: `after` is gone. Owned by the arena, as all that follow.
 */
struct json_object *look_canaries(const struct engine *engine, struct arena *arena,
                                  const struct look_filter *filter, const char *after, int limit);
/* One Canary with all that is known of it; NULL: there is none. */
struct json_object *look_canary(const struct engine *engine, struct arena *arena,
                                const char *namespace_, const char *name);
/* Sets leader, queue, watches, requests, messages and what memory is spent on. */
void look_process(const struct engine *engine, struct json_object *out);

#endif

/*
 * The engine as JSON, for debugging: the state of each Canary and the event that it waits for, the
 * queue, the watches. Made on demand from existing state, without side effects. Contents are
 * limited as described in net/server/server.h: names, states, times, counts and messages of the
 * Kubernetes API; no object contents, no answers of webhooks, of URLs only the host.
 */
#ifndef ENGINE_SNAPSHOT_H
#define ENGINE_SNAPSHOT_H

#include "base/arena.h"
#include "base/json.h"
#include "engine/engine.h"

/* Selects the Canaries to list; NULL matches all. `state` is a job state, such as "asking". */
struct snapshot_filter {
    const char *namespace_, *phase, *state;
};
/*
 * A page of the Canaries: {"canaries": [...], "continue": "namespace/name"}, at most `limit`
 * Canaries following `after` (NULL: from the first), in order of discovery. show() fills an entry,
 * or returns false to leave it out. A page also ends when the loop has to continue, and may then be
 * short or empty: continue is set if there may be more. NULL if `after` is gone. Owned by the
 * arena, like the results of the following functions.
 */
typedef bool (*snapshot_show_fn)(void *arg, const struct job *job, struct json_object *out);
struct json_object *snapshot_page(const struct engine *engine, struct arena *arena,
                                  const char *after, int limit, snapshot_show_fn show, void *arg);
/* A Canary as the watch shows it; NULL if it does not. */
struct json_object *snapshot_tree(const struct engine *engine, struct arena *arena,
                                  const char *namespace_, const char *name);
/* A page of the Canaries that match. */
struct json_object *snapshot_canaries(const struct engine *engine, struct arena *arena,
                                      const struct snapshot_filter *filter, const char *after,
                                      int limit);
/* One Canary in full; NULL if there is none. */
struct json_object *snapshot_canary(const struct engine *engine, struct arena *arena,
                                    const char *namespace_, const char *name);
/* Sets leader, queue, watches, requests, messages and memory use. */
void snapshot_process(const struct engine *engine, struct json_object *out);

#endif

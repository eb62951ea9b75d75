/* Fetches the facts that a tick needs: objects and metrics in parallel, webhooks one at a time. */
#ifndef ENGINE_FETCH_FACTS_H
#define ENGINE_FETCH_FACTS_H

#include "engine/context.h"
#include "engine/deps.h"
#include "tick/fact.h"

/*
 * The time to wait for the watch to deliver an expected version (after a refused write) before
 * reading the object, and the polling interval.
 */
enum { FETCH_PATIENCE_MS = 100, FETCH_POLL_MS = 10 };

struct fetch;
/* ERR_OK: every need is now a fact. Otherwise at least one object could not be read, as info
 * says. */
typedef void (*fetch_done_fn)(void *arg, enum err err, const struct errinfo *info);

/*
 * Serves tick->needs. Returns NULL if all were answered at once (done is not called). Otherwise
 * done is called exactly once, later, and never after fetch_free().
 */
struct fetch *fetch_start(struct engine_context *context, struct deps *deps, struct tick *tick,
                          fetch_done_fn done, void *arg);
/*
 * Serves one need of an object for tick->answer: adds the fact if the watches know it, and
 * otherwise does nothing.
 */
void fetch_known(struct engine_context *context, struct deps *deps, struct tick *tick,
                 const struct need *need);
/*
 * True if the fetch waits for webhooks, metrics or the first list of a resource, which may take
 * arbitrarily long.
 */
bool fetch_waits_long(const struct fetch *fetch);
void fetch_free(struct fetch *fetch); /* NULL is allowed */

/* One item being fetched, for debugging. Texts are borrowed until the loop continues. */
struct fetch_item {
    enum need_kind kind;
    const struct kube_resource *resource; /* for an object */
    const char *namespace_, *name;        /* of an object; or the name of a webhook or metric */
    const char *url;                      /* for a webhook or metric; may hold a secret */
    int attempts;                         /* for a webhook */
    int64_t since_ms;                     /* monotonic */
};
void fetch_each(const struct fetch *fetch, void (*fn)(void *arg, const struct fetch_item *ask),
                void *arg);

#endif

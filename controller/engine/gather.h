/*
 * Fetches what a tick asked for: objects and metrics at once, webhooks alone and one after the
 * other.
 */
#ifndef ENGINE_GATHER_H
#define ENGINE_GATHER_H

#include "engine/context.h"
#include "engine/deps.h"

/* How long what a watch is about to show is waited for before it is read: a version that a refused
 * write has told of; and how often it is looked for meanwhile. */
enum { GATHER_PATIENCE_MS = 100, GATHER_LOOK_MS = 10 };

struct gather;
/* err ERR_OK: every need is a fact now. Otherwise at least one object could not be read and info
 * says which. */
typedef void (*gather_done_fn)(void *arg, enum err err, const struct errinfo *info);

/*
 * Serves tick->needs. Returns NULL when all could be answered at once (done is not called);
 * otherwise done is called exactly once, later; not after gather_free().
 */
struct gather *gather_start(struct engine_context *context, struct deps *deps, struct tick *tick,
                            gather_done_fn done, void *arg);
/* True when it waits for webhooks, metrics or the first list of a resource: nobody knows for how
 * long. */
bool gather_asks(const struct gather *gather);
void gather_free(struct gather *gather); /* NULL is allowed */

/* What is asked for now, for those who look only. Texts are borrowed until the loop turns. */
struct gather_ask {
    enum need_kind kind;
    const struct kube_resource *resource; /* of an object */
    const char *namespace_, *name;        /* of an object; the name of a webhook or metric */
    const char *url;                      /* of a webhook or metric; may hold a secret */
    int attempts;                         /* of a webhook */
    int64_t since_ms;                     /* monotonic */
};
void gather_each(const struct gather *gather, void (*fn)(void *arg, const struct gather_ask *ask),
                 void *arg);

#endif

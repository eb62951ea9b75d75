/*
 * Carries out a plan: its effects one at a time, in order. Every effect asks for leadership first
 * and stops the plan when it fails; what the API answers is remembered in deps, so that our own
 * writes wake nobody.
 */
#ifndef ENGINE_PERFORM_H
#define ENGINE_PERFORM_H

#include "engine/context.h"
#include "engine/deps.h"

struct perform;
/* err ERR_OK: all is done. ERR_CANCELLED: not the leader. Exactly once, never before
 * perform_start() has returned, not after perform_free(). */
typedef void (*perform_done_fn)(void *arg, enum err err, const struct errinfo *info);

enum perform_state {
    PERFORM_DONE,    /* the whole plan was done at once; done is not called */
    PERFORM_PENDING, /* done will be called */
    PERFORM_REFUSED, /* not the leader: nothing was waited for; done is not called */
};

/* The tick must outlive it. *out is set when PENDING. */
enum perform_state perform_start(struct engine_context *context, struct deps *deps,
                                 struct tick *tick, perform_done_fn done, void *arg,
                                 struct perform **out);
/* The Canary has gone while its plan was carried out. If the plan's own write removed the
 * finalizer, the events behind that write are sent now: the watch may report the deletion before
 * the write is answered. perform_free() is still to be called. */
void perform_gone(struct perform *perform);
void perform_free(struct perform *perform); /* NULL is allowed */
/* The effect under way. */
const struct effect *perform_effect(const struct perform *perform);

/* A Kubernetes Event, a log line and the event receivers: also for what the engine itself has to
 * say. */
void perform_event(struct engine_context *context, const struct canary *canary, enum phase phase,
                   const char *type, const char *text, int64_t now_ms);

#endif

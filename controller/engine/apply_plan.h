/*
 * Applies a plan: its effects one at a time, in order. Each effect checks leadership first, and a
 * failed one ends the plan. Answers of the API are recorded in deps, so that our own writes wake
 * no Canary.
 */
#ifndef ENGINE_APPLY_PLAN_H
#define ENGINE_APPLY_PLAN_H

#include "engine/context.h"
#include "engine/deps.h"
#include "tick/plan.h"

struct apply;
/*
 * ERR_OK: all effects are done. ERR_CANCELLED: this process is not the leader. Called exactly once,
 * never before apply_start() has returned, never after apply_free().
 */
typedef void (*apply_done_fn)(void *arg, enum err err, const struct errinfo *info);

enum apply_state {
    APPLY_DONE,    /* complete; done is not called */
    APPLY_PENDING, /* done will be called */
    APPLY_REFUSED, /* not the leader; done is not called */
};

/* The tick must outlive it. *out is set if APPLY_PENDING. */
enum apply_state apply_start(struct engine_context *context, struct deps *deps, struct tick *tick,
                             apply_done_fn done, void *arg, struct apply **out);
/*
 * The Canary was deleted while its plan was applied. If the plan's own write removed the finalizer,
 * sends the events that follow that write now: the watch may report the deletion before the write
 * is answered. apply_free() must still be called.
 */
void apply_gone(struct apply *apply);
void apply_free(struct apply *apply); /* NULL is allowed */
/* The current effect; NULL if none, with ERR_CANCELLED. */
const struct effect *apply_effect(const struct apply *apply);

/*
 * Sends a Kubernetes Event, writes a log line and notifies the event receivers; also for the
 * engine's own messages.
 */
void report_event(struct engine_context *context, const struct canary *canary, enum phase phase,
                  const char *type, const char *text, int64_t now_ms);

#endif

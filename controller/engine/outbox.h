/*
 * What is told to others without waiting: events, to webhooks of type `event` or the global
 * --event-webhook, and the hooks that only inform (post-rollout).
 *
 * Events of one Canary leave in order, one at a time, and so do its informing hooks, in a queue of
 * their own; an endpoint that is slow or down holds up nobody else, and no run. At most
 * OUTBOX_MAX_PER_CANARY messages wait in a queue, the oldest is dropped with a log line; at most
 * OUTBOX_MAX events, as many hooks and as many alerts wait in all: for one more the oldest of the
 * namespace that has most is dropped. Failures of events are
 * logged only (engine/WEBHOOKS.md), those of hooks are told to their sender.
 */
#ifndef ENGINE_OUTBOX_H
#define ENGINE_OUTBOX_H

#include "engine/alert_call.h"
#include "engine/context.h"

enum { OUTBOX_MAX_PER_CANARY = 256, OUTBOX_MAX = 4096 };

struct outbox;
struct outbox *outbox_new(struct engine_context *context);
void outbox_free(struct outbox *outbox); /* what waits is dropped */
/* Tells the event receivers of the canary. type: Normal or Warning; now_ms: wall clock. Everything
 * is copied. */
void outbox_event(struct outbox *outbox, const struct canary *canary, enum phase phase,
                  const char *type, const char *text, int64_t now_ms);

/* What an informing hook said. canary is a copy with what perform_event() needs of it. */
typedef void (*outbox_answer_fn)(struct engine_context *context, const struct canary *canary,
                                 enum phase phase, const char *hook,
                                 const struct hook_answer *answer);
/*
 * Calls an informing hook of the canary, with its retries. One that follows is left out when the
 * hook before it failed, or was left out. Everything is copied; answered is called at most once,
 * never before this has returned.
 */
void outbox_hook(struct outbox *outbox, const struct canary *canary,
                 const struct canary_webhook *webhook, enum phase phase, bool follows,
                 outbox_answer_fn answered);

/*
 * Sends an alert of the Canary "name.namespace". Those of one channel leave in order, one at a time;
 * a channel that is down holds up no other. Everything is copied. told: as of alert_call_start(),
 * with ended also when the message is dropped. False: too many wait already, and told is not called.
 */
bool outbox_alert(struct outbox *outbox, const char *canary, const struct channel *channel,
                  const struct alert *alert, alert_told_fn told, void *arg);

/*
 * The Canary "name.namespace" is gone: what waits for it is dropped, but for what tells of its
 * deletion, and so is what was tried and not taken. Alerts still have one try.
 */
void outbox_forget(struct outbox *outbox, const char *canary);

/* Events, informing hooks and alerts that wait or are being sent, of all Canaries. */
struct outbox_look {
    int events, hooks, alerts;
};
struct outbox_look outbox_look(const struct outbox *outbox);
/* The same of one Canary, "name.namespace". */
struct outbox_look outbox_look_at(const struct outbox *outbox, const char *canary);

#endif

/*
 * Fire-and-forget notifications: events for webhooks of type `event` and the global --event-
 * webhook, hooks that only inform (post-rollout), and alerts.
 *
 * Events of one Canary are sent in order, one at a time, and so are its informing hooks, in a queue
 * of their own. A slow or failing endpoint delays neither other queues nor a run. A queue holds at
 * most OUTBOX_MAX_PER_CANARY messages; the oldest is dropped with a log line. In total at most
 * OUTBOX_MAX events, hooks and alerts each wait: beyond that the oldest message of the namespace
 * with most messages is dropped. Failures of events are only logged (engine/WEBHOOKS.md), those of
 * hooks are reported to the caller.
 */
#ifndef ENGINE_OUTBOX_H
#define ENGINE_OUTBOX_H

#include "engine/context.h"
#include "notify/notify.h"
#include "tick/need.h"

/*
 * --- Sends one alert to one channel: reads its Secret, sends the request, and retries until it is
 * accepted.
 *
 * Retried after 1 s, 2 s, 4 s, up to a minute, or according to Retry-After: temporary failures
 * (notify_refusal()), and a Secret that is missing or wrong, which a person may fix. Any other
 * answer is final. The call gives up after an hour. Messages never contain data from a Secret.
 */

enum { ALERT_PATIENCE_MS = 3600 * 1000 };

struct alert_call;
/*
 * trouble: the reason why the alert was not accepted, one sentence, valid only during the call;
 * NULL if it was accepted. ended: true in the last call. Called once with ended, never before
 * alert_call_start() has returned; before that it may report persistent problems, once per
 * sentence. Not called after alert_call_free().
 */
typedef void (*alert_report_fn)(void *arg, const char *trouble, bool ended);

/* Everything is copied. */
struct alert_call *alert_call_start(struct engine_context *context, const struct channel *channel,
                                    const struct alert *alert, alert_report_fn report, void *arg);
void alert_call_free(struct alert_call *call); /* NULL is allowed */

struct channel channel_copy(struct arena *arena, const struct channel *channel);
struct alert alert_copy(struct arena *arena, const struct alert *alert);

/* --- the outbox */

enum { OUTBOX_MAX_PER_CANARY = 256, OUTBOX_MAX = 4096 };

struct outbox;
struct outbox *outbox_new(struct engine_context *context);
void outbox_free(struct outbox *outbox); /* waiting messages are dropped */
/*
 * Notifies the event receivers of the Canary. type: Normal or Warning; now_ms: wall clock.
 * Everything is copied.
 */
void outbox_event(struct outbox *outbox, const struct canary *canary, enum phase phase,
                  const char *type, const char *text, int64_t now_ms);

/* The answer of an informing hook. canary is a copy with the fields that report_event() needs. */
typedef void (*outbox_answer_fn)(struct engine_context *context, const struct canary *canary,
                                 enum phase phase, const char *hook,
                                 const struct hook_answer *answer);
/*
 * Calls an informing hook of the Canary, with its retries. A hook with `follows` is skipped if the
 * hook before it failed or was skipped. Everything is copied; answered is called at most once,
 * never before this has returned.
 */
void outbox_hook(struct outbox *outbox, const struct canary *canary,
                 const struct canary_webhook *webhook, enum phase phase, bool follows,
                 outbox_answer_fn answered);

/*
 * Sends an alert of the Canary "name.namespace". Alerts of one channel are sent in order, one at a
 * time; a failing channel delays no other. Everything is copied. report: as for alert_call_start(),
 * with ended also if the message is dropped. Returns false if the outbox is full; then report is
 * not called.
 */
bool outbox_alert(struct outbox *outbox, const char *canary, const struct channel *channel,
                  const struct alert *alert, alert_report_fn report, void *arg);

/*
 * The Canary "name.namespace" was deleted: drops its waiting messages, except those about its
 * deletion, and messages that have failed once. Alerts get one more try.
 */
void outbox_forget(struct outbox *outbox, const char *canary);

/* Events, informing hooks and alerts waiting or being sent, of all Canaries. */
struct outbox_counts {
    int events, hooks, alerts;
};
struct outbox_counts outbox_counts(const struct outbox *outbox);
/* The same for one Canary, "name.namespace". */
struct outbox_counts outbox_counts_of(const struct outbox *outbox, const char *canary);

#endif

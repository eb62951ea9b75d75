/*
 * What is told to others without waiting: events, to webhooks of type `event` or the global
 * --event-webhook.
 *
 * Messages of one Canary leave in order, one at a time; an endpoint that is slow or down holds up
 * nobody else. At most OUTBOX_MAX_PER_CANARY wait per Canary, the oldest is dropped with a log
 * line; at most OUTBOX_MAX wait in all, further ones are dropped. Failures are logged only
 * (contract/statemachine.md §12).
 */
#ifndef ENGINE_OUTBOX_H
#define ENGINE_OUTBOX_H

#include "engine/context.h"

enum { OUTBOX_MAX_PER_CANARY = 256, OUTBOX_MAX = 4096 };

struct outbox;
struct outbox *outbox_new(struct engine_context *context);
void outbox_free(struct outbox *outbox); /* what waits is dropped */
/* Tells the event receivers of the canary. type: Normal or Warning; now_ms: wall clock. Everything
 * is copied. */
void outbox_event(struct outbox *outbox, const struct canary *canary, enum phase phase,
                  const char *type, const char *text, int64_t now_ms);

#endif

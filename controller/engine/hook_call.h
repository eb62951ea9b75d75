/*
 * One webhook of a Canary, called over HTTP with its time-out and retries (engine/WEBHOOKS.md).
 *
 * Passing: 200, 201, 202 as Flagger, and 204. Repeated up to `retries` times: no answer (a TLS
 * verification failure or a bad URL is final), 429, and 5xx but 501; waits 1 s, 2 s, 4 s ... at
 * most 30 s, or Retry-After with 429 and 503.
 *
 * With headersFrom and caSecretRef, the Secrets are read first; one that is missing or wrong is an
 * answer that did not pass (hook_answer.unasked). What comes from a Secret goes to the host of the
 * URL only: a redirect to another host is not followed, and the answer says so. The values are
 * struck out of every answer and message.
 */
#ifndef ENGINE_HOOK_CALL_H
#define ENGINE_HOOK_CALL_H

#include "engine/context.h"

struct hook_call;
/* answer->text is valid only inside; exactly once, never before hook_call_start() has returned, not
 * after hook_call_free(). */
typedef void (*hook_done_fn)(void *arg, const struct hook_answer *answer);

/* Everything is copied. body is the payload (webhook_text()); namespace_ is the Canary's. */
struct hook_call *hook_call_start(struct engine_context *context, const char *namespace_,
                                  const struct canary_webhook *webhook, const char *body,
                                  hook_done_fn done, void *arg);
/* How often it was sent so far. */
int hook_call_attempts(const struct hook_call *call);
void hook_call_free(struct hook_call *call); /* NULL is allowed */

/* What hook_call_start() needs of a webhook, in the arena: without metadata. */
struct canary_webhook hook_call_copy(struct arena *arena, const struct canary_webhook *webhook);

/* The payload of a hook in a phase, about the revision with this checksum. Owned by the arena. */
const char *hook_body(struct arena *arena, const struct canary *canary,
                      const struct canary_webhook *webhook, enum phase phase, const char *checksum);

#endif

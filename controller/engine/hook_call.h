/*
 * Calls one webhook of a Canary over HTTP, with its time-out and retries (engine/WEBHOOKS.md).
 *
 * Passed: 200, 201, 202 as in Flagger, and 204. Retried up to `retries` times: no answer (a TLS
 * verification failure or a bad URL is final), 429, and 5xx except 501; after 1 s, 2 s, 4 s, up to
 * 30 s, or according to Retry-After with 429 and 503.
 *
 * With headersFrom and caSecretRef the Secrets are read first; if one is missing or wrong, the
 * answer is a failure (hook_answer.unasked). Data from Secrets is sent to the host of the URL only:
 * a redirect to another host is not followed, and the answer says so. The values are redacted in
 * every answer and message.
 */
#ifndef ENGINE_HOOK_CALL_H
#define ENGINE_HOOK_CALL_H

#include "base/json.h"
#include "engine/context.h"
#include "net/client.h"
#include "tick/need.h"

struct hook_call;
/*
 * answer->text is valid in the call only. Called exactly once, never before hook_call_start() has
 * returned, never after hook_call_free().
 */
typedef void (*hook_done_fn)(void *arg, const struct hook_answer *answer);

/* Everything is copied. body: the payload (webhook_text()); namespace_: that of the Canary. */
struct hook_call *hook_call_start(struct engine_context *context, const char *namespace_,
                                  const struct canary_webhook *webhook, const char *body,
                                  hook_done_fn done, void *arg);
/* Number of attempts so far. */
int hook_call_attempts(const struct hook_call *call);
void hook_call_free(struct hook_call *call); /* NULL is allowed */

/* A copy of the fields that hook_call_start() needs, in the arena; without metadata. */
struct canary_webhook hook_call_copy(struct arena *arena, const struct canary_webhook *webhook);

/* The payload of a hook in a phase, for the revision with this checksum. Owned by the arena. */
const char *hook_body(struct arena *arena, const struct canary *canary,
                      const struct canary_webhook *webhook, enum phase phase, const char *checksum);

#endif

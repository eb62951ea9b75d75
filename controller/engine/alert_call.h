/*
 * One alert to one channel: its Secret is read, the request is sent, and repeated until it is taken.
 *
 * Repeated, after 1 s, 2 s, 4 s ... at most a minute, or when Retry-After says: what may pass
 * (notify_refusal()), and a Secret that is missing or wrong, which a person may put right. Any other
 * answer is final.
 * After an hour the call gives up. What comes from a Secret is in no message.
 */
#ifndef ENGINE_ALERT_CALL_H
#define ENGINE_ALERT_CALL_H

#include "engine/context.h"
#include "notify/notify.h"

enum { ALERT_PATIENCE_MS = 3600 * 1000 };

struct alert_call;
/*
 * trouble: why it has not been taken, one sentence, valid only inside; NULL: it was. ended: nothing
 * more comes. Called with ended once, never before alert_call_start() has returned; before that it
 * may tell of trouble that lasts, once for each sentence. Not after alert_call_free().
 */
typedef void (*alert_told_fn)(void *arg, const char *trouble, bool ended);

/* Everything is copied. */
struct alert_call *alert_call_start(struct engine_context *context, const struct channel *channel,
                                    const struct alert *alert, alert_told_fn told, void *arg);
void alert_call_free(struct alert_call *call); /* NULL is allowed */

struct channel channel_copy(struct arena *arena, const struct channel *channel);
struct alert alert_copy(struct arena *arena, const struct alert *alert);

#endif

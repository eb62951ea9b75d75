/*
 * Sends one alert to one channel: reads its Secret, sends the request, and retries until it is
 * accepted.
 *
 * Retried after 1 s, 2 s, 4 s, up to a minute, or as Retry-After says: temporary failures
 * (notify_refusal()), and a Secret that is missing or wrong, which a person may fix. Any other
 * answer is final. The call gives up after an hour. Messages never contain data from a Secret.
 */
#ifndef ENGINE_ALERT_CALL_H
#define ENGINE_ALERT_CALL_H

#include "engine/context.h"
#include "notify/notify.h"

enum { ALERT_PATIENCE_MS = 3600 * 1000 };

struct alert_call;
/*
 * trouble: why the alert was not accepted, one sentence, valid in the call only; NULL if it was.
 * ended: the last call. Called once with ended, never before alert_call_start() has returned;
 * before that it may report trouble that persists, once per sentence. Not called after
 * alert_call_free().
 */
typedef void (*alert_report_fn)(void *arg, const char *trouble, bool ended);

/* Everything is copied. */
struct alert_call *alert_call_start(struct engine_context *context, const struct channel *channel,
                                    const struct alert *alert, alert_report_fn report, void *arg);
void alert_call_free(struct alert_call *call); /* NULL is allowed */

struct channel channel_copy(struct arena *arena, const struct channel *channel);
struct alert alert_copy(struct arena *arena, const struct alert *alert);

#endif

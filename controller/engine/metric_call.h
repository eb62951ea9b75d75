/*
 * One question to a metric server: its request, the redirects that are the answer to it, and what
 * the last answer means. At most 10 redirects are followed, as in Flagger. To another host, and
 * from https to http, they take no header of the question with them: a credential is meant for
 * one host.
 */
#ifndef ENGINE_METRIC_CALL_H
#define ENGINE_METRIC_CALL_H

#include "engine/context.h"

struct metric_call;
/* answer->text lives in the arena of the call. Exactly once, never before metric_call_start() has
 * returned, not after metric_call_free(). */
typedef void (*metric_done_fn)(void *arg, const struct metric_answer *answer);

/* NULL: nothing can be sent, and *at_once says why. arena and question must live until the call has
 * ended or is freed. */
struct metric_call *metric_call_start(struct engine_context *context, struct arena *arena,
                                      const struct metric_question *question, int64_t now_ms,
                                      metric_done_fn done, void *arg,
                                      struct metric_answer *at_once);
void metric_call_free(struct metric_call *call); /* NULL is allowed */

#endif

/*
 * The trace of a release: a root span from its beginning to its end, below it a span for each step,
 * and below the step that runs a span for each metric and each webhook that the rules wait for.
 *
 * Ids follow from the Canary's uid and the times in its status (status.release, status.history), so
 * that a process that comes later goes on with the same trace. A step is sent when it has ended, the
 * root with the end of the release. traces may be NULL in all of them: nothing happens.
 */
#ifndef ENGINE_RELEASE_SPANS_H
#define ENGINE_RELEASE_SPANS_H

#include "engine/traces.h"
#include "tick/need.h"

/* The status was written: `patch` is the whole body of its merge patch. Sends the steps that it
 * ends, and the release. */
void release_spans_status(struct traces *traces, const struct canary *canary,
                          struct json_object *patch);
/* elapsed_ms: until now, the time at which the answer came. */
void release_spans_metric(struct traces *traces, const struct canary *canary,
                          const struct metric_question *question,
                          const struct metric_answer *answer, int64_t elapsed_ms);
void release_spans_hook(struct traces *traces, const struct canary *canary,
                        const struct canary_webhook *webhook, const struct hook_answer *answer,
                        int64_t elapsed_ms);

#endif

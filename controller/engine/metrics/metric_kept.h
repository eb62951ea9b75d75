/*
 * What a metric backend has been given to show for a while (an OAuth token, the keys of a role), kept
 * until shortly before it ends: it costs up to three requests, and most questions come again and
 * again.
 */
#ifndef ENGINE_METRICS_METRIC_KEPT_H
#define ENGINE_METRICS_METRIC_KEPT_H

#include "tick/tick.h"

struct metric_kept;
struct metric_kept *metric_kept_new(void);
void metric_kept_free(struct metric_kept *kept); /* NULL is allowed */

/* A reply, and the URL that gave it. */
struct metric_kept_reply {
    const char *url, *body;
};
/* What was kept for a question of the same provider with the same credentials; in the arena. False:
 * nothing. */
bool metric_kept_find(struct metric_kept *kept, struct arena *arena,
                      const struct metric_question *question, struct metric_kept_reply *out);
/* lasts_ms: from now on. What ends soon is not kept. */
void metric_kept_put(struct metric_kept *kept, const struct metric_question *question,
                     const struct metric_kept_reply *reply, int64_t lasts_ms);
void metric_kept_forget(struct metric_kept *kept, const struct metric_question *question);

#endif

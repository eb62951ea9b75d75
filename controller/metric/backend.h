/* A metric backend: turns a question and a time into one HTTP request, and the reply into an
 * answer. Pure. */
#ifndef METRIC_BACKEND_H
#define METRIC_BACKEND_H

#include "net/client.h"
#include "tick/tick.h"

struct metric_backend {
    const char *type; /* MetricTemplate spec.provider.type */
    /* Fills *out (everything in the arena). ERR_INVALID: the template or secret cannot work, with
     * the sentence. */
    enum err (*request)(struct arena *arena, const struct metric_question *question, int64_t now_ms,
                        struct http_request *out, struct errinfo *ei);
    /* The request that only asks whether the backend answers (step 7); its answer is METRIC_VALUE
     * when it does. */
    enum err (*probe)(struct arena *arena, const struct metric_question *question, int64_t now_ms,
                      struct http_request *out, struct errinfo *ei);
    /* Reads a reply of any status. A call without a reply is the engine's METRIC_ERROR. */
    struct metric_answer (*answer)(struct arena *arena, const struct metric_question *question,
                                   const struct http_result *result);
};

/* MetricTemplate */
extern const struct kube_resource metric_templates;

extern const struct metric_backend *const metric_backend_table[];
const struct metric_backend *metric_backend_find(const char *type);
/* "prometheus", for errors; owned by the arena. */
const char *metric_backend_names(struct arena *arena);

#endif

/*
 * Converts objects of Argo Rollouts: a Rollout becomes a Deployment and a Canary, metrics of
 * AnalysisTemplates become MetricTemplates. The result is YAML with a comment wherever something
 * changes its meaning, and a list of everything that has no counterpart. Pure: makes no requests to
 * a cluster.
 */
#ifndef CONVERT_CONVERT_H
#define CONVERT_CONVERT_H

#include "base/json.h"

enum { CONVERT_MAX_BYTES = 64 * 1024 * 1024 }; /* limit for the result */

/* The known fields are in fields.def. */
enum field_kind { FIELD_ROLLOUT, FIELD_TEMPLATE };

struct convert_options {
    const char *namespace_; /* namespace for objects without one; NULL or "" if none */
    const char *rollout;    /* converts only the Rollout with this name; NULL or "" for all */
    const char *gate;       /* URL of the gate, without its query */
    bool live;              /* writes the procedure for a switch as well */
    /* Kinds to write, without the list at the end; NULL for all. NULL-terminated. */
    const char *const *only;
    const char *command; /* for messages, "kubectl canary convert rollout.yaml" */
};

struct conversion {
    struct arena *arena;
    struct json_object *objects; /* all objects in the files, a list */
    const struct convert_options *options;
    struct commented *first, **last; /* the documents */
    struct rollout *rollouts, **last_rollout;
    struct loss *losses, **last_loss; /* private */
    int found, lost; /* number of Rollouts in the files, number of fields without a counterpart */
    struct json_object *mistakes; /* one sentence for each Rollout that cannot be converted */
    struct json_object *used;     /* private: AnalysisTemplates that a Rollout names, by label */
    struct json_object *
        templates; /* private: the text of each MetricTemplate that is written, by namespace and name */
};

/* Everything lives in the arena, and the options and objects must as well. */
struct conversion *convert_objects(struct arena *arena, const struct convert_options *options,
                                   struct json_object *objects);
/* The YAML, in the arena. */
const char *convert_text(const struct conversion *conversion);
/* The rows of fields.def as tables of Markdown, in the arena. */
const char *convert_fields(struct arena *arena);

#endif

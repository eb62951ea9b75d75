/*
 * A target: the workload that is released. One file per kind, pure.
 */
#ifndef TARGET_TARGET_H
#define TARGET_TARGET_H

#include "proto/spechash.h"
#include "tick/tick.h"

/* What of the target the other rules need. Lives in the tick's arena. */
struct target_info {
    struct json_object *object;  /* the target, as read */
    struct json_object *primary; /* NULL: not created yet */
    const char *label;           /* selector label, e.g. "app" */
    const char *label_value;     /* its value in the target, e.g. "podinfo" */
    char hash[SPECHASH_TEXT];    /* of the live pod template */
};

enum readiness { READY, NOT_READY_YET, NOT_READY_EVER }; /* EVER: waiting on is pointless (deadline passed) */

struct target {
    const char *kind;
    const struct kube_resource *resource;
    /* Reads target and primary. The sentence of a missing target or label is an event; VERDICT_STOP. */
    enum verdict (*read)(struct tick *tick, struct target_info *out);
    /* Creates the primary if it is missing (with the primary copies of tracked configs). */
    enum verdict (*ensure_primary)(struct tick *tick, const struct target_info *info);
    /* Readiness of the primary or the target, with the sentence of contract/statemachine.md §5. */
    enum readiness (*ready)(struct tick *tick, struct json_object *workload, int threshold_percent, const char **why);
    enum verdict (*scale_to_zero)(struct tick *tick, const struct target_info *info);
    enum verdict (*scale_from_zero)(struct tick *tick, const struct target_info *info);
    /* Copies the target (the analysed revision: its hash must be canary->status.last_applied_spec) onto the primary. */
    enum verdict (*promote)(struct tick *tick, const struct target_info *info);
};

extern const struct target *const target_table[];
const struct target *target_find(const char *kind);

#endif

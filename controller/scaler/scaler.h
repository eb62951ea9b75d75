/* An autoscaler that a Canary refers to (contract/objects.md §1.6). One file per kind, pure. */
#ifndef SCALER_SCALER_H
#define SCALER_SCALER_H

#include "tick/tick.h"

struct scaler {
    const char *kind;
    const struct kube_resource *resource;
    /* The primary's copy exists; update: and equals the source but for the names. */
    enum verdict (*reconcile_primary)(struct tick *tick, bool update);
    enum verdict (*pause_target)(struct tick *tick);
    enum verdict (*resume_target)(struct tick *tick);
    /* Replicas to start the canary with, 0 when it has no opinion. */
    enum verdict (*min_replicas)(struct tick *tick, int *out);
};

extern const struct scaler *const scaler_table[];
const struct scaler *scaler_find(const char *kind);
/* "HorizontalPodAutoscaler", for errors; owned by the arena. */
const char *scaler_names(struct arena *arena);

#endif

/* An autoscaler that a Canary refers to (scaler/OBJECTS.md). One file per kind, pure. */
#ifndef SCALER_SCALER_H
#define SCALER_SCALER_H

#include "tick/tick.h"

struct scaler {
    const char *kind;
    const char *group;    /* of autoscalerRef.apiVersion; whatever its version, */
    const char *expected; /* this is what is read and written: "autoscaling/v2" */
    const struct kube_resource *resource;
    /*
     * The primary's copy exists and equals the source but for the names, what spec.autoscalerRef
     * overrides, and the floor: while it is above 0 the primary keeps at least so many replicas,
     * though never more than its maximum. STOP: the source is missing, as *missing says.
     */
    enum verdict (*reconcile_primary)(struct tick *tick, int floor, const char **missing);
    /* The target's own scaler leaves it at zero; or minds it again. Nothing when the scaler is
     * missing. */
    enum verdict (*pause_target)(struct tick *tick);
    enum verdict (*resume_target)(struct tick *tick);
    /* The Canary does not refer to the scaler of this name any more: the primary's copy of it goes,
     * if it is ours, and so does what pause_target() wrote. */
    enum verdict (*leave)(struct tick *tick, const char *name);
    /* A target at zero stays there: nobody but a person or this controller has put it there. */
    enum verdict (*is_paused)(struct tick *tick, bool *out);
    /* The scaler that the Canary names, NULL: it is missing. */
    enum verdict (*source)(struct tick *tick, struct json_object **out);
    /* Replicas to start the canary with, at least 1. */
    enum verdict (*min_replicas)(struct tick *tick, int *out);
    /* The same of an object that was read: what a workload that it scales is started with. */
    int (*start)(struct json_object *object);
    /* ... the most that it may have. */
    int (*most)(struct json_object *object);
    /*
     * The least number of an object of others is raised to the floor, as far as the largest allows;
     * floor 0: it is put back. What it was stands in an annotation meanwhile; a number that somebody
     * else has written since stays.
     */
    void (*hold)(struct tick *tick, struct json_object *object, int floor);
    /* The most that the primary may have; 0 where the scaler is missing. */
    enum verdict (*primary_max)(struct tick *tick, int *out);
};

extern const struct scaler *const scaler_table[];
const struct scaler *scaler_find(const char *kind);
/* "HorizontalPodAutoscaler", for errors; owned by the arena. */
const char *scaler_names(struct arena *arena);
/* True when autoscalerRef.apiVersion is of the scaler's group, in any version. */
bool scaler_is_of(const struct scaler *scaler, const char *api_version);

#endif

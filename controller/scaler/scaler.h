/* An autoscaler that a Canary refers to (scaler/OBJECTS.md). One file per kind, pure. */
#ifndef SCALER_SCALER_H
#define SCALER_SCALER_H

#include "tick/tick.h"

struct scaler {
    const char *kind;
    const char *group;    /* of autoscalerRef.apiVersion, in any version */
    const char *expected; /* version that is read and written: "autoscaling/v2" */
    const struct kube_resource *resource;
    /*
     * Plans the primary's copy equal to the source except for names, overrides of
     * spec.autoscalerRef, and the floor: above 0 it is a minimum of the primary, limited by its
     * maximum. DONE if the source is missing; *missing is the sentence.
     */
    enum rule_result (*reconcile_primary)(struct tick *tick, int floor, const char **missing);
    /* Makes the target's own scaler leave it at zero, or resume. Does nothing if the scaler is
     * missing. */
    enum rule_result (*pause_target)(struct tick *tick);
    enum rule_result (*resume_target)(struct tick *tick);
    /* The Canary no longer refers to the scaler of this name: removes the primary's copy, if it is
     * ours, and the changes of pause_target(). */
    enum rule_result (*leave)(struct tick *tick, const char *name);
    /* True if a target at zero stays there: only a person or this controller has scaled it down. */
    enum rule_result (*is_paused)(struct tick *tick, bool *out);
    /* The scaler that the Canary names, NULL if missing. */
    enum rule_result (*source)(struct tick *tick, struct json_object **out);
    /* Initial replicas of the canary, at least 1. */
    enum rule_result (*min_replicas)(struct tick *tick, int *out);
    /* The same for a given object: initial replicas of a workload that it scales. */
    int (*start)(struct json_object *object);
    /* its maximum */
    int (*most)(struct json_object *object);
    /*
     * Raises the minimum of an object that is not ours to the floor, up to the maximum, or with
     * `lowers` sets it, also below the old value; floor 0: restores it. The old value is kept in an
     * annotation; a number that others have written since counts as the old one.
     */
    void (*hold)(struct tick *tick, struct json_object *object, int floor, bool lowers);
    /* The maximum of the primary; 0 if the scaler is missing. */
    enum rule_result (*primary_max)(struct tick *tick, int *out);
};

extern const struct scaler *const scaler_table[];
const struct scaler *scaler_find(const char *kind);
/* "HorizontalPodAutoscaler", for errors; owned by the arena. */
const char *scaler_names(struct arena *arena);
/* True if autoscalerRef.apiVersion is of the scaler's group, in any version. */
bool scaler_is_of(const struct scaler *scaler, const char *api_version);

#endif

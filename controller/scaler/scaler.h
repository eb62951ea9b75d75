/* An autoscaler that a Canary refers to (scaler/OBJECTS.md). One file per kind, pure. */
#ifndef SCALER_SCALER_H
#define SCALER_SCALER_H

#include "base/arena.h"
#include "tick/tick.h"

struct scaler {
    const char *kind;
    const char *group;    /* group of autoscalerRef.apiVersion, in any version */
    const char *expected; /* version that is read and written: "autoscaling/v2" */
    const struct kube_resource *resource;
    /*
     * Plans to make the primary's copy equal to the source except for names, the overrides in
     * spec.autoscalerRef, and the floor: if above 0, it is a lower bound for the primary's minimum,
     * limited by its maximum. DONE if the source is missing; *missing is the sentence.
     */
    enum rule_result (*reconcile_primary)(struct tick *tick, int floor, const char **missing);
    /* Makes the target's own scaler leave the target at zero, or resumes the scaler. Does nothing
     * if the scaler is missing. */
    enum rule_result (*pause_target)(struct tick *tick);
    enum rule_result (*resume_target)(struct tick *tick);
    /* The Canary no longer refers to the scaler with this name: removes the primary's copy, if it
     * is ours, and undoes pause_target(). */
    enum rule_result (*leave)(struct tick *tick, const char *name);
    /* True if a target at zero stays there: only a user or this controller can have scaled it
     * down. */
    enum rule_result (*is_paused)(struct tick *tick, bool *out);
    /* The scaler that the Canary names, NULL if missing. */
    enum rule_result (*source)(struct tick *tick, struct json_object **out);
    /* Initial number of replicas of the canary, at least 1. */
    enum rule_result (*min_replicas)(struct tick *tick, int *out);
    /* The same for a given object: the initial number of replicas of the workload that it
     * scales. */
    int (*start)(struct json_object *object);
    /* its maximum */
    int (*most)(struct json_object *object);
    /*
     * Raises the minimum of an object that is not ours to the floor, but not above its maximum;
     * with `lowers` sets it even if that is less than the old value; floor 0 restores it. The old
     * value is kept in an annotation; a number that somebody else has written since then counts as
     * the old value.
     */
    void (*hold)(struct tick *tick, struct json_object *object, int floor, bool lowers);
    /* The maximum of the primary; 0 if the scaler is missing. */
    enum rule_result (*primary_max)(struct tick *tick, int *out);
};

extern const struct scaler *const scaler_table[];
const struct scaler *scaler_find(const char *kind);
/* "HorizontalPodAutoscaler", for errors; owned by the arena. */
const char *scaler_names(struct arena *arena);
/* True if autoscalerRef.apiVersion has the scaler's group, in any version. */
bool scaler_is_of(const struct scaler *scaler, const char *api_version);

/* --- for the variants: a source, the primary's copy of it, and its bounds */

struct scaler_copy {
    const struct kube_resource *resource;
    struct json_object *source; /* NULL if missing */
    struct json_object *live;   /* the copy, NULL if not created yet */
    const char *name;           /* name of the copy: "podinfo-primary" */
    bool all_annotations;       /* a new copy gets all annotations, not only the included ones */
    /* Keys that are never copied, NULL-terminated or NULL. */
    const char *const *never_labels, *const *never_annotations;
};

/* Names of the bounds in the spec of this kind of scaler. */
struct scaler_bounds {
    const char *min, *max;
    int default_min, default_max; /* if the spec has none */
};

/* Reads source and copy; the kind sets the other fields afterwards. */
enum rule_result scaler_copy_read(struct tick *tick, const struct kube_resource *resource,
                                  struct scaler_copy *out);
/* Only the source, NULL if missing. */
enum rule_result scaler_source(struct tick *tick, const struct kube_resource *resource,
                               struct json_object **out);
/* Sets the bounds of the copy in `spec`: the source's or those in primaryScalerReplicas, with the
 * minimum raised to the floor, but not above the maximum. */
void scaler_copy_bounds(struct tick *tick, const struct scaler_bounds *bounds,
                        struct json_object *source, struct json_object *spec, int floor);
/* The maximum of the copy of `source`. */
int scaler_copy_max(struct tick *tick, const struct scaler_bounds *bounds,
                    struct json_object *source);
/* The minimum of the source, at least 1; 1 if there is no source. */
int scaler_start(const struct scaler_bounds *bounds, struct json_object *source);

int scaler_most(const struct scaler_bounds *bounds, struct json_object *source);
/* Annotation with the minimum before and after it was changed: "2/12"; never on a copy. */
#define SCALER_HELD "flagger.app/least-replicas"
/* Changes the minimum of an object that is not ours, or restores it (scaler.h). */
void scaler_hold(struct tick *tick, const struct kube_resource *resource,
                 const struct scaler_bounds *bounds, struct json_object *object, int floor,
                 bool lowers);

/* The live copy, or a new one without a spec, with its labels and annotations: all labels if it is
 * new, later only the included ones. */
struct json_object *scaler_copy_base(struct tick *tick, const struct scaler_copy *copy);
/* Deletes the primary's copy of the scaler of this name if this Canary owns it. */
enum rule_result scaler_copy_leave(struct tick *tick, const struct kube_resource *resource,
                                   const char *name);
/* Creates the copy, or patches the differences. */
void scaler_copy_write(struct tick *tick, const struct scaler_copy *copy, struct json_object *to);

/* --- for the variants: turning a query about the target into one about its primary */

/*
 * `query` with the workload's name, also with "-canary", replaced by "NAME-primary" wherever it is
 * a name: not inside another word (mypodinfo, podinfo-backend), not before "-primary", and, outside
 * quotes, not as part of an identifier (podinfo_requests_total), which cannot contain a "-". A name
 * followed by a pattern (podinfo-.*) counts.
 */
const char *query_for_primary(struct arena *arena, const char *query, const char *name);

/*
 * A label selector for pods of the target ("app=podinfo,tier in (a, b)"), changed to select pods of
 * the primary: for `key`, the value `from` becomes `to`.
 */
const char *selector_for_primary(struct arena *arena, const char *selector, const char *key,
                                 const char *from, const char *to);

#endif

/* Shared by all scalers: a source, the primary's copy of it, and its bounds. */
#ifndef SCALER_SHARED_COPY_H
#define SCALER_SHARED_COPY_H

#include "base/arena.h"
#include "scaler/scaler.h"

struct scaler_copy {
    const struct kube_resource *resource;
    struct json_object *source; /* NULL if missing */
    struct json_object *live;   /* the copy, NULL if not created yet */
    const char *name;           /* of the copy: "podinfo-primary" */
    bool all_annotations;       /* a new copy gets all annotations, not only the included ones */
    /* Keys that are never copied, NULL-ended or NULL. */
    const char *const *never_labels, *const *never_annotations;
};

/* Names of the bounds in the spec of a kind. */
struct scaler_bounds {
    const char *min, *max;
    int default_min, default_max; /* if the spec has none */
};

/* Reads both; the kind sets the other fields afterwards. */
enum rule_result scaler_copy_read(struct tick *tick, const struct kube_resource *resource,
                                  struct scaler_copy *out);
/* The source alone, NULL if missing. */
enum rule_result scaler_source(struct tick *tick, const struct kube_resource *resource,
                               struct json_object **out);
/* Sets the bounds of the copy in `spec`: those of the source or of primaryScalerReplicas, with the
 * minimum raised to the floor, up to the maximum. */
void scaler_copy_bounds(struct tick *tick, const struct scaler_bounds *bounds,
                        struct json_object *source, struct json_object *spec, int floor);
/* The maximum of the copy of `source`. */
int scaler_copy_max(struct tick *tick, const struct scaler_bounds *bounds,
                    struct json_object *source);
/* The minimum of the source, at least 1; 1 without a source. */
int scaler_start(const struct scaler_bounds *bounds, struct json_object *source);

int scaler_most(const struct scaler_bounds *bounds, struct json_object *source);
/* Annotation with the minimum before it was changed, and the one it was changed to: "2/12"; never on
 * a copy. */
#define SCALER_HELD "flagger.app/least-replicas"
/* Changes the minimum of an object that is not ours, or restores it (scaler.h). */
void scaler_hold(struct tick *tick, const struct kube_resource *resource,
                 const struct scaler_bounds *bounds, struct json_object *object, int floor,
                 bool lowers);

/* The live copy, or a new one without spec, with its labels and annotations: all labels if it is
 * new, later only the included ones. */
struct json_object *scaler_copy_base(struct tick *tick, const struct scaler_copy *copy);
/* Deletes the primary's copy of the scaler of this name if this Canary owns it. */
enum rule_result scaler_copy_leave(struct tick *tick, const struct kube_resource *resource,
                                   const char *name);
/* Creates the copy, or patches the differences. */
void scaler_copy_write(struct tick *tick, const struct scaler_copy *copy, struct json_object *to);

/* Rewrites a scaler's query about the target into one about its primary. */

/*
 * `query` with the workload's name, also with "-canary", replaced by "NAME-primary" where it is a
 * name: not inside another word (mypodinfo, podinfo-backend), not before "-primary", and outside
 * quotes not as part of an identifier (podinfo_requests_total), which cannot contain a "-". A name
 * followed by a pattern (podinfo-.*) counts.
 */
const char *query_for_primary(struct arena *arena, const char *query, const char *name);

/*
 * A label selector ("app=podinfo,tier in (a, b)") for pods of the target as one for pods of the
 * primary: for `key`, the value `from` becomes `to`.
 */
const char *selector_for_primary(struct arena *arena, const char *selector, const char *key,
                                 const char *from, const char *to);

#endif

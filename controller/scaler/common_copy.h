/* What all scalers share: the pair of a source and the primary's copy of it, and its bounds. */
#ifndef SCALER_COMMON_COPY_H
#define SCALER_COMMON_COPY_H

#include "scaler/scaler.h"

struct scaler_copy {
    const struct kube_resource *resource;
    struct json_object *source; /* NULL: it does not exist */
    struct json_object *live;   /* the copy, NULL: not there yet */
    const char *name;           /* of the copy: "podinfo-primary" */
    bool all_annotations;       /* a new copy gets all, and not only those that are included */
    /* Keys that it never gets, NULL-ended or NULL. */
    const char *const *never_labels, *const *never_annotations;
};

/* How a kind names its bounds in its spec. */
struct scaler_bounds {
    const char *min, *max;
    int default_min, default_max; /* where the spec says nothing */
};

/* Reads both; what else a kind says of its copies, it sets then. */
enum verdict scaler_copy_read(struct tick *tick, const struct kube_resource *resource,
                              struct scaler_copy *out);
/* The source alone, NULL when it does not exist. */
enum verdict scaler_source(struct tick *tick, const struct kube_resource *resource,
                           struct json_object **out);
/* Sets the bounds of the copy in `spec`: the source's or those of primaryScalerReplicas, and the
 * least raised to the floor, as far as the largest allows. */
void scaler_copy_bounds(struct tick *tick, const struct scaler_bounds *bounds,
                        struct json_object *source, struct json_object *spec, int floor);
/* The largest number of the copy made of `source`. */
int scaler_copy_max(struct tick *tick, const struct scaler_bounds *bounds,
                    struct json_object *source);
/* The source's least number, at least 1; 1 where there is no source. */
int scaler_start(const struct scaler_bounds *bounds, struct json_object *source);

int scaler_most(const struct scaler_bounds *bounds, struct json_object *source);
/* The annotation that says what a least number was before it was raised; never on a copy. */
#define SCALER_HELD "flagger.app/least-replicas"
/* Raises the least number of an object of others, or puts it back (scaler.h). */
void scaler_hold(struct tick *tick, const struct kube_resource *resource,
                 const struct scaler_bounds *bounds, struct json_object *object, int floor);

/* The copy as it is, or a new one without spec, with the labels and annotations that it is to have:
 * all labels when it is new, and later those that are included. */
struct json_object *scaler_copy_base(struct tick *tick, const struct scaler_copy *copy);
/* Deletes the primary's copy of the scaler of this name where this Canary owns it. */
enum verdict scaler_copy_leave(struct tick *tick, const struct kube_resource *resource,
                               const char *name);
/* Creates the copy, or patches what differs. */
void scaler_copy_write(struct tick *tick, const struct scaler_copy *copy, struct json_object *to);

#endif

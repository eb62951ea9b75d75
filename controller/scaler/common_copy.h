/* What all scalers share: the pair of a source and the primary's copy of it, and its bounds. */
#ifndef SCALER_COMMON_COPY_H
#define SCALER_COMMON_COPY_H

#include "scaler/scaler.h"

struct scaler_copy {
    const struct kube_resource *resource;
    struct json_object *source; /* NULL: it does not exist */
    struct json_object *live;   /* the copy, NULL: not there yet */
    const char *name;           /* of the copy: "podinfo-primary" */
};

/* How a kind names its bounds in its spec. */
struct scaler_bounds {
    const char *min, *max;
    int default_min, default_max; /* where the spec says nothing */
};

/* Reads both. */
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

/* A new copy, without spec: name, owner, and the source's labels. */
struct json_object *scaler_copy_new(struct tick *tick, const struct scaler_copy *copy);
/* Lays those of the source's labels and annotations that are included over the copy's. */
void scaler_copy_metadata(struct tick *tick, const struct scaler_copy *copy,
                          struct json_object *to);
/* Creates the copy, or patches what differs. */
void scaler_copy_write(struct tick *tick, const struct scaler_copy *copy, struct json_object *to);

#endif

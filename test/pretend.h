/*
 * A cluster in memory, for all that pretends to be one (golden, model, crash, the cases of variants): how an API server
 * keeps objects, and what controllers make of workloads. Pure functions of objects; the clock is the caller's. A workload
 * is a Deployment, or a DaemonSet on two nodes that do not have the label which scales it to zero.
 */
#ifndef TEST_PRETEND_H
#define TEST_PRETEND_H

#include <stdbool.h>

#include "base/json.h"

/* --- objects: "services/podinfo" to object */

/* What a merge patch makes of an object (NULL: of none): with another generation where its spec is another one, and without
 * maps that have no keys; the object itself where nothing changes. */
struct json_object *pretend_merged(struct arena *arena, struct json_object *object,
                                   struct json_object *patch);
/* Copies of all of a resource, as a list with "items". What has no apiVersion is of any group. */
struct json_object *pretend_list(struct arena *arena, struct json_object *objects,
                                 const char *plural, const char *group);
/* Those that are left when the owner of this uid has gone. */
struct json_object *pretend_left(struct arena *arena, struct json_object *objects, const char *uid);

/* --- workloads */

enum health {
    HEALTH_READY,
    HEALTH_STARTING,
    HEALTH_STUCK, /* past its deadline */
    HEALTH_KEPT,  /* the same, and the pods that it had before answer */
};

/* The template that its pods are of, a new reference: its own, or the one that it is pinned to. */
struct json_object *pretend_template(struct json_object *workload);
/* The workload gets the status that it has when its controller has seen the last change and its
 * pods are so; one at zero has none that could be otherwise. now: the time of its conditions; NULL:
 * they have none. */
void pretend_settle(struct json_object *workload, enum health health, const char *now);
/* Its controller has seen the last change. */
bool pretend_is_observed(struct json_object *workload);
bool pretend_at_zero(struct json_object *workload);
bool pretend_serves(struct json_object *workload); /* some pod answers */

/* The replicas that KEDA gives the target: none where the ScaledObject is paused, else not less
 * than it says. */
int64_t pretend_keda(struct json_object *scaler, struct json_object *target);

/* An autoscaler (HPA or ScaledObject; NULL if none) that scales this workload. */
bool pretend_scales(struct json_object *scaler, struct json_object *workload);
/*
 * A write of ours that turns `before` into `after` takes the number of the autoscaler: it may start a
 * workload, take it to zero (an HPA is off then), and give it more within the bounds; no more.
 */
bool pretend_overwrites(struct json_object *scaler, struct json_object *before,
                        struct json_object *after);

#endif

/*
 * What controllers of a cluster make of workloads, for all that pretends to be one (model, golden,
 * torture): pure functions of objects. A workload is a Deployment, or a DaemonSet on two nodes
 * that do not have the label which scales it to zero.
 */
#ifndef TEST_PRETEND_H
#define TEST_PRETEND_H

#include <stdbool.h>

#include "base/json.h"

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

/* An autoscaler (HPA or ScaledObject; NULL: none) that scales this workload. */
bool pretend_scales(struct json_object *scaler, struct json_object *workload);
/*
 * A write of ours that turns `before` into `after` takes the number of the autoscaler: it may start a
 * workload, take it to zero (an HPA is off then), and give it more within the bounds; no more.
 */
bool pretend_overwrites(struct json_object *scaler, struct json_object *before,
                        struct json_object *after);

#endif

/*
 * The status of a Deployment: replica counts and the conditions Available and Progressing, worded
 * and dated as the real controller does, since release tools read them. Pure.
 */
#ifndef CLUSTER_DEPSTATUS_H
#define CLUSTER_DEPSTATUS_H

#include "base/json.h"

struct depstatus_in {
    struct json_object *deployment; /* as stored; its status is the one before */
    const char *fresh_name;         /* of the ReplicaSet of the present template, NULL: none yet */
    int desired, unavailable;       /* spec.replicas, maxUnavailable as a number */
    int spec_replicas;              /* sum of all ReplicaSets' spec.replicas */
    int replicas, updated, ready, available; /* sums of their status; updated: the new one's */
    bool created;                            /* the new ReplicaSet was made just now */
    int64_t now_ms;
};

/* The whole status, owned by the arena. *recheck_ms: when the deadline must be looked at again, 0:
 * never. */
struct json_object *depstatus_make(struct arena *arena, const struct depstatus_in *in,
                                   int64_t *recheck_ms);

#endif

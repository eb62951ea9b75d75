/*
 * The arithmetic of a rolling update: how many replicas each ReplicaSet of a Deployment should have
 * next. Pure.
 *
 * The rules are those of Kubernetes' deployment controller:
 * - all ReplicaSets together never have more than desired + surge replicas;
 * - the new one grows into what that leaves; old ones shrink only as far as desired - unavailable
 * pods stay available;
 * - replicas of old ReplicaSets that are not available are taken first, since they serve nobody.
 */
#ifndef CLUSTER_ROLLOUT_H
#define CLUSTER_ROLLOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

struct rollout_set {
    int replicas;  /* spec.replicas; the functions write the wanted number here */
    int available; /* status.availableReplicas */
};

struct rollout {
    int desired;
    int surge;
    int unavailable;
    struct rollout_set fresh; /* the ReplicaSet of the present template */
    struct rollout_set *old;  /* oldest first */
    size_t old_count;
};

/* maxSurge and maxUnavailable (NULL: 25 %) as numbers: surge rounded up, unavailable down, not both
 * 0. */
enum err rollout_limits(struct json_object *max_surge, struct json_object *max_unavailable,
                        int desired, int *surge, int *unavailable, struct errinfo *ei) MUST_USE;

/* Steps of the controller; each returns whether it changed a number of replicas. */
bool rollout_grow(struct rollout *r);   /* the new ReplicaSet, up; or down to desired */
bool rollout_shrink(struct rollout *r); /* the old ReplicaSets, down */

#endif

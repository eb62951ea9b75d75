/*
 * The controllers of Deployments, ReplicaSets, DaemonSets and HorizontalPodAutoscalers, and the
 * pure functions by which they decide. Internal to this folder.
 */
#ifndef CLUSTER_WORKLOAD_H
#define CLUSTER_WORKLOAD_H

#include "cluster/context.h"

/* work_fn of one object each; arg is the cluster. */
void deployment_sync(void *arg, struct arena *arena, const char *ns, const char *name);
void replicaset_sync(void *arg, struct arena *arena, const char *ns, const char *name);
void daemonset_sync(void *arg, struct arena *arena, const char *ns, const char *name);
/*
 * Keeps a target with replicas between minReplicas and maxReplicas. There are no resource metrics
 * in the sandbox, so nothing scales by load. A target with 0 replicas is left alone, as the real
 * one does.
 */
void hpa_sync(void *arg, struct arena *arena, const char *ns, const char *name);
/* The replicas a target with `present` should have. Pure. */
int64_t hpa_wanted(int64_t present, int64_t min, int64_t max);

bool pod_is_ready(struct json_object *pod);

/*
 * Nodes carry kubernetes.io/hostname, kubernetes.io/os and kubernetes.io/arch. Whether a pod with
 * this nodeSelector (NULL for any) may run there. Pure.
 */
bool daemonset_node_fits(struct json_object *node_selector, const char *node);

/*
 * The arithmetic of a rolling update: how many replicas each ReplicaSet of a Deployment should have
 * next. Pure. The rules are those of Kubernetes' deployment controller:
 * - all ReplicaSets together never have more than desired + surge replicas;
 * - the new one grows into what that leaves; old ones shrink only as far as desired - unavailable
 *   pods stay available;
 * - replicas of old ReplicaSets that are not available are taken first, since they serve nobody.
 */
struct rollout_set {
    int replicas;  /* spec.replicas; the functions write the wanted number here */
    int available; /* status.availableReplicas */
};

struct rollout {
    int desired, surge, unavailable;
    struct rollout_set fresh; /* the ReplicaSet of the present template */
    struct rollout_set *old;  /* oldest first */
    size_t old_count;
};

/* maxSurge and maxUnavailable of spec.strategy.rollingUpdate (NULL: 25 %) as numbers, for
 * r->desired: surge rounded up, unavailable down, not both 0. */
enum err rollout_limits(struct rollout *r, struct json_object *rolling,
                        struct errinfo *ei) MUST_USE;
/* Steps of the controller; each returns whether it changed a number of replicas. */
bool rollout_grow(struct rollout *r);   /* the new ReplicaSet, up; or down to desired */
bool rollout_shrink(struct rollout *r); /* the old ReplicaSets, down */

/*
 * The status of a Deployment: replica counts and the conditions Available and Progressing, worded
 * and dated as the real controller does, since release tools read them. Pure.
 */
struct depstatus_in {
    struct json_object *deployment; /* as stored; its status is the one before */
    const char *fresh_name;         /* of the ReplicaSet of the present template, NULL: none yet */
    int desired, unavailable;       /* spec.replicas, maxUnavailable as a number */
    int spec_replicas;              /* sum of all ReplicaSets' spec.replicas */
    int replicas, updated, ready, available; /* sums of their status; updated: the new one's */
    bool created;                            /* the new ReplicaSet was made just now */
    struct json_object *fresh_conditions;    /* of the new ReplicaSet, NULL if none */
    int64_t now_ms;
};

/* The whole status, owned by the arena. *recheck_ms: when the deadline must be looked at again, 0:
 * never. */
struct json_object *depstatus_make(struct arena *arena, const struct depstatus_in *in,
                                   int64_t *recheck_ms);

/* The real controllers leave counts of zero out. */
void workload_count(struct json_object *status, const char *key, int64_t count);

#endif

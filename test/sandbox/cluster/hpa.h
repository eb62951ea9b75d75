/*
 * HorizontalPodAutoscalers: keeps a target with replicas between minReplicas and maxReplicas and
 * fills in the status. There are no resource metrics in the sandbox, so nothing scales by load. A
 * target with 0 replicas is left alone, as the real one does.
 */
#ifndef CLUSTER_HPA_H
#define CLUSTER_HPA_H

#include "cluster/context.h"

/* work_fn of one HorizontalPodAutoscaler; arg is the cluster. */
void hpa_sync(void *arg, struct arena *arena, const char *ns, const char *name);

/* The replicas a target with `present` should have. Pure. */
int64_t hpa_wanted(int64_t present, int64_t min, int64_t max);

#endif

/* The DaemonSet controller: one pod on each node that the pod's nodeSelector allows. */
#ifndef CLUSTER_DAEMONSET_H
#define CLUSTER_DAEMONSET_H

#include "cluster/context.h"

/* work_fn of one DaemonSet; arg is the cluster. */
void daemonset_sync(void *arg, struct arena *arena, const char *ns, const char *name);

/*
 * Nodes carry kubernetes.io/hostname, kubernetes.io/os and kubernetes.io/arch. Whether a pod with
 * this nodeSelector (NULL: any) may run there. Pure.
 */
bool daemonset_node_fits(struct json_object *node_selector, const char *node);

#endif

/*
 * What a kubelet does: runs the pods of the store, probes them, restarts what ends, ends what is
 * deleted, and writes their status. See cluster.h for which pods are processes.
 *
 * A readiness probe by HTTP or TCP is done as written; until the first success it is tried several
 * times a second, since people wait for it. A probe by command cannot run here: GET /readyz takes
 * its place. A pod that is being deleted leaves its Services first and gets TERM a moment later, so
 * that no client is sent to it any more.
 */
#ifndef CLUSTER_POD_H
#define CLUSTER_POD_H

#include "cluster/context.h"

struct pods *pods_new(struct cluster *cluster);
void pods_stop(struct pods *pods); /* ends all processes; the objects stay */
void pods_free(struct pods *pods); /* after the loop has ended */

/* work_fn of one pod; arg is the cluster. */
void pods_sync(void *arg, struct arena *arena, const char *ns, const char *name);
/* Appends what the pod has written, see api_pod_log_fn. */
void pods_log(struct pods *pods, const char *ns, const char *name, struct buf *out);

#endif

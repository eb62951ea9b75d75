/* The ReplicaSet controller: as many pods of a template as asked for. */
#ifndef CLUSTER_REPLICASET_H
#define CLUSTER_REPLICASET_H

#include "cluster/context.h"

/* work_fn of one ReplicaSet; arg is the cluster. */
void replicaset_sync(void *arg, struct arena *arena, const char *ns, const char *name);

#endif

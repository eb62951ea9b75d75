/* The deployment controller: ReplicaSets for a Deployment's templates, rolled over as its strategy
 * says. */
#ifndef CLUSTER_DEPLOYMENT_H
#define CLUSTER_DEPLOYMENT_H

#include "cluster/context.h"

/* work_fn of one Deployment; arg is the cluster. */
void deployment_sync(void *arg, struct arena *arena, const char *ns, const char *name);

#endif

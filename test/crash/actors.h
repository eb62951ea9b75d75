/*
 * Who else works in the cluster: the controllers of Deployments and DaemonSets without pods (an
 * image with "stuck" in its tag never gets ready and runs into its deadline, one with "canary-only"
 * does so as the primary), KEDA, and a gateway that takes each HTTPRoute over. All are done at
 * once, or after a while.
 */
#ifndef TORTURE_ACTORS_H
#define TORTURE_ACTORS_H

#include "api/objstore.h"

struct actors;

/* The loop and the store must outlive them. slow_ms: how long workloads take to get ready. */
struct actors *actors_new(struct loop *loop, struct objstore *store, int slow_ms);
void actors_free(struct actors *actors);

#endif

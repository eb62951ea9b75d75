/*
 * Who else works in the cluster, all of them done at once: the controllers of Deployments and
 * DaemonSets without pods (an image with "stuck" in its tag never gets ready and runs into its
 * deadline), and a gateway that takes each HTTPRoute over.
 */
#ifndef KILL_ACTORS_H
#define KILL_ACTORS_H

#include "api/objstore.h"

struct actors;

/* The store must outlive them. */
struct actors *actors_new(struct objstore *store);
void actors_free(struct actors *actors);

#endif

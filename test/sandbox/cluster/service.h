/*
 * Services: gives each an address when it is made, listens there, forwards to its ready pods, and
 * writes Endpoints. A headless Service gets an address too, for the gateway; its
 * name leads to the pods themselves.
 */
#ifndef CLUSTER_SERVICE_H
#define CLUSTER_SERVICE_H

#include "cluster/context.h"

struct services *
services_new(struct cluster *cluster);         /* also hooks into the admission of Services */
void services_stop(struct services *services); /* stops listening, resets connections */
void services_free(struct services *services);

/* work_fn of one Service; arg is the cluster. */
void services_sync(void *arg, struct arena *arena, const char *ns, const char *name);
/* work_fn without object: writes the hosts file. */
void services_write_hosts(void *arg, struct arena *arena, const char *ns, const char *name);
/* Queues every Service of a namespace: a pod there has changed. */
void services_touch(struct cluster *cluster, const char *ns);
/* Where a Service listens; NULL when there is no such Service (yet). Borrowed. */
const char *services_address(const struct services *services, const char *ns, const char *name);

#endif

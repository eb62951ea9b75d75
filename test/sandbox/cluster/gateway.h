/*
 * The L7 gateway: HAProxy as a supervised child, made to do what the HTTPRoutes say.
 *
 * Changes are applied one after the other: weights over the stats socket, everything else by a
 * reload that hands the listening sockets over, so that no request is dropped. The status of the
 * routes is written when the change is live. A proxy that ends in any way is started again at once
 * with the present configuration.
 */
#ifndef CLUSTER_GATEWAY_H
#define CLUSTER_GATEWAY_H

#include "base/buf.h"
#include "cluster/context.h"

/* ERR_DENIED when port 80 may not be bound and no other port is given. */
enum err gateway_new(struct cluster *cluster, struct gateway **out, struct errinfo *ei) MUST_USE;
void gateway_stop(struct gateway *gateway);
void gateway_free(struct gateway *gateway); /* after the loop has ended */

/* work_fn without object: something about routes or their Services has changed; arg is the cluster.
 */
void gateway_sync(void *arg, struct arena *arena, const char *ns, const char *name);
/* Hosts lines: gateway.NS in every namespace without a Service of that name, and each Gateway
 * object. */
void gateway_add_names(struct cluster *cluster, struct arena *arena, struct buf *text);
const char *gateway_address(const struct gateway *gateway); /* "" when port 80 is not served */
bool gateway_live(const struct gateway *gateway);

#endif

/*
 * A pretend gateway controller: every HTTPRoute is accepted by each of its parents, with the
 * generation that was seen. No traffic is routed.
 */
#ifndef REAL_ROUTES_H
#define REAL_ROUTES_H

#include "kube/watch.h"

struct routes;

struct routes *routes_new(struct loop *loop, struct kube_client *kube);
void routes_stop(struct routes *routes); /* before the client is freed */
void routes_free(struct routes *routes);

#endif

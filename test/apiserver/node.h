/*
 * A pretend node: it takes every pod that has none, says that its containers run and are ready, and
 * lets it go at once when it is deleted. No container is ever started.
 *
 * A pod gets ready after the initialDelaySeconds of its readiness probe. It never does when its
 * image's tag says that it crashes (demo-app:2.0.0-crash), and it stops being ready while the
 * annotation test.flagger.app/ready is "false". Pods that cannot be told apart from real ones by
 * any client of the API server.
 */
#ifndef APISERVER_NODE_H
#define APISERVER_NODE_H

#include "kube/watch.h"

#define NODE_NAME "pretend"

struct node;

/* Makes the Node object and keeps it fresh until node_stop(). */
struct node *node_new(struct loop *loop, struct kube_client *kube);
void node_stop(struct node *node); /* before the client is freed */
void node_free(struct node *node);

#endif

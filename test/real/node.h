/*
 * Two pretend nodes: they take every pod that has none, in turn or as the affinity of a DaemonSet's
 * pod says, tell that its containers run and are ready, and let it go at once when it is deleted.
 * No container is started; with a program to serve with, every pod has a process of it at its
 * address (real/podserve.h), is ready once that listens, and keeps it for the time that a deleted pod
 * has to end.
 *
 * A pod gets ready after the initialDelaySeconds of its readiness probe. It never does when its
 * image's tag says that it crashes (demo-app:2.0.0-crash), and it stops being ready while the
 * annotation test.flagger.app/ready is "false".
 */
#ifndef REAL_NODE_H
#define REAL_NODE_H

#include "kube/watch.h"

struct node;

/* Makes the Node objects and keeps them fresh until node_stop(). serve is the program of pods, kept;
 * NULL: they have none. */
struct node *node_new(struct loop *loop, struct kube_client *kube, const char *serve);
void node_stop(struct node *node); /* before the client is freed */
void node_free(struct node *node);

#endif

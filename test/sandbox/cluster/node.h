/* The nodes of the cluster, sandbox-0 and so on: a name and a mark that no more pods are wanted there. */
#ifndef CLUSTER_NODE_H
#define CLUSTER_NODE_H

#include "cluster/context.h"

/* Puts the objects into the store. */
void nodes_make(struct cluster *cluster);
int nodes_count(const struct cluster *cluster);
/* "sandbox-INDEX"; owned by the arena. */
const char *node_name(struct arena *arena, size_t index);
/* The turn-th node of those that take pods, in turn; NULL: none does (kubectl cordon). */
const char *node_in_turn(struct cluster *cluster, struct arena *arena, size_t turn);

#endif

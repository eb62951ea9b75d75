/* What ReplicaSets and DaemonSets share: their pods, counted and made from a template. */
#ifndef CLUSTER_PODSET_H
#define CLUSTER_PODSET_H

#include "cluster/context.h"

struct podset {
    struct json_object *
        *pods; /* of the owner, neither ended nor being deleted; owned by the arena */
    size_t count;
    size_t ready;
    size_t available; /* ready for min_ready_s */
    int64_t next_ms;  /* when one more gets available by time alone, 0: none waits */
};

void podset_list(struct cluster *cluster, struct arena *arena, const char *ns,
                 const char *owner_uid, int64_t min_ready_s, struct podset *out);
bool podset_ready(struct json_object *pod);
/* Makes a pod of the owner's spec.template; hash_label NULL: none is added. */
bool podset_create(struct cluster *cluster, struct arena *arena, struct json_object *owner,
                   const char *owner_kind, const char *node, const char *hash_label,
                   const char *hash);
/* Sorts the pods so that those to delete first stand first: not ready ones, then the newest. */
void podset_order(struct podset *set);
/* "sandbox-0"; index below the number of nodes. Owned by the arena. */
const char *podset_node(struct arena *arena, int index);

#endif

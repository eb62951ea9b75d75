/* The pretended cluster: objects as they were, as plans have left them, and as its controllers would
 * keep them. */
#ifndef REHEARSE_CLUSTER_H
#define REHEARSE_CLUSTER_H

#include "observe/copies.h"
#include "rehearse/rehearse.h"

struct cluster {
    struct arena *arena;
    const struct rehearse_source *source;
    struct copies copies;
    struct json_object *assumed; /* names of what was made up */
};

/* What the tick's rules ask for of objects. */
void cluster_answer(struct cluster *cluster, struct tick *tick, const struct need *need);
/* Its controllers catch up with what was written: pods are ready, addresses are given. */
void cluster_settle(struct cluster *cluster, const struct canary *canary);
/* Somebody releases a new revision of the target. */
void cluster_push(struct cluster *cluster, const struct canary *canary);

#endif

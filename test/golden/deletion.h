/* Canaries that are deleted in a simulated cluster. */
#ifndef GOLDEN_DELETION_H
#define GOLDEN_DELETION_H

#include "world.h"

enum { DELETION_TICKS = 40, DELETION_STEP_MS = 60000 };

/* A release, in the middle of which its Canary is deleted. */
struct story {
    const char *name;
    const char *canary;  /* patch of the Canary */
    const char *image;   /* the new revision, NULL: deleted while it is initialised */
    const char *metrics; /* what the metrics say */
    const char *closed;  /* gates */
    bool bare;           /* the kubernetes provider: no route */
};
extern const struct story deletion_stories[];
extern const size_t deletion_n_stories;
/* The story up to just before write number `until` (-1: to its end), and *writes is how many it
 * had.
 */
struct world *deletion_begin(const struct story *story, int until, int *writes);

/* spec.replicas of a Deployment; -1: it says nothing, or is not there. */
int64_t deletion_replicas(struct world *w, const char *deployment);
/* What the apex Service selects. */
const char *deletion_apex(struct world *w);
/* One step of time: a tick, then whatever the cluster does. */
void deletion_step(struct world *w);
/* Until the Canary is gone. Fails the test when it stays. */
void deletion_run(struct world *w);
/* It is, the target has pods, the apex Service and the route (if `routed`) lead to it, and nothing
 * is left that refers to the Canary or to what went with it. */
void deletion_check(struct world *w, bool routed);

#endif

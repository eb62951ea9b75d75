/* Canaries that are deleted in a simulated cluster. */
#ifndef GOLDEN_DELETION_H
#define GOLDEN_DELETION_H

#include "story.h"

enum { DELETION_TICKS = 40, DELETION_STEP_MS = 60000 };

/* The story up to just before write number `until` (-1: to its end), and *writes is how many it
 * had.
 */
struct world *deletion_begin(const struct story *story, int until, int *writes);

/* One more Deployment, as the target is but for its name and its label. */
void deletion_add_target(struct world *w, const char *name);
/* spec.replicas of a Deployment; -1: it says nothing, or is not there. */
int64_t deletion_replicas(struct world *w, const char *deployment);
/* What the apex Service selects. */
const char *deletion_apex(struct world *w);
/* Until the Canary is gone. Fails the test when it stays. */
void deletion_run(struct world *w);
/* It is, the target has pods, the apex Service and the route (if `routed`) lead to it, and nothing
 * is left that refers to the Canary or to what went with it. */
void deletion_check(struct world *w, bool routed);

/* The Canary is gone, and another one is there: with its spec but for the patch, and uid c-NAME. */
void deletion_succeed(struct world *w, const char *name, const char *patch);
/* The other one, "web", has come to rest after a release: it owns all that the first one owned, and
 * the primary serves. */
void deletion_check_heir(struct world *w);

#endif

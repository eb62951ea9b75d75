/* An API server that refuses writes for good: `refuse: services/podinfo-canary` of a case. */
#ifndef GOLDEN_WORLD_REFUSE_H
#define GOLDEN_WORLD_REFUSE_H

#include "world.h"

/* What the engine would tell the rules of it: what was refused a moment ago, once. */
void world_refusal_show(struct world *world, struct tick *tick);
/* The effect is refused: the plan ends before it. */
bool world_refuses(struct world *world, const struct effect *effect);
/* The plan has ended. */
void world_refusal_end(struct world *world, const struct plan *plan);

#endif

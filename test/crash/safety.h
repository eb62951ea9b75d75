/* What must hold in every moment of a release, whoever died when. */
#ifndef TORTURE_SAFETY_H
#define TORTURE_SAFETY_H

#include "api/objstore.h"

/*
 * NULL, or a sentence: the route sends traffic to a Service whose workload has no pod that is
 * ready, or its weights do not add up to 100. Owned by the arena.
 */
const char *safety_breach(struct arena *arena, struct objstore *store);

#endif

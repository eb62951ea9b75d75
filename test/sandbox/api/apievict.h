/*
 * The subresource `eviction` of pods, by which nodes are drained: the pod is deleted, unless a
 * PodDisruptionBudget of its namespace would be broken by it.
 */
#ifndef SANDBOX_APIEVICT_H
#define SANDBOX_APIEVICT_H

#include "api/rest.h"

/* Answers POST .../pods/NAME/eviction: 201, or 429 with the budget that does not allow it now. */
void apievict(struct restreq *req);

#endif

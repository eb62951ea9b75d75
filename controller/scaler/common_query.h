/* A scaler's query about the target, as one about its primary. */
#ifndef SCALER_COMMON_QUERY_H
#define SCALER_COMMON_QUERY_H

#include "base/arena.h"

/*
 * `query` with the workload's name, and the name with "-canary", replaced by "NAME-primary" where
 * it stands as a name: not within another word (mypodinfo, podinfo-backend), not where it says
 * primary already, and outside quotes not as a part of an identifier (podinfo_requests_total),
 * which could not have a "-" in it. A name that a pattern goes on (podinfo-.*) is one.
 */
const char *query_for_primary(struct arena *arena, const char *query, const char *name);

#endif

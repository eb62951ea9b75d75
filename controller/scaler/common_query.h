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

/*
 * A label selector ("app=podinfo,tier in (a, b)") that picks pods of the target by a label picks those
 * of the primary: where it names `key`, the value `from` becomes `to`.
 */
const char *selector_for_primary(struct arena *arena, const char *selector, const char *key,
                                 const char *from, const char *to);

#endif

/* Rewrites a scaler's query about the target into one about its primary. */
#ifndef SCALER_SHARED_QUERY_H
#define SCALER_SHARED_QUERY_H

#include "base/arena.h"

/*
 * `query` with the workload's name, also with "-canary", replaced by "NAME-primary" where it is a
 * name: not inside another word (mypodinfo, podinfo-backend), not before "-primary", and outside
 * quotes not as part of an identifier (podinfo_requests_total), which cannot contain a "-". A name
 * followed by a pattern (podinfo-.*) counts.
 */
const char *query_for_primary(struct arena *arena, const char *query, const char *name);

/*
 * A label selector ("app=podinfo,tier in (a, b)") for pods of the target as one for pods of the
 * primary: for `key`, the value `from` becomes `to`.
 */
const char *selector_for_primary(struct arena *arena, const char *selector, const char *key,
                                 const char *from, const char *to);

#endif

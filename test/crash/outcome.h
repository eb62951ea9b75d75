/* Where a release has ended, as text: equal texts are equal clusters. */
#ifndef TORTURE_OUTCOME_H
#define TORTURE_OUTCOME_H

#include "api/objstore.h"

/*
 * All objects of namespace test, Events, Leases and ServiceAccounts apart: one line each, "Kind
 * name {...}", in order. Left out is what differs between two releases of the same kind: versions,
 * uids, times, who wrote a field, and the URLs of webhooks. Owned by the arena.
 */
const char *outcome_text(struct arena *arena, struct objstore *store);
/* The lines that only one of the texts has, marked "-" (only in was) and "+" (only in is). */
const char *outcome_difference(struct arena *arena, const char *was, const char *is);

#endif

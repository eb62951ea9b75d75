/*
 * Where two answers of API servers differ. What differs by nature is first made the same: uids,
 * versions, times, addresses, random names and continue tokens. Pure.
 */
#ifndef REAL_DIFFERENCE_H
#define REAL_DIFFERENCE_H

#include "base/json.h"

/* A copy of the answer with the words for what differs by nature; owned by the arena. */
struct json_object *difference_plain(struct arena *arena, struct json_object *answer);

/* Calls fn for each place where the trees differ, by its path ("items[0].metadata.name"; "" is the
 * whole), with both sides as JSON text or "(missing)". Returns their number. */
typedef void (*difference_fn)(void *arg, const char *path, const char *one, const char *other);
size_t difference_find(struct arena *arena, struct json_object *one, struct json_object *other,
                       difference_fn fn, void *arg);

#endif

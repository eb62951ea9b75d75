/*
 * What must hold of the releases of a namespace at every revision of it: the rules owner, capacity,
 * number, gate, told and health of history.h. The invariants are those of the random user; here
 * they are asked in the order of the store, so that nothing has to be excused as late.
 */
#ifndef REAL_RELEASES_H
#define REAL_RELEASES_H

#include "base/json.h"

struct releases;

/* fn is called for each violation, with the rule's name and a sentence. */
struct releases *releases_new(struct arena *arena,
                              void (*fn)(void *arg, const char *rule, const char *sentence),
                              void *arg);
/* An object as it is from now on; gone: it is no longer there. A kind that no rule asks for is left
 * out. Times do not go back. */
void releases_see(struct releases *releases, const char *kind, struct json_object *object,
                  bool gone, int64_t now_ms);
void releases_free(struct releases *releases);

#endif

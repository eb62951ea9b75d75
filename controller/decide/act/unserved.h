/* Objects that cannot be written, for the API server does not serve their resource. */
#ifndef DECIDE_UNSERVED_H
#define DECIDE_UNSERVED_H

#include "decide/release/release.h"

/*
 * The rules are done. If their plan creates an object whose resource is not served, only the writes
 * before that one stay of it, and the condition ResourcesServed=False says what is missing.
 */
void unserved_hold(struct release *r);
/* Nothing waits for such objects: they are taken out of the plan, and the rest of it stays. For a
 * deletion: who serves no routes routes nobody. */
void unserved_forgo(struct release *r);
/* All that the rules wanted to be there is there. */
void unserved_clear(struct release *r);

#endif

/* Our finalizer on the Canary: a deletion waits until it goes (revert.c). */
#ifndef DECIDE_FINALIZER_H
#define DECIDE_FINALIZER_H

#include "decide/release/release.h"

#define FINALIZER "finalizer.flagger.app"

bool finalizer_is_set(struct json_object *canary);
/* Plans to set or to remove it. */
void finalizer_plan(struct tick *tick, struct json_object *canary, bool wanted);
/* ... as a Canary needs it that is not being deleted; nothing when it is so already. */
void finalizer_keep(struct release *r);

#endif

/* Whether the mesh has taken over the routes. */
#ifndef DECIDE_SETTLED_H
#define DECIDE_SETTLED_H

#include "decide/release/release.h"

/* GO: it has. STOP: it has not; that is told when a step is due, once, and the condition
 * RoutesSettled says so until it has. */
enum verdict settled_or_hold(struct release *r);

#endif

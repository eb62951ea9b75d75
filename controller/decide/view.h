/* What the rules are given of a Canary; decide.h has what others use of it. */
#ifndef DECIDE_VIEW_H
#define DECIDE_VIEW_H

#include "proto/canary.h"

/* The spec that was accepted before the one that is refused, with everything else as it is live.
 * False: none is known that can be read. */
bool view_accepted(struct arena *arena, struct json_object *object, struct canary *out);

#endif

/* Times at which releases may begin (spec.pushes): windows of time, and a number per day. */
#ifndef DECIDE_PUSHES_H
#define DECIDE_PUSHES_H

#include "decide/release.h"

/* True if the target's revision may not begin now: the condition Scheduled and an event name the
 * time when it may. The tick is repeated at that time. */
bool pushes_hold(struct release *r);
/* A release of the revision begins with this status, and counts for the day. */
void pushes_count(struct release *r);

#endif

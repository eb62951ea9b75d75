/* When releases begin (spec.pushes): windows of time, and a number in a day. */
#ifndef DECIDE_PUSHES_H
#define DECIDE_PUSHES_H

#include "decide/release.h"

/* True if the target's revision may not begin now: the condition Scheduled, and an event, say until when.
 * The tick is repeated then. */
bool pushes_hold(struct release *r);
/* A release of it begins with this status, and counts for the day. */
void pushes_count(struct release *r);

#endif

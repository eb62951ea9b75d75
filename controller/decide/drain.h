/* A target that has lost its traffic keeps its pods for a pause. */
#ifndef DECIDE_DRAIN_H
#define DECIDE_DRAIN_H

#include "decide/release.h"

/* The target has no traffic from now on. CONTINUE or NEEDS_FACTS. */
enum rule_result drain_begin(struct release *r);
/*
 * Scales the target without traffic to zero: now if the pause is over, else the pause begins or
 * continues (CONTINUE as well).
 */
enum rule_result drain_target(struct release *r);
/* Milliseconds left of the interval running at the start of this tick; 0 if none. */
int64_t drain_left_ms(struct release *r);
/*
 * Without a release: reports pods of the target that serve nothing, once. They are left alone: a
 * person or another autoscaler has started them.
 */
void drain_tell_idle(struct release *r);
bool drain_is_under_way(struct release *r); /* as of the beginning of the tick */

#endif

/* A target that has lost its traffic keeps its pods for a pause. */
#ifndef DECIDE_DRAIN_H
#define DECIDE_DRAIN_H

#include "decide/release/release.h"

/* The target has no traffic from now on. GO or NEED_FACTS. */
enum verdict drain_begin(struct release *r);
/* The target, which has no traffic, goes to zero: now where the pause is over, else it begins or
 * goes on (GO as well). */
enum verdict drain_target(struct release *r);
/* The pause goes on, and its end is for somebody else: the condition says what it waits for. GO or
 * NEED_FACTS. */
enum verdict drain_note(struct release *r);
/* What is left of the interval that counts when this tick began, in ms; 0: none counts. */
int64_t drain_left_ms(struct release *r);
/* Nothing is under way: pods of the target that serve nothing are told, once. They are left alone:
 * a person, or an autoscaler of others, has put them there. */
void drain_tell_idle(struct release *r);
bool drain_is_under_way(struct release *r); /* the Canary came with it */

#endif

/*
 * A release that neither moves nor waits: a step was due, no rule made one, counted a failed check
 * or said what it waits for. That is a fault, of a rule or of a mesh that takes a route and shows
 * another, and users would stay on a canary that nothing checks. The condition Advancing=False
 * remembers since when, and at the progress deadline an analysis is rolled back.
 */
#ifndef DECIDE_STALL_H
#define DECIDE_STALL_H

#include "decide/release/release.h"

/* After all other rules of a tick that has not left: sets or clears the condition. */
void stall_note(struct release *r);
/* An analysis that has stalled for longer than the deadline, as stall_note() has found: rolls back. */
enum verdict stall_expire(struct release *r);

#endif

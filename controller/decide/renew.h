/* Recreation of a primary, by request, when its selector has fewer labels than the target's. */
#ifndef DECIDE_RENEW_H
#define DECIDE_RENEW_H

#include "decide/release.h"

/* Why that is impossible now, one sentence; NULL if it is possible. */
const char *renew_refusal(struct release *r);
/* Begins with the next tick. */
void renew_begin(struct release *r);
/* The next action. DONE: under way, and nothing else is done. */
enum rule_result renew_go_on(struct release *r);
/* The name of the workload that replaces the primary meanwhile. */
const char *renew_second(struct release *r);
/*
 * True if the primary's selector has fewer labels than one created now. The target must have a
 * selector label.
 */
bool renew_is_narrow(struct release *r);

#endif

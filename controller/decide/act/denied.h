/* What the API server does not let the controller read or write. */
#ifndef DECIDE_DENIED_H
#define DECIDE_DENIED_H

#include "decide/release/release.h"

/*
 * The rules are done. Where something was denied (struct tick), nothing of their plan is carried out:
 * the condition ResourcesAllowed=False says what may not be done to which resource, and by whom, and
 * the plan is held. Otherwise the condition goes, with the status that is written behind the writes.
 */
void denied_hold(struct release *r);

#endif

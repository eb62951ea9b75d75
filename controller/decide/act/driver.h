/*
 * Which of several controllers drives a Canary, where their parts of the cluster overlap
 * (decide/RULES.md §1.3). The status names the lease of the one that does. Its name goes there with
 * the first status that it writes, or ahead of the first effect on anything else; since a status
 * write says which version of the Canary it is about, only one of two that begin at once succeeds,
 * and the other finds its name there before it has done anything.
 */
#ifndef DECIDE_DRIVER_H
#define DECIDE_DRIVER_H

#include "tick/tick.h"

/* Another controller drives it, or may: no rule is asked, and the plan is complete. */
bool driver_leaves(struct tick *tick);

/* Facts are missing. True: a webhook is among them, and before it is asked the name must be
 * written: the plan does that and nothing else. */
bool driver_claims_first(struct tick *tick);

/* The plan is in order: the name goes in where it is missing. One that takes over from another
 * controller does only that. */
void driver_claim(struct tick *tick);

#endif

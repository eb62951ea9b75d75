/*
 * That every run ends: from each state, with a world that from now on stays as it is (all is well,
 * or the metrics stay bad, ...), the ticks come to rest where they should; and a tick that was cut
 * off leads to the same end as one that was not.
 */
#ifndef EXPLORE_ENDS_H
#define EXPLORE_ENDS_H

#include "search.h"

/* From every state of a search that ran through. False: see search->violation. */
bool ends_check(struct search *search);
/* The state in which a Canary comes to rest when all is well, e.g. initialised. */
struct state ends_follow(struct model *model, struct state state);

#endif

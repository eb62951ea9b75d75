/*
 * That every run ends: from each state, with a world that from now on stays as it is (all is well,
 * or the metrics stay bad, ...), the ticks come to rest where they should; and a tick that was cut
 * off leads to the same end as one that was not.
 */
#ifndef MODEL_ENDS_H
#define MODEL_ENDS_H

#include "search.h"

/* From every state of a search that ran through. False: see search->violation. */
bool ends_check(struct search *search);
/* Goes on until the Canary comes to rest when all is well, e.g. initialised. False: it does not,
 * see search->violation. */
bool ends_follow(struct search *search, struct state *state);

#endif

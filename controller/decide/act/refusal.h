/* A spec that is refused: the condition Accepted=False says why, and since when. */
#ifndef DECIDE_REFUSAL_H
#define DECIDE_REFUSAL_H

#include "decide/release/release.h"

/* False: the condition says this sentence already. */
bool refusal_set(struct release *r, const char *sentence);
void refusal_clear(struct release *r);
/* A release that cannot go on comes to an end: it is rolled back when its spec has been refused for
 * as long as the progress deadline. GO: that is not over yet. */
enum verdict refusal_expire(struct release *r);

#endif

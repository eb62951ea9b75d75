/* A target that is gone. */
#ifndef DECIDE_LOST_H
#define DECIDE_LOST_H

#include "decide/release/release.h"

/* There is nothing to release (r->info.unusable says why): what is under way comes to an end. STOP
 * or NEED_FACTS. */
enum verdict lost_target(struct release *r);
/* There is. */
void lost_clear(struct release *r);

#endif

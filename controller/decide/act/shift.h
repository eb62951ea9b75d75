/* The traffic of a canary that was promoted goes to the primary. */
#ifndef DECIDE_SHIFT_H
#define DECIDE_SHIFT_H

#include "decide/release/release.h"

/* One step; the last one enters Finalising. STOP or NEED_FACTS. */
enum verdict shift_traffic(struct release *r);
/* All traffic is on the primary: the target begins or ends its pause, and the release has
 * succeeded. STOP or NEED_FACTS. */
enum verdict shift_end(struct release *r);

#endif

/* Whether a side is fit to serve. */
#ifndef DECIDE_GUARD_H
#define DECIDE_GUARD_H

#include "decide/release/release.h"

/* GO: this side is ready. STOP: it is waited for; or it never gets ready, and that ends the
 * analysis or the promotion. */
enum verdict guard_ready(struct release *r, enum side side);

#endif

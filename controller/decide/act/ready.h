/* Whether a side is fit to serve. */
#ifndef DECIDE_READY_H
#define DECIDE_READY_H

#include "decide/release/release.h"

/* GO: this side is ready. STOP: it is waited for; or it never gets ready, and that ends the
 * analysis or the promotion. */
enum verdict ready_or_end(struct release *r, enum side side);

#endif

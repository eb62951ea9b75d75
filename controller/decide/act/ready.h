/* Whether a side is fit to serve. */
#ifndef DECIDE_READY_H
#define DECIDE_READY_H

#include "decide/release/release.h"

/* GO: this side is ready. STOP: it is waited for; or it never gets ready, and that ends the
 * analysis or the promotion. */
enum verdict ready_or_end(struct release *r, enum side side);
/* The same where there is nothing to end: one that never gets ready is told once, and the condition
 * says so until it is. */
enum verdict ready_or_hold(struct release *r, enum side side);

#endif

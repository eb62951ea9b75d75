/* Promotion: the primary gets the canary's revision. */
#ifndef DECIDE_PROMOTE_H
#define DECIDE_PROMOTE_H

#include "decide/release.h"

/* Enters Promoting; promote_copy() then writes until the primary is complete. */
enum rule_result promote_begin(struct release *r);
/*
 * Progress of an interrupted promotion when the target has changed meanwhile. CONTINUE with
 * CARRIED_ALL also if none was interrupted.
 */
enum rule_result promote_carried(struct release *r, enum carried *out);
/* Leaves the primary in the state of a promotion that cannot be finished: the next revision is the
 * way out. */
void promote_give_up(struct release *r);
/*
 * True if no promotion is under way, or nothing of it is on the primary yet, so that it can be
 * taken back.
 */
enum rule_result promote_is_untouched(struct release *r, bool *out);
/* How much of the revision in the status is on the primary (which must exist). */
enum rule_result promote_progress(struct release *r, enum carried *out);
/* True if the promotion has begun and is not known to be complete. */
bool promote_is_being_written(const struct release *r);
/* True if the target has exactly the analysed revision, and not just the one promoted before. */
bool promote_is_of_analysed(const struct release *r);

/* Shifting the traffic of a promoted canary to the primary. */

/*
 * Called when all traffic is on the primary: the target begins or ends its pause, and the release
 * succeeds. DONE or NEEDS_FACTS.
 */
enum rule_result shift_end(struct release *r);

#endif

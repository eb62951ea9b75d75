/*
 * Adopting a Canary that another version of Flagger, or another controller, has driven, or that had
 * other names.
 */
#ifndef DECIDE_TAKEOVER_H
#define DECIDE_TAKEOVER_H

#include "decide/release.h"
#include "tick/tick.h"

/* The hash of the revision that the primary (which must exist) runs; "" if unknown. */
const char *takeover_primary_hash(struct release *r);
/* Records the names of Service and provider; reports a change. */
void takeover_note_names(struct release *r);

/*
 * Which of several controllers drives a Canary when their parts of the cluster overlap
 * (decide/RULES.md). The status names its lease. The name is written with the first status,
 * or before the first effect on any other object; since a status write tests the version of the
 * Canary, only one of two controllers that begin at once succeeds, and the other finds that name
 * before it has done anything.
 */

/* True if another controller drives the Canary, or may drive it: no rule runs, and the plan is
 * complete. */
bool driver_leaves(struct tick *tick);

/*
 * Called when facts are missing. True if a webhook is among them: our name must be written first,
 * and the plan does only that.
 */
bool driver_claims_first(struct tick *tick);

/*
 * Called after the plan is ordered: adds the name if it is missing. Replacing another controller is
 * a plan of its own.
 */
void driver_claim(struct tick *tick);

#endif

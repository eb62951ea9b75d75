/* Edits of the target, the Services and the routes of a Canary. */
#ifndef DECIDE_MOVE_H
#define DECIDE_MOVE_H

#include "decide/release.h"

/*
 * Why an edit cannot be followed now; NULL if it can. Target and port are checked once the kind is
 * known to be served. NEEDS_FACTS or CONTINUE.
 */
const char *move_refusal(struct release *r);
bool move_has_begun(const struct release *r); /* to another target than the accepted one */
/*
 * True if Services or routes were made under other names, or in another way, than the spec now
 * says.
 */
bool move_is_pending(const struct release *r);
enum rule_result move_refusal_of_target(struct release *r, const char **sentence);

/* Facts about a release that the status lacks, read from the cluster. */

/*
 * For a status without an accepted spec. CONTINUE: from here on it has one, if the cluster reveals
 * it; or NEEDS_FACTS.
 */
enum rule_result former_recall(struct release *r);
/* Other changes: nothing leads to the former target, or to its Services. */
enum former { FORMER_SAME, FORMER_TARGET, FORMER_SERVICE };

#endif

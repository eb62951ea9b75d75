/* Rollback: all traffic returns to the primary. */
#ifndef DECIDE_ROLLBACK_H
#define DECIDE_ROLLBACK_H

#include "decide/release.h"

/*
 * Routes all traffic to the primary, once it can carry it. CONTINUE: done; or the canary keeps its
 * share, because no pod would answer on the primary (*kept). DONE: waits for the primary, for
 * `reason` (capacity.h).
 */
enum rule_result rollback_to_primary(struct release *r, const char *reason, bool *kept);
/*
 * Ends the analysis by a rollback (RULES.md), or takes its next step. consume: this revision is not
 * tried again, although its analysis has not begun.
 */
enum rule_result rollback_run(struct release *r, bool consume);
/* True while a rollback moves the traffic by the steps of spec.analysis.rollback. */
bool rollback_is_in_steps(const struct release *r);
/* Ends a promotion that has failed (RULES.md). */
enum rule_result rollback_failed_promotion(struct release *r, const char *why);

/* Readiness of a side. */

/* CONTINUE: ready. DONE: waits for it; or it never gets ready, which ends the analysis or the
 * promotion. */
enum rule_result ready_or_end(struct release *r, enum side side);
/*
 * The same if there is nothing to end: a side that never gets ready is reported once, and the
 * condition stands until it is.
 */
enum rule_result ready_or_hold(struct release *r, enum side side);

/* A refused spec: the condition Accepted=False says why, and since when. */

/* False if the condition has this message already. */
bool refusal_set(struct release *r, const char *sentence);
void refusal_clear(struct release *r);
/*
 * Rolls back a release if its spec has been refused for longer than the progress deadline.
 * CONTINUE: not yet.
 */
enum rule_result refusal_expire(struct release *r);

#endif

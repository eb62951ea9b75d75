/* The return of the traffic to the primary, at once or in steps, and the rollback. */
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
 * Ends the analysis by a rollback (RULES.md), or takes its next step. consume: the revision is not
 * tried again, although its analysis has not begun.
 */
enum rule_result rollback_run(struct release *r, bool consume);
/* True while a rollback moves the traffic by the steps of spec.analysis.rollback. */
bool rollback_is_in_steps(const struct release *r);
/* Ends a failed promotion (RULES.md). */
enum rule_result rollback_failed_promotion(struct release *r, const char *why);

/* Steps in which traffic moves to the primary, in a promotion and in a rollback. */

struct shift {
    const struct canary_return *way;
    const char *field;  /* of the status: the running step, its `weight` and `since` */
    int64_t default_ms; /* duration of a step without `for` */
};
/*
 * False if all traffic moves at once whatever the spec says: the canary is not ready, or no longer
 * has the analysed revision, or its requests are not a share of all requests.
 */
bool shift_may_be_slow(struct release *r);
/* The canary's share after `left`; 0 after the last step. Hundredths of a percent. */
int shift_next(const struct shift *shift, int left);
/* Records that the step with this share of the primary begins. */
void shift_note(struct release *r, const struct shift *shift, int primary);
/*
 * Milliseconds that remain of the step with this share of the primary. A step that the status does
 * not record, as after an edit, starts over.
 */
int64_t shift_left_ms(struct release *r, const struct shift *shift, int primary);

/* Readiness of a side. */

/* CONTINUE: ready. DONE: waits for the side; or the side never gets ready, which ends the analysis
 * or the promotion. */
enum rule_result ready_or_end(struct release *r, enum side side);
/*
 * The same when there is nothing to end: a side that never gets ready is reported once, and the
 * condition remains until the side is ready.
 */
enum rule_result ready_or_hold(struct release *r, enum side side);

/* A refused spec: the condition Accepted=False has the reason and the time of the refusal. */

/* False if the condition already has this message. */
bool refusal_set(struct release *r, const char *sentence);
void refusal_clear(struct release *r);
/*
 * Rolls back a release if its spec has been refused for longer than the progress deadline.
 * CONTINUE: it has not.
 */
enum rule_result refusal_expire(struct release *r);

#endif

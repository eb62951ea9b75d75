/* Webhooks at which a release waits, or is rolled back. */
#ifndef DECIDE_GATES_H
#define DECIDE_GATES_H

#include "decide/release.h"

/*
 * DONE: a hook of the gate is closed, which is reported once; or its deadline has ended the
 * release.
 */
enum rule_result gates_confirm_rollout(struct release *r);
enum rule_result gates_confirm_traffic_increase(struct release *r);
/*
 * While the start is delayed for another reason: asks the first gate once its deadline is over,
 * and ends the release unless it is open.
 */
enum rule_result gates_start_overdue(struct release *r);
enum rule_result gates_confirm_promotion(struct release *r);
/* CONTINUE: no hook asks for a rollback. DONE: one does, and it was reported. */
enum rule_result gates_rollback(struct release *r);

#endif

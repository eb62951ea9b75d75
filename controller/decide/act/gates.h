/* Webhooks at which a release waits, or is rolled back. */
#ifndef DECIDE_GATES_H
#define DECIDE_GATES_H

#include "decide/release/release.h"

/* STOP: one of the gate's hooks is closed, which was told once; or its deadline has ended the
 * release. */
enum verdict gates_confirm_rollout(struct release *r);
enum verdict gates_confirm_traffic_increase(struct release *r);
/* While something else keeps a release from its beginning: its first gate is asked when its
 * deadline is over, and ends the release unless it is open. */
enum verdict gates_start_overdue(struct release *r);
enum verdict gates_confirm_promotion(struct release *r);
/* GO: nobody asks for a rollback. STOP: somebody does, and it was told. */
enum verdict gates_rollback(struct release *r);

#endif

/* Capacity of the primary for the traffic that it gets. */
#ifndef DECIDE_CAPACITY_H
#define DECIDE_CAPACITY_H

#include "decide/release.h"

/* Why all traffic returns to the primary: reasons of the condition PrimaryScaled. */
#define CAPACITY_ROLLBACK  "RollingBack"
#define CAPACITY_RESTART   "Restarting"
#define CAPACITY_BEGIN     "Beginning"
#define CAPACITY_PROMOTION "Promoting"
#define CAPACITY_RETURN    "PrimaryReady"
#define CAPACITY_START     "Starting" /* no traffic: a primary at zero is needed for comparison */
/* CONTINUE: the primary can carry all traffic, as far as waiting is worthwhile. DONE: it waits. */
enum rule_result capacity_wait(struct release *r, const char *reason);
/* True if it waits for this reason; reason NULL: for any. */
bool capacity_waits(struct release *r, const char *reason);
/* True if it waits for CAPACITY_BEGIN with this revision. */
bool capacity_waits_to_begin(struct release *r);
/* True if the primary has a scaler: a copy of the one that the Canary names, or another one. */
bool capacity_is_scaled(const struct release *r);
/* The pods needed for all traffic. */
int64_t capacity_total(struct release *r);
/* The scaler of the target, whether the Canary names it or not; its object is NULL if there is
 * none. */
enum rule_result capacity_target_scaler(struct release *r, struct own_scaler *out);
/* The replicas requested for the primary; 0 if none. */
int capacity_asked(struct release *r);
/* The minimum for the primary's scaler; 0 if none. */
int capacity_floor(struct release *r);
/* Plans the replicas that the primary needs now. */
void capacity_raise(struct release *r);
/*
 * Before a release: starts a primary that its scaler keeps at zero, unless it is ready. DONE:
 * reports the start now. CONTINUE: it was reported before, or the primary needs no start.
 */
enum rule_result capacity_start(struct release *r, bool ready);
/* True if no pod answers on the primary, and one does on the canary. */
bool capacity_is_empty(struct release *r);
/* Removes the floor when nothing waits for it, or the primary has had time to settle. */
void capacity_settle(struct release *r);
/* True if the primary has ready pods, though not all that were requested. */
bool capacity_answers(struct release *r);

/*
 * Foreign autoscalers: those that scale the target or the primary and are neither named by the
 * Canary nor part of the named one (the copy for the primary, HPAs made by KEDA). They own the
 * replicas of their workload: the controller does not write them, except when it stops or starts a
 * target: at zero replicas an HPA is inactive, and a target starts at the minimum of its scaler.
 */

/* Fills r->own_scaler of both sides. CONTINUE or NEEDS_FACTS. */
enum rule_result scaled_read(struct release *r);
/* "HorizontalPodAutoscaler web.test", for messages. */
const char *scaled_text(struct release *r, enum side side);

/* Starting the target of a release. */

/* Scales the target up, to the replicas that its scaler or the primary imply. */
enum rule_result scale_up_target(struct release *r);

#endif

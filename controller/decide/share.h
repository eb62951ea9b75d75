/* Pods of the canary, in proportion to its next share before the share grows, and shares by number
 * of pods. */
#ifndef DECIDE_SHARE_H
#define DECIDE_SHARE_H

#include "decide/release.h"

/*
 * Called before a step that gives the canary this share (proto/weight.h) of all requests. CONTINUE:
 * the canary has the pods for them, or as many as its scaler allows, or no pods are requested.
 * DONE: it waits, or the release was rolled back because they did not become ready before the
 * deadline.
 */
enum rule_result share_wait(struct release *r, int share);
/* True if a canary with a size of its own serves its share while more of its pods start: enough to
 * replace a primary without pods. */
bool share_grows(struct release *r);
/* The primary is lost and the canary serves everything: plans all pods of a canary that began
 * small. */
void share_take_all(struct release *r);
/*
 * The number of pods with which a target at zero starts according to spec.analysis.canaryScale, 0
 * without it. Records it with the number of the application, which the primary keeps. Lowers a
 * target to it that has the number of its manifest, and plans the minimum of its autoscaler.
 */
int share_start(struct release *r);
/*
 * A release begins: records the replicas that an autoscaler has given the primary for all traffic,
 * before it shrinks.
 */
void share_begin(struct release *r);
/*
 * Plans the pods requested for the canary, and restores the numbers that are no longer requested,
 * including the minimums of foreign autoscalers; that of the primary is held at `primary_floor`.
 * CONTINUE or NEEDS_FACTS.
 */
enum rule_result share_hold(struct release *r, int primary_floor);
/*
 * The Canary is being deleted: restores the minimums of autoscalers; the kind knows the maximum of
 * the target's autoscaler. CONTINUE or NEEDS_FACTS.
 */
enum rule_result share_put_back(struct release *r);
/* Passes the target's own replicas to its kind. */
void share_note_own(struct release *r);

/* --- shares by number of pods, for routers with `by_pods`: the apex Service selects both sides */

/*
 * Pods of the canary with which its share of all pods is nearest to `share` (proto/weight.h), above
 * 0, beside a primary that keeps its own: at least one, and as many as the primary's for all
 * traffic.
 */
int pods_of_share(struct release *r, int share);
/* "1 of 11 pods, 9.1 %": the share that results from the ready pods and the routed weight; owned by
 * the arena. */
const char *pods_text(struct release *r);
/* Records the ready pods of both sides beside this weight, unless it is 0 or already recorded. */
void pods_note(struct release *r, int weight);

#endif

/* Services of a release and the pods behind them, and a target that has lost its traffic. */
#ifndef DECIDE_SERVING_H
#define DECIDE_SERVING_H

#include "decide/release.h"
#include "router/shared/services.h"

/* The pods that the Services select, and their ports. */
struct service_pods serving_pods(struct release *r);
/* The labels that the pod templates of both sides have in common; NULL if none. */
struct json_object *serving_common(struct release *r);
/* *out: the selector of the apex Service when the canary has this share by number of pods, 0 to
 * WEIGHT_ALL; NULL if it is not known, and the selector stays. CONTINUE or NEEDS_FACTS. */
enum rule_result serving_selector(struct release *r, int canary, struct json_object **out);
/* Plans to make the apex Service select the primary, unless it does. */
enum rule_result serving_apex(struct release *r);
/* *leads: true if the apex Service selects the primary's pods. The target must have a selector
 * label. */
enum rule_result serving_leads(struct release *r, bool *leads);

/* *needs: true if the primary has no ready pod, and the apex Service leads to the target's pods. */
enum rule_result serving_needs_target(struct release *r, bool *needs);

/*
 * Reason of TrafficServed=False: the primary has no ready pod, and the canary serves. If the
 * router cannot split traffic, the apex Service leads to the target meanwhile.
 */
#define SERVING_GONE "PrimaryNotServing"

/* --- a target that has lost its traffic keeps its pods for a pause */

/* The target has no traffic from now on. CONTINUE or NEEDS_FACTS. */
enum rule_result drain_begin(struct release *r);
/*
 * Scales the target without traffic to zero: now if the pause is over; otherwise the pause begins
 * or continues (CONTINUE as well).
 */
enum rule_result drain_target(struct release *r);
/* Milliseconds left of the interval running at the start of this tick; 0 if none. */
int64_t drain_left_ms(struct release *r);
/*
 * Without a release: reports, once, pods of the target that serve nothing. They keep running: a
 * person or another autoscaler has started them.
 */
void drain_tell_idle(struct release *r);
bool drain_is_under_way(struct release *r); /* as of the beginning of the tick */

#endif

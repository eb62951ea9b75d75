/* Shares by number of pods, for routers with `by_pods`: the apex Service selects both sides. */
#ifndef DECIDE_PODS_H
#define DECIDE_PODS_H

#include "decide/release.h"

/*
 * Pods of the canary with which its share of all pods is nearest to `share` (proto/weight.h), above 0, beside a
 * primary that keeps its own: at least one, and as many as the primary's for all traffic.
 */
int pods_of_share(struct release *r, int share);
/* "1 of 11 pods, 9.1 %": the share that the ready pods give with what is routed; owned by the arena. */
const char *pods_text(struct release *r);
/* Records the ready pods of both sides beside this weight; nothing if it is 0 or recorded. */
void pods_note(struct release *r, int weight);

#endif

/*
 * The bake (spec.analysis.bake): the last step before the promotion. The canary has all traffic,
 * and the primary keeps the former version with the pods that it had at the beginning. The
 * condition Baked=False records when the bake began.
 */
#ifndef DECIDE_BAKE_H
#define DECIDE_BAKE_H

#include "decide/release.h"

/* True while the bake runs: the canary serves everything, and the status records the beginning. */
bool bake_runs(const struct release *r);
/* The same; sets *since_ms to the Unix time at which the bake began. */
bool bake_runs_since(const struct release *r, int64_t *since_ms);
/* The end of an analysis whose gate has agreed: begins the bake, or the promotion without one. */
enum rule_result bake_begin(struct release *r);
/* A step of the running bake: the promotion begins once its time is over. DONE or NEEDS_FACTS. */
enum rule_result bake_go_on(struct release *r);
/* True if the route is ahead of the weight in the status, `told`, by the step to the bake. */
bool bake_was_routed(const struct release *r, int told);
/* Pods that the primary keeps during the analysis, for an immediate way back; 0 without a bake. */
int bake_floor(const struct release *r);
/* Milliseconds by which an analysis may exceed maxDuration. */
int64_t bake_longer_ms(const struct release *r);
/* Removes the record of the bake from the status about to be written, unless the bake runs. */
void bake_forget(struct release *r);

#endif

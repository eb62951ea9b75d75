/*
 * Autoscalers of others: those that scale the target or the primary without being the one that the
 * Canary names, nor what belongs to that one (the primary's copy, the HPAs that KEDA makes for
 * both). The replicas of such a workload are theirs: they are not written, but for the two ends of
 * a target: at zero an HPA is off, and a target that is started goes on from its least number.
 */
#ifndef DECIDE_SCALED_H
#define DECIDE_SCALED_H

#include "decide/release/release.h"

/* Fills r->own_scaler of both sides. GO or NEED_FACTS. */
enum verdict scaled_read(struct release *r);
/* "HorizontalPodAutoscaler web.test", for texts. */
const char *scaled_text(struct release *r, enum side side);

#endif

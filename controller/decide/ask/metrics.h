/* The metrics of an analysis. */
#ifndef DECIDE_METRICS_H
#define DECIDE_METRICS_H

#include "decide/release/release.h"

/* Step 7, and the metrics of step 29: STOP means that a check failed and was told. GO with r->held:
 * none failed, but not all could be asked. */
enum verdict metrics_probe(struct release *r);
enum verdict metrics_check(struct release *r);
/* A sentence when a MetricTemplate asks for what is not there, or the judge for what cannot be counted. */
enum verdict metrics_refusal(struct release *r, const char **sentence);

#endif

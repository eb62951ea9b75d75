/* Answers of metric servers that say nothing. */
#ifndef DECIDE_UNMEASURED_H
#define DECIDE_UNMEASURED_H

#include "decide/release/release.h"

/* The sentence says what is missing, `reason` the condition's. GO: nothing is counted; STOP: a check
 * failed. */
enum verdict metrics_unmeasured(struct release *r, enum canary_policy policy, const char *reason,
                                const char *fmt, ...) PRINTF_LIKE(4, 5);
void metrics_measured(struct release *r); /* all have spoken: a hold is over */

#endif

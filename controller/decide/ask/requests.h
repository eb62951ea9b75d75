/* The requests that a canary has had of its own, looked at before it is promoted. */
#ifndef DECIDE_REQUESTS_H
#define DECIDE_REQUESTS_H

#include "decide/release/release.h"

/* Asked behind the metrics of a step that promotes. GO, with r->held where the step waits; STOP: it
 * counts as a failed check; NEED_FACTS. */
enum verdict requests_check(struct release *r);

#endif

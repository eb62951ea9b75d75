/* A primary that is made anew by request, since its selector has fewer labels than the target's. */
#ifndef DECIDE_RENEW_H
#define DECIDE_RENEW_H

#include "decide/release/release.h"

/* Why that cannot be done now, one sentence; NULL: it can. */
const char *renew_refusal(struct release *r);
/* From the next tick on it is done. */
void renew_begin(struct release *r);
/* The next step of it. STOP: it is under way, and nothing else is done. */
enum verdict renew_go_on(struct release *r);
/* The name of the workload that stands in for the primary meanwhile. */
const char *renew_second(struct release *r);
/* The primary's selector asks for fewer labels than that of one that is made now. The target must
 * have a selector label. */
bool renew_is_narrow(struct release *r);

#endif

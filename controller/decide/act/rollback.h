/* All traffic goes back to the primary. */
#ifndef DECIDE_ROLLBACK_H
#define DECIDE_ROLLBACK_H

#include "decide/release/release.h"

/*
 * All traffic to the primary, once it can carry it. GO: that is done; or the canary keeps its
 * share, because nobody would answer on the primary (*kept). STOP: it waits for the primary, for
 * `reason` (capacity.h).
 */
enum verdict rollback_to_primary(struct release *r, const char *reason, bool *kept);
/* §6 from step 2 on. consume: this revision is not tried again, although its analysis has not
 * begun. */
enum verdict rollback_run(struct release *r, bool consume);
/* §7 */
enum verdict rollback_failed_promotion(struct release *r, const char *why);

#endif

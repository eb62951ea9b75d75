/* What a Canary that goes leaves to another one. */
#ifndef DECIDE_HANDOVER_H
#define DECIDE_HANDOVER_H

#include "decide/release/release.h"

/* The annotation of what a Canary has left to another one. */
#define HANDED_OVER_BY "flagger.app/handed-over-by"
/* A deletion that leaves all to another Canary. GO and *done: nothing is left to do. GO: it is for
 * this Canary to undo what it has made. late: what is waited for does not come. */
enum verdict handover_run(struct release *r, bool late, bool *done);
/* A deletion that leaves nothing to anybody. STOP: it takes what was marked for another first. */
enum verdict handover_take_back(struct release *r);
/* What is marked for another Canary, or belongs to one that is gone, is this one's. STOP: it takes
 * something, in a tick of its own; GO: there is nothing. */
enum verdict handover_take(struct release *r);
/* The routes of the Canary that no collector takes with it are deleted: those without a namespace.
 * GO or NEED_FACTS. */
enum verdict handover_delete_routes(struct release *r);
/* The primary, its copies and its scaler belong to nobody from now on. GO or NEED_FACTS. */
enum verdict handover_leave_primary(struct release *r);

#endif

/* Objects that a deleted Canary leaves behind, for another Canary of its target or for none. */
#ifndef DECIDE_HANDOVER_H
#define DECIDE_HANDOVER_H

#include "decide/release.h"

/* The annotation of objects left to another Canary. */
#define HANDED_OVER_BY "flagger.app/handed-over-by"
/*
 * A deletion that leaves everything to another Canary. CONTINUE and *done: complete. CONTINUE
 * otherwise: this Canary must undo its changes. late: the wait has timed out.
 */
enum rule_result handover_run(struct release *r, bool late, bool *done);
/* A deletion without a successor. DONE: it first takes back what was marked for another Canary. */
enum rule_result handover_take_back(struct release *r);
/*
 * Deletes the routes of the Canary that are not garbage collected with it: those without a
 * namespace. CONTINUE or NEEDS_FACTS.
 */
enum rule_result handover_delete_routes(struct release *r);
/* Removes the owner of the primary, its copies and its scaler. CONTINUE or NEEDS_FACTS. */
enum rule_result handover_leave_primary(struct release *r);

#endif

/*
 * The status patch of this tick (decide/STATUS.md), planned by status_write(). Rules set fields
 * here, and conditions in condition.h.
 */
#ifndef DECIDE_STATUS_H
#define DECIDE_STATUS_H

#include "decide/release.h"

void status_phase(struct release *r, enum phase phase); /* and the Promoted condition */
/*
 * Adds the fields that every status has, if the previous status lacks them: phase and weight. For a
 * status written before the initialisation begins, or not through status_write().
 */
void status_complete(struct json_object *status, struct json_object *before);
/* True if the status is empty or has only these fields: nothing was done yet. */
bool status_not_begun(const struct release *r);
void status_int(struct release *r, const char *key, int value);
void status_text(struct release *r, const char *key, const char *value); /* NULL removes it */
void status_object(struct release *r, const char *key, struct json_object *value);
/* Sets canaryWeight, and canaryShare if that is not exact. */
void status_share(struct release *r, int canary);
/* Like status_share(), but also sets the cookies and exports a changed weight. */
void status_weight(struct release *r, int canary);
/*
 * True if the weight in the status applies to matching requests, by `match` of the spec accepted
 * before, while weights now apply to all requests.
 */
bool status_weight_was_matched(const struct release *r);
/* Records the target's revision as lastAppliedSpec and trackedConfigs. */
void status_sync(struct release *r);
void status_sync_hash(struct release *r); /* lastAppliedSpec alone */
void status_reset(struct release *r);     /* resets failedChecks, iterations and the preparation */
/* Ends the waits for gates and metrics. */
void status_forget_waits(struct release *r);
/* Forgets the pods requested for the canary (share.h). */
void status_forget_capacity(struct release *r);
/* True if the fields set so far will be written. */
bool status_differs(struct release *r);
/* True if they include more than conditions, alerts and samples: the release has moved. */
bool status_moves(struct release *r);
/*
 * Plans the patch if a field differs, and records the spec that was acted on; called after all
 * other rules.
 */
void status_write(struct release *r);

#endif

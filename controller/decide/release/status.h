/*
 * What this tick leaves in the status of the Canary (decide/STATUS.md): one patch, planned by
 * status_write(). Rules set its fields here, and its conditions in condition.h.
 */
#ifndef DECIDE_STATUS_H
#define DECIDE_STATUS_H

#include "decide/release/release.h"

void status_phase(struct release *r, enum phase phase); /* and its Promoted condition */
/* What every status says, where the one before says it not: phase and weight. For what is written
 * before the initialisation begins, or not through status_write(). */
void status_complete(struct json_object *status, struct json_object *before);
/* Such a status is all that there is, or none: nothing was done. */
bool status_not_begun(const struct release *r);
void status_int(struct release *r, const char *key, int value);
void status_text(struct release *r, const char *key, const char *value); /* NULL: none */
void status_object(struct release *r, const char *key, struct json_object *value);
/* canaryWeight, the cookies, and the gauges when it changes. */
void status_weight(struct release *r, int canary);
/* lastAppliedSpec and trackedConfigs are those of the target now. */
void status_sync(struct release *r);
void status_sync_hash(struct release *r); /* lastAppliedSpec alone */
void status_reset(struct release *r); /* failedChecks and iterations are 0, nothing is prepared */
/* No gate and no metric is waited for any more. */
void status_forget_waits(struct release *r);
/* The canary is asked for no pods any more (act/share.h). */
void status_forget_capacity(struct release *r);
/* What has been set so far will be written. */
bool status_differs(struct release *r);
/* ... and says more than conditions, alerts and looks: the release has moved. */
bool status_moves(struct release *r);
/* Plans the patch when something differs, and with it notes the spec that was acted on; after every
 * other rule. */
void status_write(struct release *r);

#endif

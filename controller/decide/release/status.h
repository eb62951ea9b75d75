/*
 * What this tick leaves in the status of the Canary (decide/STATUS.md): one patch, planned by
 * status_write(). Rules set fields and conditions, and ask for those that the Canary came with.
 */
#ifndef DECIDE_STATUS_H
#define DECIDE_STATUS_H

#include "decide/release/release.h"

void status_phase(struct release *r, enum phase phase); /* and its Promoted condition */
void status_int(struct release *r, const char *key, int value);
void status_text(struct release *r, const char *key, const char *value); /* NULL: none */
void status_object(struct release *r, const char *key, struct json_object *value);
/* canaryWeight, the cookies, and the gauges when it changes. */
void status_weight(struct release *r, int canary);
/* lastAppliedSpec and trackedConfigs are those of the target now. */
void status_sync(struct release *r);
void status_sync_hash(struct release *r); /* lastAppliedSpec alone */
void status_reset(struct release *r);     /* failedChecks and iterations are 0 */
/*
 * What a release waits for, and since when: for an approval, for metrics. They are conditions, so
 * that a deadline survives a restart and nothing is told twice.
 */
#define CONDITION_APPROVED   "Approved"
#define CONDITION_MEASURED   "Measured"
#define CONDITION_CONFIGURED "Configured" /* the configs that the target needs are there */
#define CONDITION_PRIMARY    "PrimaryFound"
#define CONDITION_COPIES     "PrimaryConfigured" /* its copies of configs are there */
#define CONDITION_REVERTED   "Reverted"          /* how far a deletion is */
/* The primary is one revision, template and configs. False while a promotion writes it, and when
 * that could not be finished. */
#define CONDITION_WHOLE "PrimaryWhole"
/* False: the target has lost its traffic, and keeps its pods. */
#define CONDITION_DRAINED "Drained"
/* False: the routes have left a port, which is still served. */
#define CONDITION_PORTS "PortsFollowed"
/* False: Services of others lead to the target. */
#define CONDITION_FREE "TargetFree"
void status_forget_waits(struct release *r);
/* STOP, told by a Warning event once and by the condition until status_untell(). */
enum verdict status_hold(struct release *r, const char *type, const char *reason,
                         const char *message);
/* A condition beside Promoted. Returns false when it says the same already. */
bool status_tell(struct release *r, const char *type, const char *reason, const char *message);
bool status_has(struct release *r, const char *type); /* the Canary came with it */
/* ... for this reason. */
bool status_is(const struct release *r, const char *type, const char *reason);
/*
 * The Canary came with it for this reason: since when. Not when the wall clock was set forward
 * since, or the time lies more than a minute ahead: a wait then begins anew, and never ends early.
 */
bool status_since(const struct release *r, const char *type, const char *reason, int64_t *since);
/* The Canary came with it: since when (false: it does not say), and with which message ("": none).
 */
bool status_time(struct release *r, const char *type, int64_t *since);
const char *status_message(struct release *r, const char *type);
/* The condition has become True; true when it was not, or said something else. */
bool status_answer(struct release *r, const char *type, const char *reason, const char *message);
void status_untell(struct release *r, const char *type);
/* Plans the patch when something differs, and with it notes the spec that was acted on; after every
 * other rule. */
void status_write(struct release *r);

#endif

/*
 * The conditions in the status of a Canary, beside Promoted. What a release waits for, and since
 * when, are conditions, so that a deadline survives a restart and nobody hears of the same thing
 * twice.
 *
 * Questions are about the conditions that the Canary came with; what this tick sets or clears is
 * seen by the next one.
 */
#ifndef DECIDE_CONDITION_H
#define DECIDE_CONDITION_H

#include "decide/release/release.h"

#define CONDITION_PROMOTED   "Promoted" /* Unknown while something is under way */
#define CONDITION_APPROVED   "Approved"
#define CONDITION_MEASURED   "Measured"
#define CONDITION_JUDGED     "Judged" /* False: a step waits for more requests to judge the canary by */
#define CONDITION_CHECKS     "ChecksPassed" /* False: the last check that failed, and why */
#define CONDITION_CONFIGURED "Configured"   /* the configs that the target needs are there */
#define CONDITION_TARGET     "TargetFound"  /* there is one, which can be released */
#define CONDITION_PRIMARY    "PrimaryFound"
#define CONDITION_WAITING    "Waiting" /* the reason of those of a side (side_condition()) */
#define CONDITION_SCALER     "AutoscalerFound"
#define CONDITION_ROUTES     "RoutesSettled"     /* the mesh has taken them over */
#define CONDITION_COPIES     "PrimaryConfigured" /* its copies of configs are there */
#define CONDITION_REVERTED   "Reverted"          /* how far a deletion is */
/* False: the primary that clients are sent to was made anew, and has not served since. */
#define CONDITION_SERVES "PrimaryServes"
/* The primary is one revision, template and configs. False while a promotion writes it, and when
 * that could not be finished. */
#define CONDITION_WHOLE "PrimaryWhole"
/* False: the target has lost its traffic, and keeps its pods. */
#define CONDITION_DRAINED "Drained"
/* False: the routes have left a port, which is still served. */
#define CONDITION_PORTS "PortsFollowed"
/* False: the API server does not serve a resource that has to be written. */
#define CONDITION_SERVED "ResourcesServed"
/* False: other releases have to end before this one begins. */
#define CONDITION_TURN "Admitted"
/* False: the API server does not let us read or write one that is needed. */
#define CONDITION_ALLOWED "ResourcesAllowed"
/* False: the primary has no ready pod, and its share is the canary's until it has. */
#define CONDITION_SHARES "TrafficServed"
/* True: revisions are pushed faster than an analysis takes. */
#define CONDITION_OUTRUN "Outrun"
/* False: a step was due, none was made, and nothing says what it waits for. */
#define CONDITION_ADVANCES "Advancing"
/* False: the API server refuses a write for good. */
#define CONDITION_WRITES "WritesAccepted"
/* These speak of the spec, and hold whatever becomes of the release: False, it is not followed; True,
 * parts of it have no effect. */
#define CONDITION_ACCEPTED "Accepted"
#define CONDITION_IGNORED  "Ignored"
/* False: somebody who listens to alerts is not told. */
#define CONDITION_ALERTS "AlertsDelivered"
/* False: Services of others lead to the target. */
#define CONDITION_FREE "TargetFree"
/* False: a step waits for the pods of the canary that its share needs. */
#define CONDITION_SHARE "CanaryScaled"
/* False: nothing is under way, and the target has pods that nobody is sent to. */
#define CONDITION_IDLE "TargetIdle"
/* False: policies, budgets or monitors select the target's pods, and not the primary's. */
#define CONDITION_COMPANIONS "CompanionsFit"
/* False: the Services of the Canary would lead to pods of others, or the selector of its primary
 * picks such pods. */
#define CONDITION_OWNERS "PodsOwned"
/* False: the primary is being made anew with another selector. */
#define CONDITION_RENEWED "PrimaryRenewed"

/*
 * Sets it to False, the condition Suspended to True. These return false when the condition says all
 * of this already. lastTransitionTime changes only with the status of the condition.
 */
bool condition_set(struct release *r, const char *type, const char *reason, const char *message);
bool condition_set_true(struct release *r, const char *type, const char *reason,
                        const char *message);
/* ... to this status, "True", "False" or "Unknown". */
bool condition_put(struct release *r, const char *type, const char *status, const char *reason,
                   const char *message);
/* Removes it, if the Canary came with it. */
void condition_clear(struct release *r, const char *type);
/* ... with the next status that moves the release. Of one type in a tick. */
void condition_clear_later(struct release *r, const char *type);
/* Such a status is written: now is later. */
void condition_clear_now(struct release *r);
/* Sets it, with a Warning event the first time. Returns STOP. */
enum verdict condition_hold(struct release *r, const char *type, const char *reason,
                            const char *message);

bool condition_is_set(const struct release *r, const char *type);   /* True or False */
bool condition_is_there(const struct release *r, const char *type); /* also Unknown */
bool condition_has_reason(const struct release *r, const char *type, const char *reason);
/*
 * It has this reason: since when. Not when the wall clock was set forward since, or the time lies
 * more than a minute ahead: a wait then begins anew, and never ends early.
 */
bool condition_since(const struct release *r, const char *type, const char *reason, int64_t *since);
/* Since when, whatever the reason; false: it does not say. */
bool condition_time(const struct release *r, const char *type, int64_t *since);
/* To write it again; "": none. */
const char *condition_message(const struct release *r, const char *type);

/* What this tick has made of the conditions that speak of the spec is all that stays of its status. */
void condition_keep_spec(struct release *r);
/* One of them says this, as this tick leaves it. */
bool condition_spec_says(struct release *r, const char *text);

#endif

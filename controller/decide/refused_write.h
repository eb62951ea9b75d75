/*
 * Writes that the API server rejects permanently: 400 or 422, or 403 by a policy (403 by a role:
 * denied_hold()). status.refusedWrite names the object; the condition WritesAccepted=False has the
 * API server's words and the time of the first rejection.
 */
#ifndef DECIDE_REFUSED_WRITE_H
#define DECIDE_REFUSED_WRITE_H

#include "decide/release.h"

/*
 * After all rules: a write refused by the last run is reported, once per object, and no part of the
 * plan is applied; from the next tick on the write is retried. The condition is removed with the
 * status after that write, or when a whole tick succeeded without it.
 */
void refused_write_hold(struct release *r);
/*
 * True if writes have been refused for longer than the progress deadline. Otherwise plans a wake-up
 * for that time.
 */
bool refused_write_expired(struct release *r);
/* Removes the writes of that object from the plan: a release can end without them. */
void refused_write_forgo(struct release *r);
/*
 * Removes those writes from the planned repairs and preparations, with the writes after them, so
 * that the guards of a release run; they are restored if no guard ends it.
 */
void refused_write_set_aside(struct release *r);
void refused_write_put_back(struct release *r);
/*
 * True if the plan moves shares by a write that is known to be refused: it is removed, and the
 * shares stay as routed.
 */
bool refused_write_keeps(struct release *r, const struct weights *routed);
/* True if the refused write is one of the target. */
bool refused_write_is_of_target(const struct release *r);
/* True if a refused write is one of a Service. */
bool refused_write_is_of_service(const struct release *r);
/* True if the API server refuses to have this object of the target's kind written. */
bool refused_write_is_of(const struct release *r, const char *name);
/* Forgets the rejection: a further one is reported again, with a new deadline. */
void refused_write_forget(struct release *r);
/* The API server's words. */
const char *refused_write_says(const struct release *r);

/* Access that the API server denies. */

/*
 * After all rules: if access was denied (struct tick), no part of the plan is applied: the
 * condition ResourcesAllowed=False names verb, resource and account, and the plan is held.
 * Otherwise the condition is removed, with the status after the writes.
 */
void denied_hold(struct release *r);

/* Objects of resources that the API server does not serve. */

/*
 * After all rules: if the plan creates an object of a resource that is not served, only the writes
 * before it are kept, and the condition ResourcesServed=False names it.
 */
void unserved_hold(struct release *r);
/*
 * Removes such objects from the plan and keeps the rest. For a deletion, since routes that are not
 * served route nothing.
 */
void unserved_forgo(struct release *r);
/* All objects that the rules wanted exist: clears the condition. */
void unserved_clear(struct release *r);

#endif

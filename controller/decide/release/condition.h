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

/* Their types, and what each means: conditions.def, the one place to add a condition. */
#define CONDITION(name, type, holds, of_spec) extern const char name[];
#include "decide/release/conditions.def"
#undef CONDITION

#define CONDITION_WAITING "Waiting" /* the reason of those of a side (side_condition()) */

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

/* A condition of this type, False, holds a step up; also one that has no row. */
bool condition_holds(const char *type);

/* What this tick has made of the conditions that speak of the spec is all that stays of its status. */
void condition_keep_spec(struct release *r);
/* One of them says this, as this tick leaves it. */
bool condition_spec_says(struct release *r, const char *text);

#endif

/*
 * Conditions in the status of a Canary, except Promoted. Waits and their beginnings are
 * conditions, so that deadlines survive a restart and nothing is reported twice.
 *
 * Queries see the conditions as of the beginning of the tick; changes are seen by the next tick.
 */
#ifndef DECIDE_CONDITION_H
#define DECIDE_CONDITION_H

#include "decide/release.h"

/* Types and their meaning: conditions.def, the one place to add a condition. */
#define CONDITION(name, type, holds, of_spec, bad, kind, words) extern const char name[];
#include "decide/conditions.def"
#undef CONDITION

#define CONDITION_WAITING "Waiting" /* reason of the conditions of a side (side_condition()) */

/*
 * Sets the condition to False (Suspended to True). Returns false if it already has this status,
 * reason and message. lastTransitionTime changes only with the status of the condition.
 */
bool condition_set(struct release *r, const char *type, const char *reason, const char *message);
bool condition_set_true(struct release *r, const char *type, const char *reason,
                        const char *message);
/* Sets the condition to this status, "True", "False" or "Unknown". */
bool condition_put(struct release *r, const char *type, const char *status, const char *reason,
                   const char *message);
/* Removes the condition, if it exists. */
void condition_clear(struct release *r, const char *type);
/* Removes the condition with the next status that advances the release. One type per tick. */
void condition_clear_later(struct release *r, const char *type);
/* Called when such a status is being written: removes that condition. */
void condition_clear_now(struct release *r);
/* Sets the condition, with a Warning event the first time. Returns DONE. */
enum rule_result condition_hold(struct release *r, const char *type, const char *reason,
                                const char *message);

bool condition_is_set(const struct release *r, const char *type);   /* True or False */
bool condition_is_there(const struct release *r, const char *type); /* including Unknown */
bool condition_has_reason(const struct release *r, const char *type, const char *reason);
/*
 * True if the condition has this reason; *since receives its beginning, as tick_since() counts.
 * False also if the time lies more than a minute in the future without a step of the clock seen by
 * this process: the wait starts anew and condition_set() writes its time.
 */
bool condition_since(const struct release *r, const char *type, const char *reason, int64_t *since);
/* The beginning, for any reason; false if missing, or as in condition_since(). */
bool condition_time(const struct release *r, const char *type, int64_t *since);
/* The message, for writing it again; "" if none. */
const char *condition_message(const struct release *r, const char *type);

/* True if a condition of this type, when False, holds a step; also for types without a row. */
bool condition_holds(const char *type);

/* An interval counted from the moment when the mesh has applied the routes. */

struct pause {
    const char *type;          /* of the condition that records it */
    const char *reason, *text; /* of the condition while the interval counts */
    bool done;       /* True if the condition becomes True once the wanted routes are applied */
    bool unasked;    /* do not wait for the mesh */
    int64_t more_ms; /* added to the interval */
};
/* This plan, or that of the previous tick, leads the traffic away. CONTINUE or NEEDS_FACTS. */
enum rule_result pause_begin(struct release *r, const struct pause *pause);
/* Continues: the condition names the part that it waits for. CONTINUE or NEEDS_FACTS. */
enum rule_result pause_note(struct release *r, const struct pause *pause);
/*
 * CONTINUE: the pause is over. DONE: not yet; the next check is planned. The caller clears the
 * condition after the action that waited for it.
 */
enum rule_result pause_pass(struct release *r, const struct pause *pause);
/* Milliseconds left of the interval running at the start of this tick; 0 if none. */
int64_t pause_left_ms(struct release *r, const struct pause *pause);

/* Waiting for the mesh to apply the routes. */

/*
 * CONTINUE: applied. DONE: not yet; the condition RoutesSettled reports that once, when a step is
 * due, until the routes are applied.
 */
enum rule_result settled_or_hold(struct release *r);
/* After the rules: RoutesSettled is False while an object maintained by users blocks the routes
 * (plan_block()). */
void blocked_note(struct release *r);

/* Plans that cannot be applied as a whole. */

/*
 * Keeps only the writes of the plan before `end`, one of its effects, and the findings of the
 * status about the spec, with their events: neither depends on the dropped part. The release stays
 * in its phase.
 */
void hold_plan(struct release *r, const struct effect *end);

#endif

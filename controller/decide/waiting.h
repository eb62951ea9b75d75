/*
 * The state that a Canary waits for, or anything else that its status reports. One interpretation
 * for the release page, `status`, `get` and `plan`: conditions.def has a row for each condition.
 * Pure functions of the object.
 */
#ifndef DECIDE_WAITING_H
#define DECIDE_WAITING_H

#include <stdbool.h>

#include "base/json.h"

/* Later kinds count more. */
enum waiting_kind {
    WAITING_QUIET, /* nothing to report */
    WAITING_MINOR, /* for a table, if there is nothing else to report */
    WAITING_NOTE,  /* holds nothing, but users should know */
    WAITING_WAITS, /* continues by itself */
    WAITING_PERSON /* waits for a person, or for something that only a person provides */
};

struct waiting {
    enum waiting_kind kind;
    const char *reason; /* one word, such as the condition's reason; "" if QUIET */
    const char *text;   /* "a gate is closed: Halt app.shop ..."; "" if QUIET */
    const char *since;  /* RFC 3339; NULL if unknown */
};

/*
 * The condition that counts most; among equals the oldest, since the others often follow from it. A
 * suspension precedes a pause, and a pause everything else. Texts live in the arena or the object.
 */
void waiting_of(struct arena *arena, struct json_object *canary, struct waiting *out);

/* "quiet", "minor", "note", "waits", "person". */
const char *waiting_kind_name(enum waiting_kind kind);

/* True if the condition has something to report. */
bool waiting_is_bad(struct json_object *condition);

/* The step of spec.analysis.steps that status.step records, borrowed, and its index. NULL if no
 * step runs, or if the list was edited and no longer contains it. */
struct json_object *waiting_step(struct json_object *canary, size_t *index);

#endif

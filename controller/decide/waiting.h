/*
 * What a Canary waits for, or what else there is to report of it, as its status says. One reading
 * for the release page, `status`, `get` and `plan`: conditions.def has a row for each condition.
 * Pure functions of the object.
 */
#ifndef DECIDE_WAITING_H
#define DECIDE_WAITING_H

#include <stdbool.h>

#include "base/json.h"

/* The later ones count more. */
enum waiting_kind {
    WAITING_QUIET, /* nothing to report */
    WAITING_MINOR, /* for a table, if there is nothing else */
    WAITING_NOTE,  /* holds nothing; people should know */
    WAITING_WAITS, /* it goes on by itself */
    WAITING_PERSON /* it waits for a person, or what only a person brings */
};

struct waiting {
    enum waiting_kind kind;
    const char *reason; /* one word, such as the condition's reason; "" if QUIET */
    const char *text;   /* "a gate is closed: Halt app.shop ..."; "" if QUIET */
    const char *since;  /* RFC 3339; NULL if unknown */
};

/*
 * The one that counts most, of alike ones the oldest: the others often follow from it. A
 * suspension precedes a pause, a pause everything else. Texts live in the arena or the object.
 */
void waiting_of(struct arena *arena, struct json_object *canary, struct waiting *out);

/* "quiet", "minor", "note", "waits", "person". */
const char *waiting_kind_name(enum waiting_kind kind);

/* True if there is something to report of this condition. */
bool waiting_is_bad(struct json_object *condition);

/* The step of spec.analysis.steps that status.step records, borrowed, and its index. NULL if no step
 * runs, or if the list was edited and has it no more. */
struct json_object *waiting_step(struct json_object *canary, size_t *index);

#endif

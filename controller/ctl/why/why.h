/*
 * Why a Canary does not go on: a pure function of the facts. A table of situations is asked in
 * order, the overriding ones first; the first that holds gives the paragraph: the cause, since
 * when, the numbers, and the remedy.
 */
#ifndef CTL_WHY_WHY_H
#define CTL_WHY_WHY_H

#include "ctl/facts.h"

struct why_answer {
    const char *situation; /* of the table, "gate-closed" */
    const char *text;      /* one paragraph */
    const char *next;      /* a command that helps, NULL if there is nothing to do */
};

/* program: the name for hints, "kubectl canary". */
void why_of(struct arena *arena, const char *program, const struct facts *facts,
            struct why_answer *out);
/* The same of a ReleasePlan, by what its status says. */
void why_release_plan(struct arena *arena, const char *program, struct json_object *plan,
                      int64_t now_ms, struct why_answer *out);
/* The names of all situations of a Canary, in the order in which they are asked; ends with NULL. */
const char *const *why_situations(struct arena *arena);

#endif

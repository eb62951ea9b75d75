/*
 * Why a Canary does not proceed: a pure function of the facts. The situations in a table are tested
 * in order, the overriding ones first; the first that applies provides the paragraph: the cause,
 * since when, the numbers, and the remedy.
 */
#ifndef CTL_WHY_WHY_H
#define CTL_WHY_WHY_H

#include "ctl/facts.h"

struct why_answer {
    const char *situation; /* name in the table, "gate-closed" */
    const char *text;      /* one paragraph */
    const char *next;      /* a command that helps, NULL if there is nothing to do */
};

/* program: the program's name in hints, "kubectl canary". */
void why_of(struct arena *arena, const char *program, const struct facts *facts,
            struct why_answer *out);
/* The same for a ReleasePlan, based on its status. */
void why_release_plan(struct arena *arena, const char *program, struct json_object *plan,
                      int64_t now_ms, struct why_answer *out);
/* The names of all situations of a Canary, in the order in which they are tested; NULL-
 * terminated. */
const char *const *why_situations(struct arena *arena);

#endif

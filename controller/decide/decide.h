/*
 * The rules of a release (contract/statemachine.md §3): facts in, plan out. Pure; read decide.c
 * from the top.
 */
#ifndef DECIDE_DECIDE_H
#define DECIDE_DECIDE_H

#include "tick/tick.h"

/* NEED_FACTS: fetch tick->needs and call again; otherwise tick->plan is what to do. */
enum verdict decide(struct tick *tick);

/*
 * The status patch ({"status": ...}) that refuses a Canary which canary_view() could not read, with
 * the sentence in the condition Accepted=False; NULL when the object says so already, and then no
 * event is due either.
 */
struct json_object *accept_refusal(struct arena *arena, struct json_object *object,
                                   const char *sentence, int64_t now_ms);

#endif

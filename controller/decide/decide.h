/*
 * The rules of a release (contract/statemachine.md §3): facts in, plan out. Pure; read decide.c
 * from the top.
 */
#ifndef DECIDE_DECIDE_H
#define DECIDE_DECIDE_H

#include "tick/tick.h"

/* NEED_FACTS: fetch tick->needs and call again; otherwise tick->plan is what to do. */
enum verdict decide(struct tick *tick);

#endif

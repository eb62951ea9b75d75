/* A plan that cannot be carried out as a whole. */
#ifndef DECIDE_HOLD_H
#define DECIDE_HOLD_H

#include "decide/release/release.h"

/*
 * Of the plan stay the writes before `end`, an effect of it, and of the status what this tick has
 * found of the spec, with the events that tell it: neither counts on what is left out. The release
 * stays in its phase.
 */
void hold_plan(struct release *r, const struct effect *end);

#endif

/*
 * What people ask with ReleaseRequests, and what the safety rules say of it. In all scenarios
 * requests are about revision 2.
 */
#ifndef MODEL_ASKED_H
#define MODEL_ASKED_H

#include "model.h"

/* Somebody asks for a rollback, or one was done for that. */
bool asked_to_abort(struct model *model, const struct cluster *cluster);
/* The analysis of what is released has been ended by request. */
bool asked_to_skip(const struct canary *canary);
/* What is released, or would be, is paused. */
bool asked_to_pause(const struct canary *canary);
bool asked_at_gate(const struct canary *canary); /* the spec asks for the pause, not a person */
/* A request is still there. */
bool asked_is_left(struct model *model, const struct cluster *cluster);
/* The rule that a write breaks; NULL if none. */
const char *asked_step(struct model *model, const struct cluster *facts,
                       const struct cluster *before, const struct cluster *after);

#endif

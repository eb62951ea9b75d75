/*
 * Writes that the API server refuses for good: code 400 or 422, or 403 by a policy (that of a role: act/denied.h).
 * status.refusedWrite names the object, and the condition WritesAccepted=False says the API server's words, and
 * since when.
 */
#ifndef DECIDE_REFUSED_WRITE_H
#define DECIDE_REFUSED_WRITE_H

#include "decide/release/release.h"

/*
 * The rules are done. A write that was refused a moment ago is told, once for each object, and nothing of the plan is
 * carried out; from the next tick on it is tried again. The condition goes with the status behind that write, or when
 * a whole tick has done without it.
 */
void refused_write_hold(struct release *r);
/* Writes have been refused for longer than the progress deadline. False: they are not, or not yet; then the rules are
 * woken when they will be. */
bool refused_write_expired(struct release *r);
/* Takes the writes of that object out of the plan: a release that ends does without them. */
void refused_write_forgo(struct release *r);
/* The same of what repairs and prepares, with the writes behind it, so that the guards of a release are asked; they are
 * put back where none ends it. */
void refused_write_set_aside(struct release *r);
void refused_write_put_back(struct release *r);
/* The plan moves shares by a write that is known to be refused: it is taken out, and the shares stay as
 * they are routed. */
bool refused_write_keeps(struct release *r, const struct weights *routed);
/* The write that is refused is one of the target. */
bool refused_write_is_of_target(const struct release *r);
/* It is told anew if it is refused again, and the deadline begins anew. */
void refused_write_forget(struct release *r);
/* The API server's words. */
const char *refused_write_says(const struct release *r);

#endif

/* The canary's revision becomes the primary's. */
#ifndef DECIDE_PROMOTE_H
#define DECIDE_PROMOTE_H

#include "decide/release/release.h"

/* Enters Promoting; what is then written is written until all of it is there (promote_copy()). */
enum verdict promote_begin(struct release *r);
/* A promotion was cut off, and the target is another one meanwhile: how far it has come. GO with
 * CARRIED_ALL also where none was cut off. */
enum verdict promote_carried(struct release *r, enum carried *out);
/* The primary stays as a promotion that cannot be finished has left it: the next revision is the
 * way out. */
void promote_give_up(struct release *r);
/* True: no promotion is under way, or nothing of it is on the primary yet, so that it can be taken back. */
enum verdict promote_is_untouched(struct release *r, bool *out);
/* How much of the revision that the status speaks of is on the primary (which must exist). */
enum verdict promote_look(struct release *r, enum carried *out);
/* Copies of configs are to be swept although the revision reads none; they are. */
bool promote_left_copies(const struct release *r);
void promote_forget_copies(struct release *r);
/* The primary is being written: the promotion has begun, and not all of it is known to be there. */
bool promote_is_being_written(const struct release *r);
/* The target is just what was analysed, and not only what was promoted before. */
bool promote_is_of_analysed(const struct release *r);

#endif

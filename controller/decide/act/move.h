/* Edits of what a Canary is about: its target, its Services, its routes. */
#ifndef DECIDE_MOVE_H
#define DECIDE_MOVE_H

#include "decide/release/release.h"

/* Why an edit cannot be followed now, NULL: it can. Of the target and its pods' port after
 * it is known to be of a kind that is served; NEED_FACTS or GO. */
const char *move_refusal(struct release *r);
/* The target of the accepted spec; name NULL: none is known. */
struct canary_ref move_before(const struct release *r);
bool move_has_begun(const struct release *r); /* to another target than the accepted one */
/* Something serves, or is analysed, by what was accepted before. */
bool move_is_bound(const struct release *r);
/* Services or routes have other names, or are made in another way, than the spec says by now. */
bool move_is_pending(const struct release *r);
enum verdict move_refusal_of_target(struct release *r, const char **sentence);

#endif

/*
 * What people have asked of a release (decide/RULES.md §15), as the status remembers it: paused,
 * its analysis ended, analysed again. A pause is the Canary's, and lasts until a person ends it;
 * the others are about one revision and end with its release.
 */
#ifndef DECIDE_STEERING_H
#define DECIDE_STEERING_H

#include "decide/release/release.h"

/* The revision that is released, or would be: while analysing or promoting the one that the status
 * speaks of, otherwise what the target holds. "": none is meant, for the moment. */
const char *steering_revision(const struct release *r);

/* These ask about the Canary as it came; all but the first about that revision. */
bool steering_is_paused(const struct release *r);
bool steering_is_analysed_again(const struct release *r); /* although it has failed */
bool steering_ends_analysis(const struct release *r);     /* and is promoted without (more of) it */
/* No deadline of a side that is not ready counts: it is paused, or was not long ago. */
bool steering_stops_clock(const struct release *r);

/* These write it down. */
void steering_pause(struct release *r, const char *by, const char *why);
void steering_resume(struct release *r);
void steering_analyse_again(struct release *r);
void steering_end_analysis(struct release *r);
/* A person has ended it: it is no longer paused. */
void steering_end_pause(struct release *r);
/* The release has ended, or begins anew: what was asked about its revision is forgotten. */
void steering_forget(struct release *r);
/* ... what is about another revision; a pause is about the one that is there now. */
void steering_forget_others(struct release *r);

#endif

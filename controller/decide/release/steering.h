/*
 * What people have asked of a release (decide/RULES.md §15), as the status remembers it: paused,
 * its analysis ended, analysed again. All of it is about one revision and ends with its release;
 * what is about another revision says nothing.
 */
#ifndef DECIDE_STEERING_H
#define DECIDE_STEERING_H

#include "decide/release/release.h"

/* The revision that is released, or would be: while analysing or promoting the one that the status
 * speaks of, otherwise what the target holds. "": none is meant, for the moment. */
const char *steering_revision(const struct release *r);

/* These ask about that revision, as the Canary came. */
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
/* Nothing is asked any more: the release has ended, or begins anew. */
void steering_forget(struct release *r);
/* ... of what is about another revision. */
void steering_forget_others(struct release *r);

#endif

/*
 * One Canary beside the controller that looks after it: what the rules here would do next is
 * foreseen whenever something changes (foresee.h), and held against what the other one then does.
 * Pure; the plan of every tick is empty.
 *
 * A release moves when its status tells another stand. Everything that was foreseen since the last
 * move counts: gates open and metrics change between two steps; and what the rules would have done
 * with the Canary as it was and everything else as it is now, for what moved it may be seen late,
 * and a step missed. An object is often written before or after the status that speaks of it, so
 * what differs is looked at again for a few seconds.
 */
#ifndef OBSERVE_OBSERVER_H
#define OBSERVE_OBSERVER_H

#include "observe/foresee.h"

struct observer;
struct observer *observer_new(void);
void observer_free(struct observer *observer); /* NULL is allowed */

/* A run begins, with a new tick. */
void observer_begin(struct observer *observer);
/* To be called in place of decide(), and as that is. The plan says only when to look again. */
enum verdict observer_decide(struct observer *observer, struct tick *tick);

enum observed {
    OBSERVED_NOTHING, /* nothing moved, or it is not judged yet */
    OBSERVED_AGREES,  /* it moved as foreseen, and the objects are as they would be */
    OBSERVED_DIFFERS, /* it moved elsewhere */
    OBSERVED_OBJECTS, /* it moved as foreseen, and some object is otherwise */
    OBSERVED_STAYS,   /* it should have moved long ago, whatever webhooks say */
    OBSERVED_KINDS
};
/* "agrees", "differs", ... */
const char *observed_name(enum observed observed);

/* What was foreseen since the last move, newest first. */
struct observer_kept {
    struct observer_kept *next;
    struct arena *arena; /* of its own */
    const struct foreseen *foreseen;
};

/* How it stands; borrowed until the next run. */
struct observer_look {
    enum observed observed; /* what the last run found */
    const char *text;       /* of it: one sentence, with a line for each object */
    const char *difference; /* the last one, NULL: none yet */
    int64_t counts[OBSERVED_KINDS];
    const struct stand *at; /* NULL: not seen yet */
    const struct observer_kept *kept;
};
void observer_look(const struct observer *observer, struct observer_look *out);
/* How many steps were not as foreseen. */
int64_t observer_differences(const struct observer *observer);

#endif

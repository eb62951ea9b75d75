/*
 * Shadow mode for one Canary: whenever an object changes, predicts the next step by the rules
 * (foresee.h), and compares it with the step that the active controller takes. Pure; the plan of
 * every tick is empty.
 *
 * A release moves when its status shows another position. All predictions since the last move
 * count: gates open and metrics change between two steps; so does a decision about the former
 * Canary with all other objects in their current state, since the cause of a move may be seen late,
 * and a step may be missed. Objects are often written before or after the status about them, so
 * differences are checked again for a few seconds.
 */
#ifndef SHADOW_SHADOW_H
#define SHADOW_SHADOW_H

#include "shadow/foresee.h"

struct shadow;
struct shadow *shadow_new(void);
void shadow_free(struct shadow *shadow); /* NULL is allowed */

/* Starts a run, with a new tick. */
void shadow_begin(struct shadow *shadow);
/* Call in place of decide(), with the same contract. The plan only sets the time of the next
 * run. */
enum rule_result shadow_decide(struct shadow *shadow, struct tick *tick);

/* Call in place of shadow_decide() for a Canary that cannot be read: the rules wait until its
 * mistake is corrected. */
void shadow_refuse(struct shadow *shadow, const char *mistake);

enum observed {
    OBSERVED_NOTHING, /* no move, or one that is not judged yet */
    OBSERVED_AGREES,  /* moved as predicted, and the objects are as predicted */
    OBSERVED_DIFFERS, /* moved elsewhere */
    OBSERVED_OBJECTS, /* moved as predicted, and some object differs */
    OBSERVED_STAYS,   /* should have moved long ago, for every answer of webhooks */
    OBSERVED_KINDS
};
/* "agrees", "differs", ... */
const char *observed_name(enum observed observed);

/* Predictions since the last move, newest first. */
struct prediction {
    struct prediction *next;
    struct arena *arena; /* of its own */
    const struct foreseen *foreseen;
};

/* A snapshot; borrowed until the next run. */
struct shadow_snapshot {
    enum observed observed; /* finding of the last run */
    const char *text;       /* its sentence, with a line for each object */
    const char *difference; /* the last difference; NULL if none yet */
    const char *waits;      /* the wait that these rules expect here; NULL if none */
    bool waits_anew;        /* waits for a person, as found by the last run */
    int64_t counts[OBSERVED_KINDS];
    const struct position *at; /* NULL if not seen yet */
    const struct prediction *kept;
};
void shadow_snapshot(const struct shadow *shadow, struct shadow_snapshot *out);
/* Number of steps that were not predicted. */
int64_t shadow_differences(const struct shadow *shadow);

/* Compares objects with the predicted writes. Pure. */

#endif

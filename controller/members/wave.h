/*
 * A ReleasePlan: gathers the facts of its clusters, asks the rules (fleet/waves.h), writes the status,
 * and then holds Canaries and lets them go. It is woken by whatever the rules look at; what changes
 * while it is at work is in the next round.
 *
 *   RESTING    waits for something to change, or for a time
 *   RECORDING  the finalizer or the status is being written, before the first step
 *   STEPPING   steps are under way, on several clusters at once
 *
 * Beside that, workloads may be looked at and a gate may be asked; their answers are facts of the next
 * round. A Canary that this plan holds on a cluster that it does not mean any more is let go.
 */
#ifndef MEMBERS_WAVE_H
#define MEMBERS_WAVE_H

#include "members/hub.h"

#define WAVE_FINALIZER "flagger.app/fleet"

struct wave;

struct wave *wave_new(struct hub *hub, const char *namespace_, const char *name);
void wave_free(struct wave *wave);
/* Something that it may depend on has changed: it asks to be settled, soon. */
void wave_wake(struct wave *wave);
/* Looks at everything anew, and acts. False: it is gone, and is to be freed. */
bool wave_settle(struct wave *wave) MUST_USE;
/* The connection of this member goes: whatever is under way there ends. */
void wave_abort(struct wave *wave, const struct member *member);
/* Its rules look at Canaries of this name. */
bool wave_concerns(const struct wave *wave, const char *namespace_, const char *name);

const char *wave_namespace(const struct wave *wave);
const char *wave_name(const struct wave *wave);
/* For those who look into the process. */
struct wave_look {
    const char *state, *phase; /* phase NULL: it has none yet */
    int steps, looks;          /* under way */
    bool asks;                 /* a gate */
};
void wave_look(const struct wave *wave, struct wave_look *out);

#endif

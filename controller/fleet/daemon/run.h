/*
 * One run of a place: look, plan, write it down, carry it out, and look again until nothing is
 * left. What it does to the place it does by the ways that it is given.
 */
#ifndef MEMBERS_RUN_H
#define MEMBERS_RUN_H

#include "fleet/daemon/place.h"

struct run_ways {
    void (*set_state)(struct place *place, enum place_state state);
    void (*tell)(struct place *place, enum report_state told, const char *says);
    /* It has ended, with a failure or without (NULL); frees the run. */
    void (*end)(struct place *place, const struct errinfo *failure);
};

/* The place is in the state PLACE_LOOKING. Its end may come at once. */
void run_start(struct place *place, const struct run_ways *ways);
/* The inventory has been written, or failure says why not. */
void run_recorded(struct run *run, const struct errinfo *failure);
void run_free(struct run *run); /* NULL is allowed */

#endif

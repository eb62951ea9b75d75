/* Sets of phases, for rules and for questions about where a release is. */
#ifndef DECIDE_PHASES_H
#define DECIDE_PHASES_H

#include "proto/phase.h"

#define IN(phase) (1u << PHASE_##phase)

enum phases {
    IN_NONE = 1u << PHASE_NONE,
    INITIALISING = IN_NONE | IN(Initializing),
    IDLE = IN(Initialized) | IN(Succeeded) | IN(Failed), /* nothing is under way */
    BEGINNING = IDLE | IN(Waiting),                      /* before a release, or before its gate */
    ANALYSING = IN(Progressing) | IN(WaitingPromotion),
    PROMOTING = IN(Promoting) | IN(Finalising),
    RUNNING = ANALYSING | PROMOTING,
    STARTED = BEGINNING | RUNNING, /* it is initialised */
    LIVING = INITIALISING | STARTED,
    ENDING = IN(Terminating) | IN(Terminated),
    EVERY = LIVING | ENDING,
};

#endif

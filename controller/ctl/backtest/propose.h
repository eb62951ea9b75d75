/* A judge for a Canary, from its past releases. Pure. */
#ifndef BACKTEST_PROPOSE_H
#define BACKTEST_PROPOSE_H

#include "ctl/backtest/promise.h"

/* Tolerances under which no promoted release would have been rolled back, as small as that allows. */
struct proposal {
    const char *text; /* YAML, to stand in spec.analysis */
    /* Releases that were promoted and failed, and those of each that it would have rolled back. */
    int promoted, failed, promoted_back, failed_back;
    const struct promise *promises; /* under the traffic of the last release */
};

/*
 * ERR_NOT_FOUND: no release has counts of request-success-rate or request-duration. ERR_INVALID: the
 * releases are of several Canaries. Both say so in one sentence.
 */
enum err propose(struct arena *arena, const struct pasts *pasts, struct proposal *out,
                 struct errinfo *ei) MUST_USE;

#endif

/* Proposes a judge for a Canary, based on its past releases. Pure. */
#ifndef BACKTEST_PROPOSE_H
#define BACKTEST_PROPOSE_H

#include "ctl/backtest/promise.h"

/* Tolerances under which no promoted release would have been rolled back, as small as that
 * allows. */
struct proposal {
    const char *text; /* YAML, for use in spec.analysis */
    /* Number of promoted and of failed releases, and how many of each it would have rolled back. */
    int promoted, failed, promoted_back, failed_back;
    const struct promise *promises; /* based on the traffic of the last release */
};

/*
 * ERR_NOT_FOUND: no release has counts of request-success-rate or request-duration. ERR_INVALID:
 * the releases belong to several Canaries. In both cases the message is one sentence.
 */
enum err propose(struct arena *arena, const struct pasts *pasts, struct proposal *out,
                 struct errinfo *ei) MUST_USE;

#endif

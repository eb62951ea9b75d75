/*
 * What a Canary remembers of its releases (decide/STATUS.md): `release` of the status, of the one
 * that runs, and `history`, of those that have ended. They are for people: no rule reads them. They
 * go with a status that is written anyway, and cost no request of their own. A CRD that does not
 * know them drops them; then there is no history.
 *
 * What is kept has an end: the last steps of a release, the last releases of a Canary, texts that
 * are cut, and so many bytes in all.
 */
#ifndef DECIDE_HISTORY_H
#define DECIDE_HISTORY_H

#include "decide/release/release.h"

enum {
    HISTORY_RELEASES = 10,
    HISTORY_STEPS = 20,
    HISTORY_CHECKS = 10, /* of a step */
    HISTORY_HOOKS = 10,
    HISTORY_TEXT = 300,             /* bytes of a sentence */
    HISTORY_RELEASE_MAX = 6 * 1024, /* bytes of one as JSON: then its first steps go */
    HISTORY_MAX = 16 * 1024 - 1,    /* of all: the oldest lose steps, then looks, then go */
};

/* The release that this tick ends, or puts another one in the place of, was neither promoted nor did
 * it fail; why: one sentence. */
void history_cancel(struct release *r, const char *why);
/* It is being rolled back, or its promotion has failed: what the plan has told so far is the reason. */
void history_fail(struct release *r);
/* Sets both fields as this tick leaves them. After every rule, where a status is written that moves
 * the release. */
void history_write(struct release *r);

#endif

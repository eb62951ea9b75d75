/*
 * What the last failed check of a release said: one sentence, told as an event and kept in the
 * condition ChecksPassed, so that whoever hears of a rollback later can be told why. It stays until
 * the checks pass or the next analysis begins.
 */
#ifndef DECIDE_CHECKS_H
#define DECIDE_CHECKS_H

#include "decide/release/release.h"

/* reason: of the condition, "OutOfRange". Returns STOP. */
enum verdict checks_failed(struct release *r, const char *reason, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
void checks_passed(struct release *r);
/* The sentence of the check that failed last; "": none has. */
const char *checks_why(const struct release *r);

#endif

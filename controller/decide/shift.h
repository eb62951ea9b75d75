/* Traffic moves to the primary in steps: in a promotion, and in a rollback. */
#ifndef DECIDE_SHIFT_H
#define DECIDE_SHIFT_H

#include "decide/release.h"

struct shift {
    const struct canary_return *way;
    const char *field;  /* of the status: the step that runs, its `weight` and `since` */
    int64_t default_ms; /* how long a step without `for` lasts */
};
/*
 * False if all traffic moves at once whatever the spec says: the canary is not ready, or not the
 * revision that was analysed any more, or what it has is no share of all requests.
 */
bool shift_may_be_slow(struct release *r);
/* The canary's share after `left`; 0 behind the last step. Hundredths of a percent. */
int shift_next(const struct shift *shift, int left);
/* Records that the step with this share of the primary begins. */
void shift_note(struct release *r, const struct shift *shift, int primary);
/*
 * Milliseconds for which the step with this share of the primary lasts from now on. One that the
 * status does not have, as after an edit, begins anew.
 */
int64_t shift_left_ms(struct release *r, const struct shift *shift, int primary);

#endif

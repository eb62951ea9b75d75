/* An interval from when the mesh has taken over the routes. */
#ifndef DECIDE_PAUSE_H
#define DECIDE_PAUSE_H

#include "decide/release/release.h"

struct pause {
    const char *type;          /* of the condition that remembers it */
    const char *reason, *text; /* of it, while the interval counts */
    bool done;                 /* what has been routed is what was wanted: it is True then */
    bool unasked;              /* whatever the mesh says */
    int64_t more_ms;           /* beyond the interval */
};
/* What leads the traffic away is in this plan, or was in that of the tick before. GO or NEED_FACTS.
 */
enum verdict pause_begin(struct release *r, const struct pause *pause);
/* It goes on: the condition says what is waited for. GO or NEED_FACTS. */
enum verdict pause_note(struct release *r, const struct pause *pause);
/* ... GO: it is over. STOP: it is not; when to look again was planned. The caller clears the
 * condition when it has done what it waited for. */
enum verdict pause_pass(struct release *r, const struct pause *pause);
/* What is left of the interval that counted when this tick began, in ms; 0: none does. */
int64_t pause_left_ms(struct release *r, const struct pause *pause);

#endif

/* What a Canary says of itself at a glance. Pure functions of the object; texts are borrowed from
 * it, or owned by the arena. */
#ifndef CTL_GLANCE_H
#define CTL_GLANCE_H

#include "ctl/print.h"

struct glance {
    const char *namespace_, *name;
    const char *phase;    /* "" while nothing has looked at it */
    const char *revision; /* the hash that was analysed last, "" if none */
    int weight;           /* percent that is routed to the canary */
    int failed_checks, threshold;
    const char *since;  /* when the status was last written; NULL: never */
    const char *reason; /* of the condition that matters most, "" where all is well */
};
void glance_at(struct arena *arena, struct json_object *canary, struct glance *out);

/* Green where all is well, red where a person must look, yellow on the way. */
enum print_color glance_color(const char *phase);
/* The condition of this type, NULL: there is none. */
struct json_object *glance_condition(struct json_object *canary, const char *type);
/* What the gates have said that let a release (`release` or an entry of `history` of the status)
 * through, "promote: Approved by alice: looks good", cleaned, several behind "; ". "": no gate has
 * said more than yes. */
const char *glance_approvals(struct arena *arena, struct json_object *release);
/* It says that something is not as it should be. */
bool glance_is_trouble(struct json_object *condition);

#endif

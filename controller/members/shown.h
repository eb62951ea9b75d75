/* What the page of the fleet is shown: the plans, as the watch of them has brought them. */
#ifndef MEMBERS_SHOWN_H
#define MEMBERS_SHOWN_H

#include "members/members.h"

/* "NAMESPACE/NAME" of all, in their order; owned by the arena. False: not all is known yet. */
bool shown_plans(const struct members *members, struct arena *arena, const char ***out,
                 size_t *count);
/* NULL: there is none, for the moment. */
struct json_object *shown_plan(const struct members *members, struct arena *arena,
                               const char *namespace_, const char *name);

#endif

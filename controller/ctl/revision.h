/* The revision that a target has now, by the controller's own rules (target/OBJECTS.md): what its
 * hash will be in status.lastAppliedSpec. */
#ifndef CTL_REVISION_H
#define CTL_REVISION_H

#include "ctl/read.h"

/* NULL: nobody can tell, for the spec is refused, or the target is missing or may not be read. */
const char *revision_of_target(struct ctl *ctl, struct json_object *canary);

#endif

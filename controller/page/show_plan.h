/* ReleasePlans as the page of the fleet has them: JSON made from their statuses. Owned by the arena. */
#ifndef PAGE_SHOW_PLAN_H
#define PAGE_SHOW_PLAN_H

#include "base/json.h"

/* {"namespace", "name", "phase", "message", "revision", "since", "canaries", "promoted", "underWay",
 * "failed", "held"} */
struct json_object *show_plan_brief(struct arena *arena, struct json_object *plan);
/* And "conditions", "waves", each with its "clusters", and those that no wave has as "outside". */
struct json_object *show_plan(struct arena *arena, struct json_object *plan);

#endif

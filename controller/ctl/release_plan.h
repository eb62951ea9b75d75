/* A ReleasePlan for people and programs, as its status says where it stands. */
#ifndef CTL_RELEASE_PLAN_H
#define CTL_RELEASE_PLAN_H

#include "base/json.h"
#include "ctl/ctl.h"

/* It is about this Application, or is called so. */
bool release_plan_means(struct json_object *plan, const char *name);
/* Somebody has looked at it, as it is now. */
bool release_plan_is_known(struct json_object *plan);
/* A tree: counts and conditions, then its waves, then their clusters. */
void release_plan_print(struct ctl *ctl, struct json_object *plan);
/* Its names and its status, owned by ctl->arena. */
struct json_object *release_plan_data(struct ctl *ctl, struct json_object *plan);

#endif

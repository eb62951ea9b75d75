/* One Canary with its objects, for people. */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include "base/json.h"
#include "ctl/ctl.h"
#include "ctl/facts.h"

/* Prints a tree on ctl->out. waits: why the release waits, one sentence; NULL if it does not. */
void show_tree(const struct ctl *ctl, const struct facts *facts, const char *waits);
/* The same for programs, owned by the arena: names, numbers and sentences, of each part what the
 * tree shows. */
struct json_object *show_data(const struct ctl *ctl, const struct facts *facts);

/* --- a ReleasePlan, by its status */

/* True if the plan releases this Application or has this name. */
bool release_plan_means(struct json_object *plan, const char *name);
/* True if the controller has seen its current generation. */
bool release_plan_is_known(struct json_object *plan);
/* A tree: counts and conditions, then its waves, then their clusters. */
void release_plan_print(struct ctl *ctl, struct json_object *plan);
/* Its names and its status, owned by ctl->arena. */
struct json_object *release_plan_data(struct ctl *ctl, struct json_object *plan);

#endif

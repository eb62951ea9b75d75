/* Policies, budgets and monitors that select pods of the target, and copies of them for the primary. */
#ifndef DECIDE_COMPANIONS_H
#define DECIDE_COMPANIONS_H

#include "decide/release/release.h"

/* Reports those that do not select the pods of the primary, which serve: the condition stands until
 * a later look finds none. GO or NEED_FACTS. */
enum verdict companions_look(struct release *r);
/* The object, of this kind, selects pods with the labels of the target and not those with the labels
 * of the primary. False for another kind, and for one that selects Services. */
bool companions_unfit(const char *kind, struct json_object *object, struct json_object *target,
                      struct json_object *primary);
/* The copies of what spec.companions names are as they are to be, those of what it no longer names
 * go. What is not copied is reported by a condition. GO, NEED_FACTS, or STOP: which copies there are is
 * noted first. */
enum verdict companions_copy(struct release *r);
/* The resource of a kind that is copied for a primary; NULL: it is not. */
const struct kube_resource *companions_resource(const char *kind);
/* "PodDisruptionBudget", those kinds; owned by the arena. */
const char *companions_kinds(struct arena *arena);
/* spec.companions has it. */
bool companions_are_named(const struct canary *canary, const char *kind, const char *name);
/* The end of a sentence about `names`, "PodDisruptionBudget web": how those that can be copied are
 * copied; "" when none can. Owned by the arena. */
const char *companions_way_out(struct arena *arena, const char *names);

#endif

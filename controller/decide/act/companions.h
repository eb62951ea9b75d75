/* Policies, budgets and monitors that select pods of the target. */
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

#endif

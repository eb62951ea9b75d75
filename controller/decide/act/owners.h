/* Workloads of others whose pods the Services of a Canary would select. */
#ifndef DECIDE_OWNERS_H
#define DECIDE_OWNERS_H

#include "decide/release/release.h"

/* Before the Services of a new Canary are made. STOP: they would lead to pods of others, which is
 * told; the condition stands until they would not. */
enum verdict owners_look(struct release *r);
/* Afterwards: workloads whose pods the selector of the primary picks as well, whenever they were made.
 * They are told, and hold nothing up. The primary must exist. GO or NEED_FACTS. */
enum verdict owners_look_around(struct release *r);
/* Pods that are not the target's and that the Service of the canary selects: bare ones, those of Jobs. They
 * are told as well, at the end of the initialisation and of each release. GO or NEED_FACTS. */
enum verdict owners_look_at_pods(struct release *r);

#endif

/* Services of others that lead to the target. */
#ifndef DECIDE_BYSTANDER_H
#define DECIDE_BYSTANDER_H

#include "decide/release/release.h"

/* STOP: there are some, which is told; the condition stands until there are none. */
enum verdict bystander_look(struct release *r);
/* The same while the Canary is initialised, and where there were some then; else GO. */
enum verdict bystander_wait(struct release *r);
/* Of a Canary that goes: its primary stays for Services of others, which is told. GO or NEED_FACTS.
 */
enum verdict bystander_keep_primary(struct release *r);

#endif

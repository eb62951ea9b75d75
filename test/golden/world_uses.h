/* Which rights the rules' reads and writes take: told in the file that GOLDEN_USES names
 * in the environment, each once (test/golden/rights). */
#ifndef GOLDEN_WORLD_USES_H
#define GOLDEN_WORLD_USES_H

#include "tick/fact.h"
#include "tick/plan.h"
#include "tick/tick.h"

void world_uses_need(const struct tick *tick, const struct need *need);
void world_uses_effect(const struct tick *tick, const struct effect *effect);

#endif

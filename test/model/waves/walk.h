/* Walks every state of a scenario. False: a rule does not hold, or some state has no way to the end;
 * says tells it, and where `trace`, the shortest way there is printed. */
#ifndef TEST_MODEL_WAVES_WALK_H
#define TEST_MODEL_WAVES_WALK_H

#include "world.h"

enum { SAYS_TEXT = 200 };
bool walk(const struct scenario *scenario, bool trace, char says[SAYS_TEXT]);
const struct scenario *scenario_find(const char *name);

#endif

/* Explores a scenario: every state that it can reach, and how each run ends. */
#ifndef MODEL_EXPLORE_H
#define MODEL_EXPLORE_H

#include "scenario.h"

/* The rule of safety that does not hold, whose shortest way is printed; NULL: all hold. brief: only
 * the rule and how long the way is, and nothing if all hold: for rules that are broken on purpose. */
const char *explore(const struct scenario *scenario, bool brief);

#endif

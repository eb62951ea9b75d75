/* Explores a scenario: every state that it can reach, and how each run ends. */
#ifndef MODEL_EXPLORE_H
#define MODEL_EXPLORE_H

#include "scenario.h"

/* False: a rule of safety does not hold, and the shortest way there is printed. brief: only the
 * rule and how long the way is, and nothing if all hold: for rules that are broken on purpose. */
bool explore(const struct scenario *scenario, bool brief);

#endif

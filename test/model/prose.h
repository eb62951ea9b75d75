/*
 * Messages of conditions are for people, and so is what the judge says. No rule reads them back:
 * with other words in their place, the rules come to the same decision.
 */
#ifndef MODEL_PROSE_H
#define MODEL_PROSE_H

#include "tick/tick.h"

/* The Canary with other words in all messages of its conditions, and in what the judge says;
 * NULL: it has no conditions. Owned by the arena. */
struct json_object *prose_reworded(struct arena *arena, struct json_object *canary);
/* What the plan writes, in text: objects, and the status that it leads to but for its messages and
 * when they were last said. `canary` is what was decided on. Owned by the arena. */
const char *prose_decision(struct arena *arena, const struct tick *tick,
                           struct json_object *canary);

#endif

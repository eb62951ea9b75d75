/*
 * What the judge sees between the steps (spec.analysis.judge). A look has one answer, of all its
 * questions: the canary is not worse (PASS), is worse (FAIL), had no requests (NONE), or nobody can
 * say (ERROR).
 */
#ifndef MODEL_LOOKS_H
#define MODEL_LOOKS_H

#include "ticks.h"

#include "tick/fact.h"

/* It is a question of a look. */
bool looks_asks(const struct need *need);
/* ... of the primary's windows before the first one: these count nothing of the release. */
bool looks_asks_before(const struct need *need);
/* Of what time, in Unix seconds. */
void looks_window(const struct need *need, int64_t *from, int64_t *to);
struct metric_answer looks_answer(const struct need *need, uint8_t answer);

/*
 * Numbers of evidence have no end. To the model, two of the same verdict are one, and so are texts:
 * changes the status that a tick writes. What was seen of requests counts only by the verdict: the
 * scenarios ask for more of them than there are.
 */
void looks_abstract(struct arena *arena, struct json_object *status);
/* So much time passes that a look is due. False: nothing changes. */
bool looks_grow_old(struct json_object *canary);

#endif

/*
 * Verdicts on background tasks: a failed load test makes the next check of its Canary fail. Kept
 * per Canary and task: the latest VERDICT_KEPT, of at most VERDICT_BYTES in total.
 */
#ifndef LOADTESTER_VERDICT_H
#define LOADTESTER_VERDICT_H

#include "loadtester/summary.h"
#include "loadtester/task.h"

enum { VERDICT_KEPT = 4096, VERDICT_BYTES = 16 * 1024 * 1024 };

/*
 * A sentence if the run violated its bounds, NULL if it did not (or has none). error is the run's
 * ("exit status 3", NULL if none); summary may be NULL. Owned by the arena.
 */
const char *verdict_sentence(struct arena *arena, const struct task_plan *plan, const char *error,
                             const struct summary *summary);

struct verdicts;
struct verdicts *verdicts_new(void);
void verdicts_free(struct verdicts *verdicts);
/* Stores a failure or, if sentence is NULL, removes that of an earlier run. Everything is
 * copied. */
void verdicts_put(struct verdicts *verdicts, const char *canary, const char *key,
                  const char *checksum, const char *sentence);
/*
 * The last run's failure, returned once: NULL if there is none, or if it belongs to another
 * revision (checksum), in which case it is removed. Owned by the arena.
 */
const char *verdicts_take(struct verdicts *verdicts, struct arena *arena, const char *canary,
                          const char *key, const char *checksum);

#endif

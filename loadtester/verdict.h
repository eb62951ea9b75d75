/*
 * What the last run of a background task means for the release: a failed load test makes the next
 * check of its Canary fail. Kept per Canary and task, the VERDICT_KEPT that were made last,
 * at most VERDICT_BYTES of them.
 */
#ifndef LOADTESTER_VERDICT_H
#define LOADTESTER_VERDICT_H

#include "loadtester/summary.h"
#include "loadtester/task.h"

enum { VERDICT_KEPT = 4096, VERDICT_BYTES = 16 * 1024 * 1024 };

/*
 * One sentence when the run failed by its bounds, NULL when it did not (or has none). error is how
 * the run ended ("exit status 3", NULL: well); summary may be NULL. Owned by the arena.
 */
const char *verdict_sentence(struct arena *arena, const struct task_plan *plan, const char *error,
                             const struct summary *summary);

struct verdicts;
struct verdicts *verdicts_new(void);
void verdicts_free(struct verdicts *verdicts);
/* Remembers a failure, or (sentence NULL) forgets that of an earlier run. Everything is copied. */
void verdicts_put(struct verdicts *verdicts, const char *canary, const char *key,
                  const char *checksum, const char *sentence);
/*
 * The failure of the last run, told once: NULL when there is none, it was told already, or it is of
 * another revision (checksum), which is then forgotten. Owned by the arena.
 */
const char *verdicts_take(struct verdicts *verdicts, struct arena *arena, const char *canary,
                          const char *key, const char *checksum);

#endif

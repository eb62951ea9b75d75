/* Whether an object is as the rules would have made it, and how it differs. Pure. */
#ifndef OBSERVE_JUDGE_H
#define OBSERVE_JUDGE_H

#include "observe/foresee.h"

/*
 * Holds what was foreseen against the cluster as it is now. GO: *differences has a line for each
 * place that is not so ("httproutes test/app: spec.rules[0].weight is 20, expected 10"), "" if there
 * is none. What the objects hold beside it does not count, nor do notes that only we make. Texts
 * are not shown, for they may be secrets. NEED_FACTS: as of decide().
 */
enum verdict judge_writes(struct tick *tick, const struct foreseen_write *writes,
                          const char **differences);

#endif

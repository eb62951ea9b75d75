/*
 * The environment that tasks see: what a command needs to find its files, its proxies and the
 * cluster, and nothing else of ours.
 */
#ifndef LOADTESTER_ENVIRONMENT_H
#define LOADTESTER_ENVIRONMENT_H

#include "base/arena.h"

/*
 * The variables of `ours` (NULL-ended "NAME=value") that tasks see: the usual ones and those that
 * `pass` names (NULL-ended, "*" at the end of a name stands for anything). NULL-ended; borrows the
 * texts.
 */
const char *const *environment_for_tasks(struct arena *arena, char *const *ours,
                                         const char *const *pass);

#endif

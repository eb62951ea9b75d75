/*
 * The controller as a process that is killed for good. Other than net/child/child.h, nothing stands
 * between: a kill is SIGKILL to the program itself, and returns when it is dead. It dies with us.
 */
#ifndef TORTURE_PROCESS_H
#define TORTURE_PROCESS_H

#include <stdbool.h>

#include "base/err.h"

/* argv[0] is the program's path. Output is appended to the file log. */
enum err process_start(const char *const *argv, const char *log, int *pid,
                       struct errinfo *ei) MUST_USE;
/* SIGKILL; it has ended on return. */
void process_kill(int pid);
/* SIGTERM; returns its exit status, 128 + the signal that ended it. Killed after 10 s. */
int process_end(int pid);
/* Whether it has ended by itself; *status as for process_end(). */
bool process_ended(int pid, int *status);
/* The calling process dies when the one that started it does. */
void process_follow_parent(void);

#endif

/*
 * Runs tasks as supervised children: the same task of the same Canary is one task while it runs,
 * each has the global time-out, and the RUNNER_KEPT that ended last are kept with their exit
 * status.
 */
#ifndef LOADTESTER_RUNNER_H
#define LOADTESTER_RUNNER_H

#include "base/buf.h"
#include "loadtester/task.h"
#include "net/child.h"

enum {
    RUNNER_KEPT = 256,
    RUNNER_MAX_RUNNING = 256,
    RUNNER_MAX_WAITERS = 256, /* of one task, those included that have gone */
    RUNNER_MAX_OUTPUT = 64 * 1024
};

struct runner;

/* What is known of a task; strings are borrowed. */
struct task_result {
    const char *text;  /* the command */
    const char *error; /* NULL: it ended with status 0; else "exit status 3", "signal 9", "timed out
                          after 1h0m0s" ... */
    const char *output; /* the first RUNNER_MAX_OUTPUT bytes */
};
/* Exactly once, never before runner_start() has returned. */
typedef void (*runner_done_fn)(void *arg, const struct task_result *result);

struct runner *runner_new(struct loop *loop, int64_t timeout_ms);
/* Ends every task (TERM, then KILL) and takes no new one; the children keep the loop alive until
 * they are gone. */
void runner_stop(struct runner *runner);
void runner_free(struct runner *runner); /* after the loop has ended */

enum runner_start { RUNNER_STARTED, RUNNER_RUNS_ALREADY, RUNNER_FULL, RUNNER_STOPPED };
/*
 * canary: "name.namespace". Everything is copied. done may be NULL; it is called only when STARTED,
 * or, for a task that runs already, when join is set: then both wait for the same end.
 */
enum runner_start runner_start(struct runner *runner, const struct task_type *type,
                               const char *canary, const struct task_command *command, bool join,
                               runner_done_fn done, void *arg);
/* Every task that runs and those that are kept, newest first, as a JSON array; owned by the arena.
 */
const char *runner_list(struct runner *runner, struct arena *arena);

#endif

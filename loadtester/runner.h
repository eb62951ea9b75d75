/*
 * Runs tasks: each as a supervised child or a conversation, the same task of the same Canary once
 * at a time, so many at once in all and for one Canary, the rest in a queue that has an end. The
 * RUNNER_KEPT tasks that ended last are kept.
 */
#ifndef LOADTESTER_RUNNER_H
#define LOADTESTER_RUNNER_H

#include "loadtester/task.h"
#include "loadtester/task_user.h"
#include "loadtester/verdict.h"
#include "net/child/child.h"
#include "net/client.h"

enum {
    RUNNER_KEPT = 256,
    RUNNER_MAX_WAITERS = 256, /* of one task, those included that have gone */
    RUNNER_LIST_TAIL = 4096,  /* bytes of output in JSON */
    RUNNER_TEXT = 4096,       /* bytes of a command in lists, logs and messages */
    RUNNER_LOOK_CANARIES = 20,
    RUNNER_MAX_BYTES = 16 * 1024 * 1024, /* of the plans of all tasks that wait and run */
};

struct runner;
struct task; /* one run of a task, known by its id */

struct runner_options {
    int64_t timeout_ms;         /* of a task, from its start */
    int max_running;            /* at once in all */
    int max_per_canary;         /* at once for one Canary */
    int max_queued;             /* waiting in all; more are refused */
    struct child_limits limits; /* of each command, but for its user */
    struct task_users *users;   /* of commands, by namespace; outlives the runner; NULL: ours */
    const char *const *env;     /* of commands: NULL-ended, outlives the runner; NULL: ours */
    struct http_client *client; /* for conversations; outlives the runner's tasks */
};

/* What is known of a task that has ended; strings are borrowed. */
struct task_result {
    const char *text;  /* the command */
    const char *error; /* NULL: it ended well; else "exit status 3", "signal 9", "timed out after
                          1h0m0s" ... */
    const char *output;
};
/* Exactly once, never before runner_start() has returned. */
typedef void (*runner_done_fn)(void *arg, const struct task_result *result);

struct runner *runner_new(struct loop *loop, const struct runner_options *options);
/* Ends every task (TERM, then KILL) and takes no new one; the children keep the loop alive until
 * they are gone. */
void runner_stop(struct runner *runner);
void runner_free(struct runner *runner); /* after the loop has ended */

enum runner_start { RUNNER_STARTED, RUNNER_RUNS_ALREADY, RUNNER_FULL, RUNNER_STOPPED };

/* Who asks for what. The arena holds the plan, and goes to the runner whatever comes of it; the
 * message is borrowed until runner_start() returns. */
struct runner_order {
    const struct task_type *type;
    const struct webhook_message *message;
    struct task_plan plan;
    struct arena *arena;
};
/*
 * Starts or queues (STARTED). done may be NULL; it is called only when STARTED, or, for a task that
 * is there already, when join is set: then both wait for the same end. Otherwise *full (may be
 * NULL) says in a sentence what there is too much of.
 */
enum runner_start runner_start(struct runner *runner, struct runner_order *order, bool join,
                               runner_done_fn done, void *arg, const char **full);
/* What the next check of this task's Canary is told of the last run; told once, NULL when there is
 * nothing to tell (loadtester/verdict.h). */
const char *runner_verdict(struct runner *runner, const struct runner_order *order,
                           struct arena *arena);

/* --- looking */

/* NULL: there is none, or it was forgotten. Borrowed until the loop turns. */
struct task *runner_find(struct runner *runner, uint64_t id);
/* Every task that waits or runs and those that are kept, newest first, as a JSON array without
 * their output; owned by the arena. */
const char *runner_list(struct runner *runner, struct arena *arena);
/* One task as a JSON object, with the end of its output. */
const char *task_json(const struct task *task, struct arena *arena);
/* Sets how many run, wait and are kept, of how many that may, and the RUNNER_LOOK_CANARIES Canaries
 * that have most of them. */
void runner_look(const struct runner *runner, struct json_object *out);
bool task_has_ended(const struct task *task);

/* Hears what a task writes and that it has ended; then, or with task_unlisten(), it is forgotten.
 */
struct task_listener {
    struct task_listener *next;
    void (*on_output)(void *arg, const char *data, size_t len);
    void (*on_state)(void *arg, const struct task *task); /* started, ended */
    void *arg;
};
/* The listener is the caller's and must stay until on_state said that it has ended. */
void task_listen(struct task *task, struct task_listener *listener);
void task_unlisten(struct task *task, struct task_listener *listener);

#endif

/*
 * Runs tasks, each as a supervised child or as a conversation. The same task of the same Canary
 * runs only once at a time. Limits concurrency in total and per Canary; further tasks wait in a
 * bounded queue. The last RUNNER_KEPT ended tasks are kept.
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
    RUNNER_MAX_WAITERS = 256, /* waiters per task, including disconnected ones */
    RUNNER_LIST_TAIL = 4096,  /* bytes of output in JSON */
    RUNNER_TEXT = 4096,       /* bytes of a command in lists, logs and messages */
    RUNNER_SNAPSHOT_CANARIES = 20,
    RUNNER_MAX_BYTES = 16 * 1024 * 1024, /* plans of all waiting and running tasks */
};

struct runner;
struct task; /* one run of a task, identified by its id */

struct runner_options {
    int64_t timeout_ms;         /* maximum of a task, from its start */
    int max_running;            /* in total */
    int max_per_canary;         /* at once for one Canary */
    int max_queued;             /* waiting tasks in total; further ones are rejected */
    struct child_limits limits; /* limits of each command, except its user */
    struct task_users *users; /* users of commands, by namespace; outlives the runner; NULL: ours */
    const char *const *env;   /* of commands: NULL-ended, outlives the runner; NULL: our own */
    struct http_client *client; /* for conversations; outlives the runner's tasks */
};

/* An ended task; strings are borrowed. */
struct task_result {
    const char *text; /* the command */
    const char *
        /* NULL if successful; else "exit status 3", "signal 9", "timed out after 1h0m0s" . */
        error;
    const char *output;
    const struct summary *summary; /* result of a load generator; NULL if its output has none */
};
/* Called exactly once, never before runner_start() has returned. */
typedef void (*runner_done_fn)(void *arg, const struct task_result *result);

struct runner *runner_new(struct loop *loop, const struct runner_options *options);
/* Ends every task (TERM, then KILL) and rejects new ones; the children keep the loop alive until
 * they have exited. */
void runner_stop(struct runner *runner);
void runner_free(struct runner *runner); /* after the loop has ended */

enum runner_start { RUNNER_STARTED, RUNNER_RUNS_ALREADY, RUNNER_FULL, RUNNER_STOPPED };

/* A task to run, and its caller. The arena holds the plan, and is always taken by the runner;
 * the message is borrowed until runner_start() returns. */
struct runner_order {
    const struct task_type *type;
    const struct webhook_message *message;
    struct task_plan plan;
    struct arena *arena;
};
/*
 * Starts or queues the task (STARTED). done may be NULL; it is called only after STARTED or, if the
 * task exists already, when join is set: then both callers wait for the same end. Otherwise *full
 * (may be NULL) is a sentence about the limit that was reached.
 */
enum runner_start runner_start(struct runner *runner, struct runner_order *order, bool join,
                               runner_done_fn done, void *arg, const char **full);
/* The last run's failure, for the next check of this task's Canary; returned once, NULL if there
 * is none (loadtester/verdict.h). */
const char *runner_verdict(struct runner *runner, const struct runner_order *order,
                           struct arena *arena);

/* --- lists and snapshots */

/* NULL if unknown or dropped. Borrowed until the next loop iteration. */
struct task *runner_find(struct runner *runner, uint64_t id);
/* All waiting, running and kept tasks, newest first, as a JSON array without their output; owned by
 * the arena. */
const char *runner_list(struct runner *runner, struct arena *arena);
/* One task as a JSON object, with the end of its output. */
const char *task_json(const struct task *task, struct arena *arena);
/* Sets the numbers of running, waiting and kept tasks and their limits, and the
 * RUNNER_SNAPSHOT_CANARIES busiest Canaries. */
void runner_snapshot(const struct runner *runner, struct json_object *out);
bool task_has_ended(const struct task *task);

/* Receives output and state changes of a task; removed at its end, or by task_unlisten(). */
struct task_listener {
    struct task_listener *next;
    void (*on_output)(void *arg, const char *data, size_t len);
    void (*on_state)(void *arg, const struct task *task); /* at start and end */
    void *arg;
};
/* The listener belongs to the caller and must stay valid until on_state has reported the end. */
void task_listen(struct task *task, struct task_listener *listener);
void task_unlisten(struct task *task, struct task_listener *listener);

#endif

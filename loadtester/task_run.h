/* One run of a task, private to runner*.c: from the queue through the child or conversation to its
 * end. */
#ifndef LOADTESTER_TASK_RUN_H
#define LOADTESTER_TASK_RUN_H

#include <sys/queue.h>

#include "loadtester/output.h"
#include "loadtester/runner.h"

enum task_state { TASK_QUEUED, TASK_RUNNING, TASK_SUCCEEDED, TASK_FAILED };

/* Someone who waits for a task's end. */
struct task_waiter {
    struct task_waiter *next;
    runner_done_fn done;
    void *arg;
};

struct canary_load;

struct task {
    TAILQ_ENTRY(task) link;
    TAILQ_ENTRY(task) turn; /* among those that wait and run, or those that have ended */
    struct arena *arena;    /* the task is in it, and what is kept of it */
    struct arena *order;    /* the plan; NULL once it has ended */
    uint64_t id;
    const struct task_type *type;
    const char *canary, *checksum;
    struct canary_load *load; /* the runner's; NULL once it has ended */
    size_t order_bytes;
    struct child_limits limits; /* of a command, with the user that it runs as */
    const char *const *env;     /* of a command */
    struct task_plan plan; /* its text is the beginning of it; once it has ended nothing else */
    enum task_state state;
    bool ran;                      /* it left the queue */
    bool was_remote;               /* it was a conversation, and has ended */
    int64_t queued_ms;             /* wall clock: when it was asked for */
    int64_t waited_ms, elapsed_ms; /* in the queue; from start to end */
    int64_t queued_at_ms;          /* monotonic */
    struct child *child;           /* one of these while it runs */
    struct remote_run *remote_run;
    struct task_waiter *waiters;
    int n_waiters;
    struct task_listener *listeners;
    struct output output;
    const char *error; /* of task_result */
    int exit_status, signal;
    bool has_summary;
    struct summary summary;
    void (*on_end)(void *arg, struct task *task); /* the runner's */
    void *runner;
};

/* Queued -> running. on_end is called once when it has ended, from the loop. */
void task_run(struct task *task, struct loop *loop, const struct runner_options *options);
/* Ends it: a task that waits at once, one that runs by and by. */
void task_stop(struct task *task);
/* Lets go of what only a task that runs needs: a message may be large, and ended tasks are kept. */
void task_forget_order(struct task *task);
void task_free(struct task *task);

#endif

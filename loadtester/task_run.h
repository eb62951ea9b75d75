/* One run of a task, from the queue through its child or conversation to its end. Private to
 * runner.c and task_run.c. */
#ifndef LOADTESTER_TASK_RUN_H
#define LOADTESTER_TASK_RUN_H

#include <stddef.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "loadtester/runner.h"

/*
 * Output of a task: the first OUTPUT_HEAD bytes and the last OUTPUT_TAIL, since tools print their
 * settings first and results last. Embedded by its owner.
 */
enum { OUTPUT_HEAD = 16 * 1024, OUTPUT_TAIL = 48 * 1024 };

struct output {
    char *head, *tail; /* tail is a ring; both are allocated on first use */
    size_t head_len, tail_len, tail_end;
    size_t total; /* all bytes received */
};

void output_add(struct output *output, const char *data, size_t len);
/* Everything kept, with a line that counts the omitted bytes; not necessarily valid UTF-8. Owned
 * by the arena. */
const char *output_text(const struct output *output, struct arena *arena);
/* The last `max` bytes kept, from the start of a line if possible. */
const char *output_tail(const struct output *output, struct arena *arena, size_t max);
void output_fini(struct output *output);

enum task_state { TASK_QUEUED, TASK_RUNNING, TASK_SUCCEEDED, TASK_FAILED };

/* A caller that waits for a task's end. */
struct task_waiter {
    struct task_waiter *next;
    runner_done_fn done;
    void *arg;
};

struct canary_load;

struct task {
    TAILQ_ENTRY(task) link;
    TAILQ_ENTRY(task) live; /* in the list of live or ended tasks */
    struct arena *arena;    /* holds the task, and the parts of it that are kept */
    struct arena *order;    /* the plan; NULL after the end */
    uint64_t id;
    const struct task_type *type;
    const char *canary, *checksum;
    struct canary_load *load; /* belongs to the runner; NULL after the end */
    size_t order_bytes;
    struct child_limits limits; /* limits of a command, including its user */
    const char *const *env;     /* environment of a command */
    struct task_plan plan;      /* after the end, only the beginning of its text */
    enum task_state state;
    bool ran;                      /* it has left the queue */
    bool was_remote;               /* it was a conversation, and has ended */
    int64_t queued_ms;             /* wall clock: when it was requested */
    int64_t waited_ms, elapsed_ms; /* time in the queue; time from start to end */
    int64_t queued_at_ms;          /* monotonic */
    struct child *child;           /* one of these while running */
    struct remote_run *remote_run;
    struct task_waiter *waiters;
    int n_waiters;
    struct task_listener *listeners;
    struct output output;
    const char *error; /* error of task_result */
    int exit_status, signal;
    bool has_summary;
    struct summary summary;
    void (*on_end)(void *arg, struct task *task); /* set by the runner */
    void *runner;
};

/* Moves a task from queued to running. on_end is called once at the end, from the loop. */
void task_run(struct task *task, struct loop *loop, const struct runner_options *options);
/* Ends the task: immediately if it waits, asynchronously if it runs. */
void task_stop(struct task *task);
/* Frees the plan: a message may be large, and ended tasks are kept. */
void task_free_order(struct task *task);
void task_free(struct task *task);

#endif

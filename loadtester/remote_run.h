/*
 * A task that another service carries out: sends the requests that its type (struct remote) asks
 * for, one after the other, until it says that the work has ended or somebody stops it.
 */
#ifndef LOADTESTER_REMOTE_RUN_H
#define LOADTESTER_REMOTE_RUN_H

#include "loadtester/task.h"
#include "net/client.h"

struct remote_run;

struct remote_run_result {
    const char *error; /* NULL: it ended well */
    bool timed_out;
    int64_t elapsed_ms;
};
/* Exactly once, never before remote_run_start() has returned. */
typedef void (*remote_run_done_fn)(void *arg, const struct remote_run_result *result);

/*
 * plan must outlive the run. timeout_ms 0: none. note is called with a line for people (without
 * line break) about each request and answer; it never holds credentials.
 */
struct remote_run *remote_run_start(struct loop *loop, struct http_client *client,
                                    const struct task_plan *plan, int64_t timeout_ms,
                                    void (*note)(void *arg, const char *line),
                                    remote_run_done_fn done, void *arg);
/* Tells the other service, if it can be told; done follows. Idempotent. */
void remote_run_stop(struct remote_run *remote_run);

#endif

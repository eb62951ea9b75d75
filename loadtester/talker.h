/*
 * A task that another service carries out: sends the requests that its type (struct talk) asks for,
 * one after the other, until it says that the work has ended or somebody stops it.
 */
#ifndef LOADTESTER_TALKER_H
#define LOADTESTER_TALKER_H

#include "loadtester/task.h"
#include "net/client.h"

struct talker;

struct talker_result {
    const char *error; /* NULL: it ended well */
    bool timed_out;
    int64_t elapsed_ms;
};
/* Exactly once, never before talker_start() has returned. */
typedef void (*talker_done_fn)(void *arg, const struct talker_result *result);

/*
 * plan must outlive the talker. timeout_ms 0: none. note is called with a line for people (without
 * line break) about each request and answer; it never holds credentials.
 */
struct talker *talker_start(struct loop *loop, struct http_client *client,
                            const struct task_plan *plan, int64_t timeout_ms,
                            void (*note)(void *arg, const char *line), talker_done_fn done,
                            void *arg);
/* Tells the other service, if it can be told; done follows. Idempotent. */
void talker_stop(struct talker *talker);

#endif

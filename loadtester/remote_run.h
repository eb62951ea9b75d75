/*
 * A task carried out by another service: sends the requests of its type (struct remote) one after
 * another, until the work has ended or is cancelled.
 */
#ifndef LOADTESTER_REMOTE_RUN_H
#define LOADTESTER_REMOTE_RUN_H

#include "base/arena.h"
#include "base/err.h"
#include "loadtester/task.h"
#include "net/client.h"

struct remote_run;

struct remote_run_result {
    const char *error; /* NULL if successful */
    bool timed_out;
    int64_t elapsed_ms;
};
/* Called exactly once, never before remote_run_start() has returned. */
typedef void (*remote_run_done_fn)(void *arg, const struct remote_run_result *result);

/*
 * plan must outlive the run. timeout_ms 0 means no limit. note is called with a readable line
 * (without line break) about each request and answer; it never contains credentials.
 */
struct remote_run *remote_run_start(struct loop *loop, struct http_client *client,
                                    const struct task_plan *plan, int64_t timeout_ms,
                                    void (*note)(void *arg, const char *line),
                                    remote_run_done_fn done, void *arg);
/* Cancels the work at the other service if possible; done follows. Idempotent. */
void remote_run_stop(struct remote_run *remote_run);

/* A task may name a file with a key. It is opened only below one folder, even if the path or
 * links in the folder lead elsewhere. */

enum { KEY_FILE_MAX = 64 * 1024 };

/*
 * Reads a regular file; ERR_DENIED if the path or a link leads out of the folder. Links within the
 * folder are followed if the kernel can confine a path (openat2), since files in a Secret's volume
 * are links; otherwise no link is followed.
 */
enum err key_file_read(struct arena *arena, const char *dir, const char *path, char **out,
                       struct errinfo *ei) MUST_USE;

#endif

#define _GNU_SOURCE /* O_PATH */
#include "loadtester/remote_run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* --- files of secrets */

enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };

/* Without openat2: one component at a time, none of which may be a link or "..". */
static int walk(int dir, const char *path)
{
    char step[NAME_MAX + 1];
    int fd = dir;

    for (;;) {
        size_t len = strcspn(path, "/");
        int next = -1;
        if (len == 0 || len > NAME_MAX || (len == 2 && strncmp(path, "..", 2) == 0)) {
            errno = EXDEV;
        } else {
            memcpy(step, path, len);
            step[len] = '\0';
            next = openat(fd, step,
                          path[len] ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
                                    : FLAGS | O_NOFOLLOW);
        }
        int error = errno;
        if (fd != dir)
            close(fd);
        errno = error;
        if (next < 0 || !path[len])
            return next;
        fd = next;
        path += len + 1;
    }
}

static int open_below(int dir, const char *path)
{
    struct open_how how = {.flags = FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

    /* Some sandboxes do not know the call and return EPERM. */
    return fd < 0 && (errno == ENOSYS || errno == EPERM) ? walk(dir, path) : fd;
}

static enum err fail(struct errinfo *ei, int error, const char *path)
{
    if (error == EXDEV || error == ELOOP)
        return err_set(ei, ERR_DENIED, "%.80s leads out of the folder of keys", path);
    return err_set(ei, error == ENOENT ? ERR_NOT_FOUND : ERR_DENIED,
                   "cannot open the key %.80s: %s", path, strerror(error));
}

enum err key_file_read(struct arena *arena, const char *dir, const char *path, char **out,
                       struct errinfo *ei)
{
    int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = folder < 0 ? -1 : open_below(folder, path);
    int error = errno;
    struct stat about;
    ssize_t len = 0, n = 0;

    *out = NULL;
    if (folder >= 0)
        close(folder);
    if (fd < 0)
        return fail(ei, error, path);
    char *text = arena_alloc(arena, KEY_FILE_MAX + 1);
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        close(fd);
        return err_set(ei, ERR_INVALID, "%.80s is no regular file", path);
    }
    while (len <= KEY_FILE_MAX - 1 && (n = read(fd, text + len, (size_t)(KEY_FILE_MAX - len))) > 0)
        len += n;
    error = errno;
    close(fd);
    if (n < 0)
        return fail(ei, error, path);
    if (len == KEY_FILE_MAX)
        return err_set(ei, ERR_INVALID, "%.80s is too long for a key", path);
    *out = text;
    return ERR_OK;
}

enum { REQUEST_MS = 60000, CANCEL_MS = 5000, MAX_ANSWER = 256 * 1024 };

struct remote_run {
    struct loop *loop;
    struct http_client *client;
    const struct task_plan *plan;
    struct arena *arena;
    struct arena *step; /* holds the last or next request */
    const char *secret;
    void (*note)(void *arg, const char *line);
    remote_run_done_fn done;
    void *arg;
    struct http_call *call; /* under way */
    struct timer *wait;     /* fires at the next request, or when `done` is to be called */
    struct timer *deadline;
    struct remote_request request; /* the next request */
    struct errinfo info;
    struct remote_run_result result;
    int64_t started_ms, timeout_ms;
    bool ending; /* no further request is sent; a call in flight is the last */
    bool stopped;
};

static void finish(void *arg)
{
    struct remote_run *run = arg;

    run->wait = NULL;
    timer_stop(run->deadline);
    run->result.elapsed_ms = clock_monotonic_ms() - run->started_ms;
    run->done(run->arg, &run->result);
    arena_free(run->step);
    arena_free(run->arena);
    free(run);
}

/* Never called from inside remote_run_start() or remote_run_stop(). */
static void end(struct remote_run *run, const char *error)
{
    run->ending = true;
    if (!run->result.error)
        run->result.error = error;
    timer_stop(run->wait);
    run->wait = timer_start(run->loop, 0, 0, finish, run);
}

static void send_request(struct remote_run *run, int64_t timeout_ms, http_done_fn done)
{
    const struct remote_request *request = &run->request;
    struct http_header headers[3] = {{NULL, NULL}};
    int n = 0;

    if (request->authorization)
        headers[n++] = (struct http_header){"Authorization", request->authorization};
    if (request->content_type)
        headers[n++] = (struct http_header){"Content-Type", request->content_type};
    struct http_request http = {.method = request->method,
                                .url = request->url,
                                .headers = headers,
                                .body = request->body,
                                .body_len = request->body ? strlen(request->body) : 0,
                                .timeout_ms = timeout_ms,
                                .max_body = MAX_ANSWER};
    run->call = http_send(run->client, &http, done, run);
}

/* A conversation may last hours, so memory is freed with each step. */
static void next_step(struct remote_run *run)
{
    arena_free(run->step);
    run->step = arena_new();
    run->request = (struct remote_request){0};
}

static enum remote_next call_type(struct remote_run *run, const struct remote_answer *answer)
{
    next_step(run);
    run->info = (struct errinfo){0};
    return run->plan->remote->next(run->plan->remote_state, run->step, run->secret, answer,
                                   &run->request, &run->info);
}

static void on_cancelled(void *arg, const struct http_result *result)
{
    struct remote_run *run = arg;

    run->call = NULL;
    if (result->err != ERR_OK)
        run->note(run->arg, result->info->text);
    end(run, NULL);
}

/* Cancels the work at the other service. */
static void cancel_work(struct remote_run *run)
{
    const struct remote *remote = run->plan->remote;

    next_step(run);
    if (remote->cancel &&
        remote->cancel(run->plan->remote_state, run->step, run->secret, &run->request))
        send_request(run, CANCEL_MS, on_cancelled);
    else
        end(run, NULL);
}

static void step(struct remote_run *run, const struct remote_answer *answer);

static void on_answer(void *arg, const struct http_result *result)
{
    struct remote_run *run = arg;
    struct remote_answer answer = {.status = result->err == ERR_OK ? result->status : 0,
                                   .text =
                                       result->err == ERR_OK ? result->body : result->info->text};

    run->call = NULL;
    if (!run->ending) {
        step(run, &answer);
        return;
    }
    /* Stopped meanwhile: the answer may contain the id needed to cancel. */
    timer_stop(run->wait);
    run->wait = NULL;
    if (result->err == ERR_OK)
        (void)call_type(run, &answer);
    cancel_work(run);
}

static void on_wait(void *arg)
{
    struct remote_run *run = arg;

    run->wait = NULL;
    send_request(run, REQUEST_MS, on_answer);
}

static void step(struct remote_run *run, const struct remote_answer *answer)
{
    switch (call_type(run, answer)) {
    case REMOTE_SEND:
        run->note(run->arg,
                  arena_printf(run->step, "%s %s", run->request.method, run->request.url));
        run->wait = timer_start(run->loop, run->request.wait_ms, 0, on_wait, run);
        break;
    case REMOTE_DONE:
        end(run, NULL);
        break;
    case REMOTE_FAILED:
        end(run, run->info.text);
        break;
    }
}

static void on_patience(void *arg)
{
    struct remote_run *run = arg;

    run->wait = NULL;
    http_cancel(run->call);
}

/* Sends no further request, and waits briefly for an answer in flight. */
static void finish_early(struct remote_run *run, const char *why)
{
    if (run->ending)
        return;
    run->ending = true;
    run->result.error = why;
    timer_stop(run->wait);
    run->wait = NULL;
    if (run->call)
        run->wait = timer_start(run->loop, CANCEL_MS, 0, on_patience, run);
    else
        cancel_work(run);
}

static void on_deadline(void *arg)
{
    struct remote_run *run = arg;
    char limit[DURATION_TEXT];

    run->deadline = NULL;
    run->result.timed_out = true;
    finish_early(run, arena_printf(run->arena, "timed out after %s",
                                   duration_format(run->timeout_ms * 1000000, limit)));
}

void remote_run_stop(struct remote_run *run)
{
    finish_early(run, "stopped, the load tester shuts down");
}

static void on_start(void *arg)
{
    struct remote_run *run = arg;
    char *secret = NULL;

    run->wait = NULL;
    if (run->plan->remote_secret &&
        key_file_read(run->arena, run->plan->remote_secret_dir, run->plan->remote_secret, &secret,
                      &run->info) != ERR_OK) {
        end(run, run->info.text);
        return;
    }
    if (secret)
        run->secret = secret;
    step(run, NULL);
}

struct remote_run *remote_run_start(struct loop *loop, struct http_client *client,
                                    const struct task_plan *plan, int64_t timeout_ms,
                                    void (*note)(void *arg, const char *line),
                                    remote_run_done_fn done, void *arg)
{
    struct remote_run *run = heap_alloc(sizeof(*run));

    *run = (struct remote_run){.loop = loop,
                               .client = client,
                               .plan = plan,
                               .arena = arena_new(),
                               .step = arena_new(),
                               .secret = "",
                               .note = note,
                               .done = done,
                               .arg = arg,
                               .started_ms = clock_monotonic_ms(),
                               .timeout_ms = timeout_ms};
    run->wait = timer_start(loop, 0, 0, on_start, run);
    if (timeout_ms > 0)
        run->deadline = timer_start(loop, timeout_ms, 0, on_deadline, run);
    return run;
}

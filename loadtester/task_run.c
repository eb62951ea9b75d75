#include "loadtester/task_run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "loadtester/command_line.h"
#include "loadtester/remote_run.h"

static struct metrics_family ended = {.name = "flagger_loadtester_tasks_total",
                                      .help = "Tasks that ended, by type and result",
                                      .type = METRICS_COUNTER,
                                      .labels = {"type", "result"}};
static struct metrics_family running = {.name = "flagger_loadtester_tasks_running",
                                        .help = "Tasks that run now",
                                        .type = METRICS_GAUGE,
                                        .labels = {"type"}};
static const double run_buckets[] = {0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 0};
static struct metrics_family seconds = {.name = "flagger_loadtester_task_duration_seconds",
                                        .help = "How long tasks ran",
                                        .type = METRICS_HISTOGRAM,
                                        .labels = {"type"},
                                        .buckets = run_buckets};
static const double spawn_buckets[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                       0.1,   0.25,   0.5,   1,    5,     0};
static struct metrics_family spawn = {.name = "flagger_loadtester_spawn_seconds",
                                      .help =
                                          "From the request to the start of its task, the queue "
                                          "included",
                                      .type = METRICS_HISTOGRAM,
                                      .labels = {"type"},
                                      .buckets = spawn_buckets};

static void notify_listeners(struct task *task)
{
    struct task_listener *next;

    for (struct task_listener *listener = task->listeners; listener; listener = next) {
        next = listener->next; /* the listener may be freed with its request */
        listener->on_state(listener->arg, task);
    }
}

static void set_state(struct task *task, enum task_state state)
{
    assert(state == TASK_RUNNING ? task->state == TASK_QUEUED : state > TASK_RUNNING);
    assert(task->state <= TASK_RUNNING);
    task->state = state;
    notify_listeners(task);
}

static void hear(void *arg, const char *data, size_t len)
{
    struct task *task = arg;
    struct task_listener *next;

    output_add(&task->output, data, len);
    for (struct task_listener *listener = task->listeners; listener; listener = next) {
        next = listener->next;
        listener->on_output(listener->arg, data, len);
    }
}

static void hear_line(void *arg, const char *line)
{
    hear(arg, line, strlen(line));
    hear(arg, "\n", 1);
}

/* --- the end */

static void log_end(const struct task *task)
{
    struct arena *arena = arena_new();
    const char *output =
        task->plan.log_output
            ? mask_credentials(arena, output_tail(&task->output, arena, RUNNER_LIST_TAIL))
            : "";

    if (task->error)
        log_error("task_failed", task->canary, task->error, LOG_STR("type", task->type->name),
                  LOG_STR("command", task->plan.text), LOG_STR("output", output),
                  LOG_INT("id", task->id));
    else
        log_info("task_finished", task->canary, "the task ended well",
                 LOG_STR("type", task->type->name), LOG_STR("command", task->plan.text),
                 LOG_STR("output", output), LOG_INT("id", task->id));
    arena_free(arena);
}

static void call_waiters(struct task *task)
{
    struct arena *arena = arena_new();
    struct task_result result = {.text = task->plan.text,
                                 .error = task->error,
                                 .summary = task->has_summary ? &task->summary : NULL,
                                 .output = task->waiters ? output_text(&task->output, arena) : ""};

    for (struct task_waiter *waiter = task->waiters; waiter; waiter = waiter->next)
        waiter->done(waiter->arg, &result);
    task->waiters = NULL;
    arena_free(arena);
}

static void read_summary(struct task *task)
{
    struct arena *arena = arena_new();

    task->has_summary = summary_parse(output_text(&task->output, arena), &task->summary);
    arena_free(arena);
}

static void finish(struct task *task, const char *error, int64_t elapsed_ms)
{
    task->child = NULL;
    task->remote_run = NULL;
    task->error = error ? arena_strdup(task->arena, error) : NULL;
    task->elapsed_ms = elapsed_ms;
    if (task->ran) {
        read_summary(task);
        metrics_add(&running, -1, task->type->name);
        metrics_observe(&seconds, (double)elapsed_ms / 1000, task->type->name);
    }
    metrics_add(&ended, 1, task->type->name, error ? "failed" : "ok");
    log_end(task);
    call_waiters(task);
    set_state(task, error ? TASK_FAILED : TASK_SUCCEEDED);
    task->listeners = NULL;
    task->on_end(task->runner, task);
}

/* Error of a command, NULL if it was successful. */
static const char *child_error(struct task *task, const struct child_result *result,
                               int64_t timeout_ms)
{
    char limit[DURATION_TEXT];

    if (result->err != ERR_OK)
        return result->info->text;
    if (result->over_limit)
        return arena_printf(task->arena, "ended: it used more %s than a task may",
                            result->over_limit);
    if (result->timed_out)
        return arena_printf(task->arena, "timed out after %s",
                            duration_format(timeout_ms * 1000000, limit));
    if (result->stopped)
        return "stopped, the load tester shuts down";
    if (result->signal)
        return arena_printf(task->arena, "signal %d", result->signal);
    if (result->exit_status)
        return arena_printf(task->arena, "exit status %d", result->exit_status);
    return NULL;
}

static void on_child_done(void *arg, const struct child_result *result)
{
    struct task *task = arg;

    task->exit_status = result->exit_status;
    task->signal = result->signal;
    finish(task, child_error(task, result, task->plan.timeout_ms), result->elapsed_ms);
}

static void on_remote_done(void *arg, const struct remote_run_result *result)
{
    finish(arg, result->error, result->elapsed_ms);
}

/* --- the start */

void task_run(struct task *task, struct loop *loop, const struct runner_options *options)
{
    task->waited_ms = clock_monotonic_ms() - task->queued_at_ms;
    if (task->plan.timeout_ms == 0 || task->plan.timeout_ms > options->timeout_ms)
        task->plan.timeout_ms = options->timeout_ms;
    log_info("task_started", task->canary, "a task was started", LOG_STR("type", task->type->name),
             LOG_STR("command", task->plan.text), LOG_INT("id", task->id));
    metrics_add(&running, 1, task->type->name);
    metrics_observe(&spawn, (double)task->waited_ms / 1000, task->type->name);
    task->ran = true;
    set_state(task, TASK_RUNNING);
    if (task->plan.remote) {
        task->remote_run = remote_run_start(loop, options->client, &task->plan,
                                            task->plan.timeout_ms, hear_line, on_remote_done, task);
        return;
    }
    struct child_spec spec = {.argv = task->plan.argv,
                              .env = task->env,
                              .limits = &task->limits,
                              .timeout_ms = task->plan.timeout_ms,
                              .max_output = 1, /* the task keeps it instead, its beginning and
                                                * its end */
                              .on_output = hear};
    task->child = child_spawn(loop, &spec, on_child_done, task);
}

void task_stop(struct task *task)
{
    if (task->child)
        child_stop(task->child);
    else if (task->remote_run)
        remote_run_stop(task->remote_run);
    else if (task->state == TASK_QUEUED)
        finish(task, "stopped before it began, the load tester shuts down", 0);
}

void task_free_order(struct task *task)
{
    bool is_remote = task->plan.remote != NULL;

    task->plan = (struct task_plan){.text = arena_strdup(task->arena, task->plan.text)};
    task->was_remote = is_remote;
    task->waiters = NULL;
    arena_free(task->order);
    task->order = NULL;
}

void task_free(struct task *task)
{
    output_fini(&task->output);
    arena_free(task->order);
    arena_free(task->arena);
}

/* --- accessors */

bool task_has_ended(const struct task *task)
{
    return task->state == TASK_SUCCEEDED || task->state == TASK_FAILED;
}

void task_listen(struct task *task, struct task_listener *listener)
{
    listener->next = task->listeners;
    task->listeners = listener;
}

void task_unlisten(struct task *task, struct task_listener *listener)
{
    for (struct task_listener **link = &task->listeners; *link; link = &(*link)->next) {
        if (*link == listener) {
            *link = listener->next;
            return;
        }
    }
}

void output_add(struct output *output, const char *data, size_t len)
{
    output->total += len;
    if (output->head_len < OUTPUT_HEAD) {
        size_t room = OUTPUT_HEAD - output->head_len;
        size_t n = len < room ? len : room;
        if (!output->head)
            output->head = heap_alloc(OUTPUT_HEAD);
        memcpy(output->head + output->head_len, data, n);
        output->head_len += n;
        data += n;
        len -= n;
    }
    if (len == 0)
        return;
    if (!output->tail)
        output->tail = heap_alloc(OUTPUT_TAIL);
    if (len > OUTPUT_TAIL) {
        data += len - OUTPUT_TAIL;
        len = OUTPUT_TAIL;
    }
    size_t first = OUTPUT_TAIL - output->tail_end < len ? OUTPUT_TAIL - output->tail_end : len;
    memcpy(output->tail + output->tail_end, data, first);
    memcpy(output->tail, data + first, len - first);
    output->tail_end = (output->tail_end + len) % OUTPUT_TAIL;
    output->tail_len = output->tail_len + len < OUTPUT_TAIL ? output->tail_len + len : OUTPUT_TAIL;
}

static void add_tail(const struct output *output, struct buf *text)
{
    size_t begin = (output->tail_end + OUTPUT_TAIL - output->tail_len) % OUTPUT_TAIL;
    size_t first = OUTPUT_TAIL - begin < output->tail_len ? OUTPUT_TAIL - begin : output->tail_len;

    if (output->tail_len == 0)
        return;
    buf_add(text, output->tail + begin, first);
    buf_add(text, output->tail, output->tail_len - first);
}

const char *output_text(const struct output *output, struct arena *arena)
{
    size_t left_out = output->total - output->head_len - output->tail_len;
    struct buf text;

    buf_init(&text, OUTPUT_HEAD + OUTPUT_TAIL + 128);
    if (output->head_len > 0)
        buf_add(&text, output->head, output->head_len);
    if (left_out > 0)
        buf_printf(&text, "\n[%zu bytes left out]\n", left_out);
    add_tail(output, &text);
    char *kept = arena_strndup(arena, text.data ? text.data : "", text.len);
    /* a string ends at a zero byte, and the summary may follow */
    for (size_t i = 0; i < text.len; i++)
        if (!kept[i])
            kept[i] = '?';
    buf_fini(&text);
    return kept;
}

const char *output_tail(const struct output *output, struct arena *arena, size_t max)
{
    const char *text = output_text(output, arena);
    size_t len = strlen(text);

    if (len <= max)
        return text;
    const char *cut = text + len - max;
    const char *line = strchr(cut, '\n');
    return line && line[1] ? line + 1 : cut;
}

void output_fini(struct output *output)
{
    free(output->head);
    free(output->tail);
    *output = (struct output){0};
}

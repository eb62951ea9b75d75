#include "loadtester/runner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/expo.h"
#include "base/json.h"
#include "base/log.h"

static struct expo_metric ended = {.name = "flagger_loadtester_tasks_total",
                                   .help = "Tasks that ended, by type and result",
                                   .type = EXPO_COUNTER,
                                   .labels = {"type", "result"}};
static struct expo_metric running = {.name = "flagger_loadtester_tasks_running",
                                     .help = "Tasks that run now",
                                     .type = EXPO_GAUGE,
                                     .labels = {"type"}};
static const double buckets[] = {0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 0};
static struct expo_metric seconds = {.name = "flagger_loadtester_task_duration_seconds",
                                     .help = "How long tasks ran",
                                     .type = EXPO_HISTOGRAM,
                                     .labels = {"type"},
                                     .buckets = buckets};

/* Someone who waits for a task's end. */
struct waiter {
    struct waiter *next;
    runner_done_fn done;
    void *arg;
};

struct task {
    struct task *next;
    struct runner *runner;
    struct arena *arena;
    uint64_t id;
    const struct task_type *type;
    const char *canary;
    struct task_command command;
    int64_t started_ms, elapsed_ms; /* wall clock; elapsed once it has ended */
    struct child *child;            /* NULL: it has ended */
    struct waiter *waiters;
    int n_waiters;
    uint64_t ended;    /* the how-manieth that ended */
    const char *error; /* of task_result */
    int exit_status, signal;
};

struct runner {
    struct loop *loop;
    int64_t timeout_ms;
    struct task *tasks; /* newest first */
    int n_running, n_kept;
    uint64_t last_id, n_ended;
    bool stopped;
};

struct runner *runner_new(struct loop *loop, int64_t timeout_ms)
{
    struct runner *runner = heap_alloc(sizeof(*runner));
    *runner = (struct runner){.loop = loop, .timeout_ms = timeout_ms};
    return runner;
}

void runner_stop(struct runner *runner)
{
    runner->stopped = true;
    for (struct task *task = runner->tasks; task; task = task->next)
        if (task->child)
            child_stop(task->child);
}

void runner_free(struct runner *runner)
{
    if (!runner)
        return;
    while (runner->tasks) {
        struct task *task = runner->tasks;
        runner->tasks = task->next;
        arena_free(task->arena);
    }
    free(runner);
}

/* The one that ended first goes when there are too many: a long load test has begun before many
 * short checks, and its end is news all the same. */
static void forget_oldest(struct runner *runner)
{
    struct task **oldest = NULL;
    for (struct task **link = &runner->tasks; *link; link = &(*link)->next)
        if (!(*link)->child && (!oldest || (*link)->ended < (*oldest)->ended))
            oldest = link;
    assert(oldest);
    struct task *task = *oldest;
    *oldest = task->next;
    runner->n_kept--;
    arena_free(task->arena);
}

/* --- the end of a task
 * -------------------------------------------------------------------------------------- */

static const char *describe(struct task *task, const struct child_result *result)
{
    char limit[DURATION_TEXT];
    if (result->err != ERR_OK)
        return arena_strdup(task->arena, result->info->text);
    if (result->timed_out)
        return arena_printf(task->arena, "timed out after %s",
                            duration_format(task->runner->timeout_ms * 1000000, limit));
    if (result->stopped)
        return "stopped, the load tester shuts down";
    if (result->signal)
        return arena_printf(task->arena, "signal %d", result->signal);
    if (result->exit_status)
        return arena_printf(task->arena, "exit status %d", result->exit_status);
    return NULL;
}

static void log_end(const struct task *task, const struct child_result *result)
{
    const char *output = task->command.log_output && result->output ? result->output : "";
    if (task->error)
        log_error("task_failed", task->canary, task->error, LOG_STR("type", task->type->name),
                  LOG_STR("command", task->command.text), LOG_STR("output", output),
                  LOG_INT("id", task->id));
    else
        log_info("task_finished", task->canary, "the task ended well",
                 LOG_STR("type", task->type->name), LOG_STR("command", task->command.text),
                 LOG_STR("output", output), LOG_INT("id", task->id));
}

static void on_done(void *arg, const struct child_result *result)
{
    struct task *task = arg;
    struct runner *runner = task->runner;
    task->child = NULL;
    task->ended = ++runner->n_ended;
    task->elapsed_ms = result->elapsed_ms;
    task->exit_status = result->exit_status;
    task->signal = result->signal;
    task->error = describe(task, result);
    runner->n_running--;
    runner->n_kept++;
    expo_add(&running, -1, task->type->name);
    expo_add(&ended, 1, task->type->name, task->error ? "failed" : "ok");
    expo_observe(&seconds, (double)result->elapsed_ms / 1000, task->type->name);
    log_end(task, result);
    struct task_result told = {.text = task->command.text,
                               .error = task->error,
                               .output = result->output ? result->output : ""};
    for (struct waiter *waiter = task->waiters; waiter; waiter = waiter->next)
        waiter->done(waiter->arg, &told);
    task->waiters = NULL;
    if (runner->n_kept > RUNNER_KEPT)
        forget_oldest(runner);
}

/* --- the start of a task
 * ------------------------------------------------------------------------------------ */

static struct task *find_running(struct runner *runner, const struct task_type *type,
                                 const char *canary, const char *text)
{
    for (struct task *task = runner->tasks; task; task = task->next)
        if (task->child && task->type == type && strcmp(task->canary, canary) == 0 &&
            strcmp(task->command.text, text) == 0)
            return task;
    return NULL;
}

static void add_waiter(struct task *task, runner_done_fn done, void *arg)
{
    if (!done)
        return;
    struct waiter *waiter = ARENA_NEW(task->arena, struct waiter);
    *waiter = (struct waiter){.next = task->waiters, .done = done, .arg = arg};
    task->waiters = waiter;
    task->n_waiters++;
}

static const char *const *copy_argv(struct arena *arena, const char *const *argv)
{
    size_t n = 0;
    while (argv[n])
        n++;
    const char **copy = arena_array(arena, n + 1, sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_strdup(arena, argv[i]);
    return copy;
}

static struct task *task_new(struct runner *runner, const struct task_type *type,
                             const char *canary, const struct task_command *command)
{
    struct arena *arena = arena_new();
    struct task *task = ARENA_NEW(arena, struct task);
    *task = (struct task){.next = runner->tasks,
                          .runner = runner,
                          .arena = arena,
                          .id = ++runner->last_id,
                          .type = type,
                          .canary = arena_strdup(arena, canary),
                          .command = *command,
                          .started_ms = clock_wall_ms()};
    task->command.text = arena_strdup(arena, command->text);
    task->command.argv = copy_argv(arena, command->argv);
    runner->tasks = task;
    runner->n_running++;
    return task;
}

enum runner_start runner_start(struct runner *runner, const struct task_type *type,
                               const char *canary, const struct task_command *command, bool join,
                               runner_done_fn done, void *arg)
{
    if (runner->stopped)
        return RUNNER_STOPPED;
    struct task *same = find_running(runner, type, canary, command->text);
    if (same) {
        if (join && same->n_waiters >= RUNNER_MAX_WAITERS)
            return RUNNER_FULL;
        if (join)
            add_waiter(same, done, arg);
        return RUNNER_RUNS_ALREADY;
    }
    if (runner->n_running >= RUNNER_MAX_RUNNING)
        return RUNNER_FULL;
    struct task *task = task_new(runner, type, canary, command);
    add_waiter(task, done, arg);
    struct child_spec spec = {.argv = task->command.argv,
                              .timeout_ms = runner->timeout_ms,
                              .max_output = RUNNER_MAX_OUTPUT};
    log_info("task_started", task->canary, "a task was started", LOG_STR("type", type->name),
             LOG_STR("command", task->command.text), LOG_INT("id", task->id));
    expo_add(&running, 1, type->name);
    task->child = child_spawn(runner->loop, &spec, on_done, task);
    return RUNNER_STARTED;
}

/* --- the list
 * -----------------------------------------------------------------------------------------------
 */

static struct json_object *task_json(const struct task *task)
{
    char started[CLOCK_TEXT];
    struct json_object *obj = json_object_new_object();
    json_set_int(obj, "id", (int64_t)task->id);
    json_set_str(obj, "canary", task->canary);
    json_set_str(obj, "type", task->type->name);
    json_set_str(obj, "command", task->command.text);
    json_set_str(obj, "state", task->child ? "running" : task->error ? "failed" : "succeeded");
    json_set_str(obj, "started", clock_rfc3339(task->started_ms, started));
    if (task->child)
        return obj;
    json_set_int(obj, "elapsedMilliseconds", task->elapsed_ms);
    json_set_int(obj, "exitStatus", task->exit_status);
    if (task->signal)
        json_set_int(obj, "signal", task->signal);
    json_set_str(obj, "error", task->error);
    return obj;
}

const char *runner_list(struct runner *runner, struct arena *arena)
{
    struct json_object *list = json_own(arena, json_object_new_array());
    for (const struct task *task = runner->tasks; task; task = task->next)
        json_object_array_add(list, task_json(task));
    return json_text(arena, list);
}

#include "loadtester/runner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/shares.h"
#include "loadtester/command_line.h"
#include "loadtester/task_run.h"

static struct metrics_family queued = {.name = "flagger_loadtester_tasks_queued",
                                       .help = "Tasks that wait for a place",
                                       .type = METRICS_GAUGE};
static struct metrics_family refused = {.name = "flagger_loadtester_tasks_refused_total",
                                        .help = "Tasks answered 429: too many run and wait",
                                        .type = METRICS_COUNTER};

/* A Canary with waiting or running tasks. */
struct canary_load {
    struct canary_load *next;
    char *name;
    int tasks, running;
};

struct runner {
    struct loop *loop;
    struct runner_options options;
    TAILQ_HEAD(tasks, task) tasks; /* newest first */
    struct tasks live;             /* waiting and running, oldest first */
    struct tasks ended;            /* ended and kept, in the order of their ends */
    struct canary_load *loads;
    struct verdicts *verdicts;
    struct shares running, waiting, bytes; /* numbers of tasks, and bytes of their plans, by
                                            * namespace */
    int n_kept;
    uint64_t last_id;
    bool stopped;
};

struct runner *runner_new(struct loop *loop, const struct runner_options *options)
{
    struct runner *runner = heap_alloc(sizeof(*runner));

    *runner = (struct runner){.loop = loop, .options = *options, .verdicts = verdicts_new()};
    shares_init(&runner->running, BUDGET_TASKS_RUNNING, (size_t)options->max_running);
    shares_init(&runner->waiting, BUDGET_TASKS_WAITING, (size_t)options->max_queued);
    shares_init(&runner->bytes, BUDGET_TASKS_BYTES, RUNNER_MAX_BYTES);
    TAILQ_INIT(&runner->tasks);
    TAILQ_INIT(&runner->live);
    TAILQ_INIT(&runner->ended);
    metrics_register(&queued);
    metrics_register(&refused);
    return runner;
}

/* Drops the task that ended first, not the one that started first: a long load test started
 * before many short checks, and its end is still recent. */
static void drop_oldest(struct runner *runner)
{
    struct task *task = TAILQ_FIRST(&runner->ended);

    assert(task);
    TAILQ_REMOVE(&runner->ended, task, live);
    TAILQ_REMOVE(&runner->tasks, task, link);
    runner->n_kept--;
    task_free(task);
}

/* --- slots and the queue */

static struct canary_load *find_load(const struct runner *runner, const char *canary)
{
    struct canary_load *load = runner->loads;

    while (load && strcmp(load->name, canary) != 0)
        load = load->next;
    return load;
}

static struct canary_load *hold_load(struct runner *runner, const char *canary)
{
    struct canary_load *load = find_load(runner, canary);

    if (!load) {
        load = heap_alloc(sizeof(*load));
        *load = (struct canary_load){.next = runner->loads, .name = heap_strdup(canary)};
        runner->loads = load;
    }
    load->tasks++;
    return load;
}

static void release_load(struct runner *runner, struct canary_load *load)
{
    struct canary_load **link = &runner->loads;

    if (--load->tasks > 0)
        return;
    while (*link != load)
        link = &(*link)->next;
    *link = load->next;
    free(load->name);
    free(load);
}

/* The namespace in "name.namespace". */
static const char *namespace_of(const char *canary)
{
    const char *dot = strrchr(canary, '.');

    return dot ? dot + 1 : canary;
}

static bool has_place(const struct runner *runner, const char *canary)
{
    const struct canary_load *load = find_load(runner, canary);

    return shares_admit(&runner->running, namespace_of(canary), 1) &&
           (!load || load->running < runner->options.max_per_canary);
}

static void set_waiting(struct runner *runner, const struct task *task, bool waits)
{
    if (waits)
        shares_take(&runner->waiting, namespace_of(task->canary), 1);
    else
        shares_give_back(&runner->waiting, namespace_of(task->canary), 1);
    metrics_set(&queued, (double)runner->waiting.taken);
}

static void run(struct runner *runner, struct task *task)
{
    shares_take(&runner->running, namespace_of(task->canary), 1);
    task->load->running++;
    task_run(task, runner->loop, &runner->options);
}

/* The oldest waiting task whose Canary has a free slot. */
static struct task *next_queued(struct runner *runner)
{
    struct task *task;

    if (runner->running.taken >= runner->running.most)
        return NULL;
    TAILQ_FOREACH(task, &runner->live, live)
    {
        if (task->state == TASK_QUEUED && has_place(runner, task->canary))
            return task;
    }
    return NULL;
}

static void fill_places(struct runner *runner)
{
    struct task *task;

    while (!runner->stopped && runner->waiting.taken > 0 && (task = next_queued(runner))) {
        set_waiting(runner, task, false);
        run(runner, task);
    }
}

static void judge(struct runner *runner, struct task *task)
{
    struct arena *arena = arena_new();
    const char *sentence = NULL;

    if (!runner->stopped && !task->type->blocking)
        sentence = verdict_sentence(arena, &task->plan, task->error,
                                    task->has_summary ? &task->summary : NULL);
    /* A metric that requests its value says nothing about the next check. */
    if (!task->plan.return_value)
        verdicts_put(runner->verdicts, task->canary, task->plan.key, task->checksum, sentence);
    if (sentence)
        log_warn("load_test_failed", task->canary, sentence, LOG_INT("id", task->id));
    arena_free(arena);
}

static void on_end(void *arg, struct task *task)
{
    struct runner *runner = arg;

    if (task->ran) {
        shares_give_back(&runner->running, namespace_of(task->canary), 1);
        task->load->running--;
    } else {
        set_waiting(runner, task, false);
    }
    release_load(runner, task->load);
    task->load = NULL;
    shares_give_back(&runner->bytes, namespace_of(task->canary), task->order_bytes);
    TAILQ_REMOVE(&runner->live, task, live);
    TAILQ_INSERT_TAIL(&runner->ended, task, live);
    runner->n_kept++;
    judge(runner, task);
    task_free_order(task);
    /* runner_stop() walks the list */
    if (runner->n_kept > RUNNER_KEPT && !runner->stopped)
        drop_oldest(runner);
    fill_places(runner);
}

void runner_stop(struct runner *runner)
{
    struct task *task;

    runner->stopped = true;
    TAILQ_FOREACH(task, &runner->tasks, link)
    {
        task_stop(task);
    }
}

void runner_free(struct runner *runner)
{
    if (!runner)
        return;
    struct task *task;

    while ((task = TAILQ_FIRST(&runner->tasks))) {
        TAILQ_REMOVE(&runner->tasks, task, link);
        if (task->load)
            release_load(runner, task->load);
        task_free(task);
    }
    verdicts_free(runner->verdicts);
    shares_fini(&runner->running);
    shares_fini(&runner->waiting);
    shares_fini(&runner->bytes);
    free(runner);
}

/* --- the start of a task */

static struct task *find_same(struct runner *runner, const struct task_type *type,
                              const char *canary, const char *key)
{
    struct task *task;

    TAILQ_FOREACH(task, &runner->live, live)
    {
        if (task->type == type && strcmp(task->canary, canary) == 0 &&
            strcmp(task->plan.key, key) == 0)
            return task;
    }
    return NULL;
}

static void add_waiter(struct task *task, runner_done_fn done, void *arg)
{
    if (!done)
        return;
    struct task_waiter *waiter = ARENA_NEW(task->order, struct task_waiter);
    *waiter = (struct task_waiter){.next = task->waiters, .done = done, .arg = arg};
    task->waiters = waiter;
    task->n_waiters++;
}

/* A command's text for lists, logs and messages: shortened, since it may be as long as a
 * message, and without passwords. */
static const char *shown(struct arena *arena, const char *text)
{
    text = mask_credentials(arena, text);
    size_t len = strlen(text);
    size_t kept = len <= RUNNER_TEXT ? len : utf8_cut(text, RUNNER_TEXT);

    return kept < len ? arena_printf(arena, "%.*s...", (int)kept, text) : text;
}

static struct task *task_new(struct runner *runner, struct runner_order *order, const char *canary,
                             size_t bytes)
{
    struct arena *arena = arena_new();
    struct task *task = ARENA_NEW(arena, struct task);

    *task = (struct task){.arena = arena,
                          .order = order->arena,
                          .id = ++runner->last_id,
                          .type = order->type,
                          .canary = arena_strdup(arena, canary),
                          .checksum = arena_strdup(arena, order->message->checksum),
                          .load = hold_load(runner, canary),
                          .plan = order->plan,
                          .order_bytes = bytes,
                          .queued_ms = clock_wall_ms(),
                          .queued_at_ms = clock_monotonic_ms(),
                          .on_end = on_end,
                          .runner = runner};
    task->plan.text = shown(order->arena, order->plan.text);
    shares_take(&runner->bytes, namespace_of(task->canary), bytes);
    TAILQ_INSERT_HEAD(&runner->tasks, task, link);
    TAILQ_INSERT_TAIL(&runner->live, task, live);
    return task;
}

static enum runner_start join_same(struct task *same, bool join, runner_done_fn done, void *arg,
                                   const char **full)
{
    if (join && same->n_waiters >= RUNNER_MAX_WAITERS) {
        *full = "too many wait for this task already";
        return RUNNER_FULL;
    }
    if (join)
        add_waiter(same, done, arg);
    return RUNNER_RUNS_ALREADY;
}

static const char *canary_of(const struct runner_order *order)
{
    size_t name = strlen(order->message->name), rest = strlen(order->message->namespace_);
    char *canary = arena_alloc(order->arena, name + rest + 2);

    memcpy(canary, order->message->name, name);
    canary[name] = '.';
    memcpy(canary + name + 1, order->message->namespace_, rest);
    return canary;
}

/* Checks the limits for a new task. */
static enum runner_start find_room(const struct runner *runner, const char *canary, size_t bytes,
                                   const char **why)
{
    const char *namespace_ = namespace_of(canary);

    if (!has_place(runner, canary) && !shares_admit(&runner->waiting, namespace_, 1))
        *why = "too many tasks run and wait already";
    else if (!shares_admit(&runner->bytes, namespace_, bytes))
        *why = "the tasks that run and wait are too large together";
    return *why ? RUNNER_FULL : RUNNER_STARTED;
}

enum runner_start runner_start(struct runner *runner, struct runner_order *order, bool join,
                               runner_done_fn done, void *arg, const char **full)
{
    const char *canary = canary_of(order), *why = NULL;
    size_t bytes = arena_used(order->arena);
    struct child_limits limits = runner->options.limits;
    const char *const *env = runner->options.env;
    struct task *same = find_same(runner, order->type, canary, order->plan.key);
    enum runner_start start = RUNNER_STARTED;

    if (runner->stopped)
        start = RUNNER_STOPPED;
    else if (same)
        start = join_same(same, join, done, arg, &why);
    else
        start = find_room(runner, canary, bytes, &why);
    if (start == RUNNER_STARTED && runner->options.users && !order->plan.remote &&
        (why = task_users_assign(runner->options.users, order->message->namespace_, order->arena,
                                 &limits, &env)))
        start = RUNNER_FULL;
    if (start == RUNNER_FULL)
        metrics_add(&refused, 1);
    if (full)
        *full = why;
    if (start != RUNNER_STARTED) {
        arena_free(order->arena);
        return start;
    }
    struct task *task = task_new(runner, order, canary, bytes);
    task->limits = limits;
    task->env = env;
    add_waiter(task, done, arg);
    if (has_place(runner, task->canary))
        run(runner, task);
    else
        set_waiting(runner, task, true);
    return RUNNER_STARTED;
}

const char *runner_verdict(struct runner *runner, const struct runner_order *order,
                           struct arena *arena)
{
    return verdicts_take(runner->verdicts, arena, canary_of(order), order->plan.key,
                         order->message->checksum);
}

/* --- lists and snapshots */

struct task *runner_find(struct runner *runner, uint64_t id)
{
    struct task *task;

    TAILQ_FOREACH(task, &runner->tasks, link)
    {
        if (task->id == id)
            return task;
    }
    return NULL;
}

static struct json_object *task_object(const struct task *task)
{
    static const char *const states[] = {"queued", "running", "succeeded", "failed"};
    struct json_object *object = json_object_new_object();
    int64_t waiting = clock_monotonic_ms() - task->queued_at_ms;
    char time[CLOCK_TEXT];

    json_set_int(object, "id", (int64_t)task->id);
    json_set_str(object, "canary", task->canary);
    json_set_str(object, "type", task->type->name);
    json_set_str(object, "command", task->plan.text);
    json_set_str(object, "state", states[task->state]);
    json_set_str(object, "queued", clock_rfc3339(task->queued_ms, time));
    json_set_int(object, "queuedMilliseconds", task->ran ? task->waited_ms : waiting);
    if (task->ran)
        json_set_str(object, "started", clock_rfc3339(task->queued_ms + task->waited_ms, time));
    if (!task_has_ended(task)) {
        json_set_int(object, "waiters", task->n_waiters);
        if (task->ran)
            json_set_str(
                object, "timesOut",
                clock_rfc3339(task->queued_ms + task->waited_ms + task->plan.timeout_ms, time));
        return object;
    }
    json_set_int(object, "elapsedMilliseconds", task->elapsed_ms);
    if (task->ran && !task->was_remote)
        json_set_int(object, "exitStatus", task->exit_status);
    if (task->signal)
        json_set_int(object, "signal", task->signal);
    json_set_str(object, "error", task->error);
    if (task->has_summary)
        json_object_object_add(object, "summary", summary_json(&task->summary));
    return object;
}

const char *runner_list(struct runner *runner, struct arena *arena)
{
    struct json_object *list = json_own(arena, json_object_new_array());

    const struct task *task;

    TAILQ_FOREACH(task, &runner->tasks, link)
    {
        json_object_array_add(list, task_object(task));
    }
    return json_text(arena, list);
}

/* Replaces bytes that are not UTF-8, which JSON cannot hold. */
static const char *clean(struct arena *arena, const char *text)
{
    struct buf quoted;
    struct json_object *string = NULL;

    buf_init(&quoted, 8 * strlen(text) + 3);
    json_quote(&quoted, text, strlen(text));
    if (json_parse(arena, quoted.data, quoted.len, quoted.len + 1, &string, NULL) != ERR_OK)
        string = NULL;
    buf_fini(&quoted);
    return string ? json_object_get_string(string) : "";
}

const char *task_json(const struct task *task, struct arena *arena)
{
    struct json_object *object = json_own(arena, task_object(task));

    json_set_int(object, "outputBytes", (int64_t)task->output.total);
    json_set_str(
        object, "output",
        clean(arena, mask_credentials(arena, output_tail(&task->output, arena, RUNNER_LIST_TAIL))));
    return json_text(arena, object);
}

/* The busiest Canaries first; the runner limits the number of Canaries with tasks. */
static void set_busiest(struct json_object *list, const struct runner *runner)
{
    const struct canary_load *most[RUNNER_SNAPSHOT_CANARIES];
    int n = 0;

    for (const struct canary_load *load = runner->loads; load; load = load->next) {
        int at = n < RUNNER_SNAPSHOT_CANARIES ? n++ : n;
        for (; at > 0 && most[at - 1]->tasks < load->tasks; at--)
            if (at < RUNNER_SNAPSHOT_CANARIES)
                most[at] = most[at - 1];
        if (at < RUNNER_SNAPSHOT_CANARIES)
            most[at] = load;
    }
    for (int i = 0; i < n; i++) {
        struct json_object *one = json_object_new_object();
        json_object_array_add(list, one);
        json_set_str(one, "canary", most[i]->name);
        json_set_int(one, "running", most[i]->running);
        json_set_int(one, "queued", most[i]->tasks - most[i]->running);
    }
}

void runner_snapshot(const struct runner *runner, struct json_object *out)
{
    struct json_object *canaries = json_object_new_array();

    json_set_int(out, "running", (int64_t)runner->running.taken);
    json_set_int(out, "maxRunning", runner->options.max_running);
    json_set_int(out, "maxPerCanary", runner->options.max_per_canary);
    json_set_int(out, "queued", (int64_t)runner->waiting.taken);
    json_set_int(out, "maxQueued", runner->options.max_queued);
    json_set_int(out, "kept", runner->n_kept);
    json_set_int(out, "heldBytes", (int64_t)runner->bytes.taken);
    json_set_int(out, "maxHeldBytes", RUNNER_MAX_BYTES);
    json_set_bool(out, "stopping", runner->stopped);
    json_object_object_add(out, "canaries", canaries);
    set_busiest(canaries, runner);
}

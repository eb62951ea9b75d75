/* runner: real children, up to its limits. */

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "loadtester/runner.h"
#include "net/loop_test.h"
#include "test/unit.h"

enum { MAX_RUNNING = 40, MAX_PER_CANARY = 20, MAX_QUEUED = 8 };

struct fixture {
    struct loop *loop;
    struct runner *runner;
    struct arena *arena;
    int ended;
    char text[128], error[128], output[128];
};

static const struct task_type quick = {.name = "quick", .blocking = true};
static const struct task_type other = {.name = "other"};

static void on_drain(void *arg)
{
    struct fixture *f = arg;
    runner_stop(f->runner);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.loop = loop_new(20000), .arena = unit_arena};
    struct fixture *f = &fixture;
    log_set_level("error");
    f->runner = runner_new(f->loop, &(struct runner_options){.timeout_ms = 30000,
                                                             .max_running = MAX_RUNNING,
                                                             .max_per_canary = MAX_PER_CANARY,
                                                             .max_queued = MAX_QUEUED});
    loop_on_drain(f->loop, on_drain, f);
    *state = f;
    return 0;
}

/* Ends running tasks; nothing may be left. */
static int tear_down(void **state)
{
    struct fixture *f = *state;
    loop_drain(f->loop);
    assert_int_equal(loop_run(f->loop), 0);
    loop_free(f->loop);
    runner_free(f->runner);
    metrics_reset();
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static void on_ended(void *arg, const struct task_result *result)
{
    struct fixture *f = arg;
    f->ended++;
    snprintf(f->text, sizeof(f->text), "%s", result->text);
    snprintf(f->error, sizeof(f->error), "%s", result->error ? result->error : "");
    snprintf(f->output, sizeof(f->output), "%s", result->output);
}

/* canary is "name.namespace"; argv NULL: the command for a shell. */
static struct runner_order order(const struct task_type *type, const char *canary,
                                 const char *command, const char *const *argv)
{
    struct arena *arena = arena_new();
    struct webhook_message *message = ARENA_NEW(arena, struct webhook_message);
    const char *dot = strchr(canary, '.');
    struct runner_order made = {.type = type, .message = message, .arena = arena};

    *message =
        (struct webhook_message){.name = arena_strndup(arena, canary, (size_t)(dot - canary)),
                                 .namespace_ = arena_strdup(arena, dot + 1),
                                 .checksum = "r1"};
    made.plan.text = made.plan.key = arena_strdup(arena, command);
    made.plan.bounds = (struct task_bounds){.max_error_rate = -1, .max_p99_ms = -1};
    const char **words = arena_array(arena, 4, sizeof(*words));
    words[0] = argv ? argv[0] : "sh";
    words[1] = argv ? NULL : "-c";
    words[2] = made.plan.text;
    made.plan.argv = words;
    return made;
}

static enum runner_start start(struct fixture *f, const struct task_type *type, const char *canary,
                               const char *command)
{
    struct runner_order made = order(type, canary, command, NULL);
    int before = f->ended;
    const char *full = NULL;
    enum runner_start started = runner_start(f->runner, &made, true, on_ended, f, &full);
    assert_int_equal(f->ended, before); /* never before it has returned */
    assert_true(started != RUNNER_FULL || *full);
    return started;
}

static struct json_object *list_of(struct fixture *f, struct runner *runner)
{
    struct json_object *all = NULL;
    const char *text = runner_list(runner, f->arena);
    assert_int_equal(json_parse(f->arena, text, strlen(text), strlen(text) + 1, &all, NULL),
                     ERR_OK);
    return all;
}

static struct json_object *list(struct fixture *f)
{
    return list_of(f, f->runner);
}

static const char *state_of(struct fixture *f, const char *command)
{
    struct json_object *all = list(f);
    for (size_t i = 0; i < json_len(all); i++)
        if (strcmp(json_str_at(json_elem(all, i), "command", NULL), command) == 0)
            return json_str_at(json_elem(all, i), "state", NULL);
    return "";
}

static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    int count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

FIXTURE_CASE(an_end_tells_how)
{
    static const struct {
        const char *command, *error, *output, *state;
    } cases[] = {
        {"echo fine", "", "fine\n", "succeeded"},
        {"echo oops; exit 3", "exit status 3", "oops\n", "failed"},
        {"kill -9 $$", "signal 9", "", "failed"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(start(f, &quick, "a.b", cases[i].command), RUNNER_STARTED);
        assert_string_equal(state_of(f, cases[i].command), "running");
        RUN_UNTIL(f, f->ended == (int)i + 1);
        assert_string_equal(f->text, cases[i].command);
        assert_string_equal(f->error, cases[i].error);
        assert_string_equal(f->output, cases[i].output);
        assert_string_equal(state_of(f, cases[i].command), cases[i].state);
    }
}

FIXTURE_CASE(a_program_that_is_not_there_is_told)
{
    const char *const argv[] = {"/no/such/program", NULL};
    struct runner_order made = order(&quick, "a.b", "x", argv);
    made.plan.log_output = true;
    assert_int_equal(runner_start(f->runner, &made, false, on_ended, f, NULL), RUNNER_STARTED);
    RUN_UNTIL(f, f->ended == 1);
    assert_true(strlen(f->error) > 0);
    assert_string_equal(state_of(f, "x"), "failed");
}

FIXTURE_CASE(the_same_task_is_one_and_all_wait_for_its_end)
{
    assert_int_equal(start(f, &quick, "a.b", "sleep 0.2"), RUNNER_STARTED);
    assert_int_equal(start(f, &quick, "a.b", "sleep 0.2"), RUNNER_RUNS_ALREADY);
    assert_int_equal(start(f, &quick, "c.b", "sleep 0.2"), RUNNER_STARTED);
    assert_int_equal(start(f, &other, "a.b", "sleep 0.2"), RUNNER_STARTED);
    assert_int_equal(json_len(list(f)), 3);
    RUN_UNTIL(f, f->ended == 4);
    /* An ended task may start again. */
    assert_int_equal(start(f, &quick, "a.b", "sleep 0.2"), RUNNER_STARTED);
}

FIXTURE_CASE(waiters_have_a_maximum)
{
    assert_int_equal(start(f, &quick, "a.b", "sleep 60"), RUNNER_STARTED);
    for (int i = 1; i < RUNNER_MAX_WAITERS; i++)
        assert_int_equal(start(f, &quick, "a.b", "sleep 60"), RUNNER_RUNS_ALREADY);
    assert_int_equal(start(f, &quick, "a.b", "sleep 60"), RUNNER_FULL);
    runner_stop(f->runner);
    RUN_UNTIL(f, f->ended == RUNNER_MAX_WAITERS);
    assert_string_equal(f->error, "stopped, the load tester shuts down");
    assert_int_equal(start(f, &quick, "a.b", "true"), RUNNER_STOPPED);
}

/* One Canary leaves slots for others; the queue is in order of arrival. */
FIXTURE_CASE(places_are_shared_and_the_queue_has_an_end)
{
    for (int i = 0; i < MAX_PER_CANARY; i++)
        assert_int_equal(start(f, &quick, "a.b", arena_printf(f->arena, "sleep 6%d", i)),
                         RUNNER_STARTED);
    assert_int_equal(start(f, &quick, "a.b", "echo one"), RUNNER_STARTED);
    assert_string_equal(state_of(f, "echo one"), "queued");
    assert_int_equal(start(f, &quick, "a.b", "echo one"), RUNNER_RUNS_ALREADY);
    for (int i = MAX_PER_CANARY; i < MAX_RUNNING; i++)
        assert_int_equal(start(f, &quick, arena_printf(f->arena, "c.n%d", i),
                               arena_printf(f->arena, "sleep 7%d", i)),
                         RUNNER_STARTED);
    assert_string_equal(state_of(f, "sleep 739"), "running");
    for (int i = 1; i < MAX_QUEUED; i++)
        assert_int_equal(start(f, &quick, arena_printf(f->arena, "d.n%d", i),
                               arena_printf(f->arena, "echo %d", i)),
                         RUNNER_STARTED);
    assert_int_equal(start(f, &quick, "d.b", "echo full"), RUNNER_FULL);
    assert_int_equal(start(f, &quick, "a.b", "sleep 60"), RUNNER_RUNS_ALREADY);
    runner_stop(f->runner);
    RUN_UNTIL(f, f->ended == MAX_RUNNING + MAX_QUEUED + 2);
}

/* One namespace with many Canaries and endless tasks: another namespace's task runs at once, and
 * waits only behind tasks of its own namespace. */
FIXTURE_CASE(a_namespace_leaves_room_for_others)
{
    int ran = 0, i = 0;
    const char *canary;

    do {
        canary = arena_printf(f->arena, "c%d.greedy", i++);
    } while (start(f, &quick, canary, "sleep 60") == RUNNER_STARTED && i < 1000);
    assert_in_range(i, MAX_RUNNING / 2, MAX_RUNNING + MAX_QUEUED);
    struct json_object *out = json_own(f->arena, json_object_new_object());
    runner_snapshot(f->runner, out);
    assert_in_range(json_int_at(out, 0, "running", NULL), MAX_RUNNING / 2, MAX_RUNNING - 2);
    assert_in_range(json_int_at(out, 0, "queued", NULL), 1, MAX_QUEUED - 1);
    for (i = 0; i < 3; i++) {
        assert_int_equal(start(f, &quick, "app.modest", arena_printf(f->arena, "true %d", i)),
                         RUNNER_STARTED);
        ran = f->ended;
        RUN_UNTIL(f, f->ended == ran + 1);
    }
}

static void on_tick(void *arg)
{
    (void)arg; /* a loop iteration */
}

static int64_t queued_ms(struct fixture *f)
{
    return json_int_at(json_elem(list(f), 0), 0, "queuedMilliseconds", NULL);
}

/* The busiest Canaries come first, and no more than fit on a screen. */
FIXTURE_CASE(who_has_the_places_is_seen)
{
    struct json_object *out = json_own(f->arena, json_object_new_object());
    char command[32], canary[32];

    for (int i = 0; i < RUNNER_SNAPSHOT_CANARIES + 3; i++) {
        snprintf(canary, sizeof(canary), "c%d.b", i);
        assert_int_equal(start(f, &quick, canary, "sleep 60"), RUNNER_STARTED);
    }
    for (int i = 0; i < 5; i++) {
        snprintf(command, sizeof(command), "sleep 6%d", i + 1);
        assert_int_equal(start(f, &quick, i < 2 ? "c1.b" : "c21.b", command), RUNNER_STARTED);
    }
    runner_snapshot(f->runner, out);
    assert_int_equal(json_int_at(out, 0, "running", NULL), RUNNER_SNAPSHOT_CANARIES + 8);
    assert_int_equal(json_int_at(out, 0, "maxRunning", NULL), MAX_RUNNING);
    assert_int_equal(json_int_at(out, -1, "queued", NULL), 0);
    assert_true(json_int_at(out, 0, "heldBytes", NULL) > 0);
    struct json_object *canaries = json_at(out, "canaries", NULL);
    assert_int_equal(json_len(canaries), RUNNER_SNAPSHOT_CANARIES);
    static const struct {
        const char *canary;
        int running;
    } first[] = {{"c21.b", 4}, {"c1.b", 3}};
    for (size_t i = 0; i < json_len(canaries); i++) {
        struct json_object *one = json_elem(canaries, i);
        if (i < 2)
            assert_string_equal(json_str_at(one, "canary", NULL), first[i].canary);
        assert_int_equal(json_int_at(one, 0, "running", NULL), i < 2 ? first[i].running : 1);
        assert_int_equal(json_int_at(one, -1, "queued", NULL), 0);
    }
    struct json_object *task = json_elem(list(f), 0);
    assert_int_equal(json_int_at(task, 0, "waiters", NULL), 1);
    assert_non_null(json_str_at(task, "timesOut", NULL));
}

FIXTURE_CASE(what_waits_runs_when_a_place_is_free)
{
    char gate[] = "/tmp/runner_test.XXXXXX";
    struct timer *tick = timer_start(f->loop, 20, 20, on_tick, NULL);
    assert_true(mkstemp(gate) >= 0);
    for (int i = 0; i < MAX_PER_CANARY; i++)
        assert_int_equal(
            start(f, &quick, "a.b",
                  arena_printf(f->arena, "while [ -e %s ]; do sleep 0.05; done; : %d", gate, i)),
            RUNNER_STARTED);
    assert_int_equal(start(f, &quick, "a.b", "echo waited"), RUNNER_STARTED);
    RUN_UNTIL(f, queued_ms(f) > 100);
    assert_string_equal(state_of(f, "echo waited"), "queued");
    assert_int_equal(remove(gate), 0);
    RUN_UNTIL(f, f->ended == MAX_PER_CANARY + 1);
    assert_string_equal(state_of(f, "echo waited"), "succeeded");
    assert_true(queued_ms(f) > 100);
    timer_stop(tick);
}

FIXTURE_CASE(a_failed_run_is_told_at_the_next_check_once)
{
    struct runner_order made = order(&other, "a.b", "exit 3", NULL);
    made.plan.bounds.fail_on_error = true;
    assert_int_equal(runner_start(f->runner, &made, false, on_ended, f, NULL), RUNNER_STARTED);
    RUN_UNTIL(f, f->ended == 1);
    struct runner_order next = order(&other, "a.b", "exit 3", NULL);
    assert_string_equal(runner_verdict(f->runner, &next, f->arena),
                        "load test \"exit 3\" failed: exit status 3");
    assert_null(runner_verdict(f->runner, &next, f->arena));
    arena_free(next.arena);
}

FIXTURE_CASE(too_much_ends_a_task)
{
    struct runner *bounded = runner_new(
        f->loop, &(struct runner_options){.timeout_ms = 30000,
                                          .max_running = 1,
                                          .max_per_canary = 1,
                                          .limits = {.processes = 30, .memory = 64 << 20}});
    static const char *const hogs[][2] = {
        {"for i in $(seq 31); do sleep 60 & done; wait",
         "ended: it used more processes than a task may"},
        /* no single process exceeds the limit; the ":" keeps the shell from becoming sleep,
         * whose memory is small */
        {"for i in 1 2 3 4 5; do (x=$(head -c 16000000 /dev/zero | tr '\\0' a); sleep 60; :) & "
         "done; wait",
         "ended: it used more memory than a task may"},
    };
    for (int i = 0; i < 2; i++) {
        struct runner_order made = order(&quick, "a.b", hogs[i][0], NULL);
        assert_int_equal(runner_start(bounded, &made, false, on_ended, f, NULL), RUNNER_STARTED);
        RUN_UNTIL(f, f->ended == i + 1);
        assert_string_equal(f->error, hogs[i][1]);
    }
    runner_free(bounded);
}

static void fill(struct runner_order *made, size_t bytes)
{
    arena_alloc(made->arena, bytes - arena_used(made->arena));
}

/* A plan may be a megabyte: waiting and running tasks are limited in bytes, and lists show the
 * start. */
FIXTURE_CASE(large_messages_are_bounded)
{
    enum { LONG = 100000 };
    char *text = arena_alloc(f->arena, LONG + 1);
    memset(text, 'x', LONG);
    memcpy(text, "sleep 0.2; echo $0 ", 19);
    struct runner_order made = order(&quick, "a.b", text, NULL);
    fill(&made, RUNNER_MAX_BYTES - 8192);
    assert_int_equal(runner_start(f->runner, &made, false, on_ended, f, NULL), RUNNER_STARTED);
    assert_int_equal(strlen(json_str_at(json_elem(list(f), 0), "command", NULL)), RUNNER_TEXT + 3);
    struct runner_order more = order(&quick, "a.b", "true", NULL);
    const char *full = "";
    fill(&more, 16384);
    assert_int_equal(runner_start(f->runner, &more, false, on_ended, f, &full), RUNNER_FULL);
    assert_string_equal(full, "the tasks that run and wait are too large together");
    RUN_UNTIL(f, f->ended == 1);
    assert_string_equal(f->error, "");
    assert_memory_equal(f->output, "sh xxx", 6);
    more = order(&quick, "a.b", "true", NULL);
    fill(&more, 16384);
    assert_int_equal(runner_start(f->runner, &more, false, on_ended, f, NULL), RUNNER_STARTED);
    RUN_UNTIL(f, f->ended == 2);
}

FIXTURE_CASE(a_task_that_ran_long_is_kept_longest)
{
    char gate[] = "/tmp/runner_test.XXXXXX";
    assert_true(mkstemp(gate) >= 0);
    const char *slow = arena_printf(f->arena, "while [ -e %s ]; do sleep 0.05; done; exit 5", gate);
    assert_int_equal(start(f, &quick, "a.b", slow), RUNNER_STARTED);
    for (int i = 0; i < RUNNER_KEPT + 10; i++) {
        assert_int_equal(start(f, &quick, "a.b", arena_printf(f->arena, "true %d", i)),
                         RUNNER_STARTED);
        RUN_UNTIL(f, f->ended == i + 1);
    }
    assert_int_equal(remove(gate), 0);
    RUN_UNTIL(f, f->ended == RUNNER_KEPT + 11);
    assert_string_equal(f->error, "exit status 5");
    assert_string_equal(state_of(f, slow), "failed");
    assert_string_equal(state_of(f, "true 0"), "");
    assert_string_equal(state_of(f, "true 265"), "succeeded");
    assert_int_equal(json_len(list(f)), RUNNER_KEPT);
}

/* The same tasks requested at every step of every release, as in Flagger's load tests. */
FIXTURE_CASE(ten_thousand_requests_leave_nothing)
{
    enum { REQUESTS = 10000, DISTINCT = 100 };
    int before = open_files(), started = 0;
    struct runner *runner = runner_new(f->loop, &(struct runner_options){.timeout_ms = 30000,
                                                                         .max_running = 64,
                                                                         .max_per_canary = 1,
                                                                         .max_queued = 36});
    for (int i = 0; i < REQUESTS; i++) {
        const char *command = arena_printf(f->arena, "true %d", i % DISTINCT);
        const char *const argv[] = {"true", NULL};
        struct runner_order made =
            order(&other, arena_printf(f->arena, "a.n%d", i % DISTINCT), command, argv);
        enum runner_start answer = runner_start(runner, &made, false, on_ended, f, NULL);
        assert_true(answer == RUNNER_STARTED || answer == RUNNER_RUNS_ALREADY);
        started += answer == RUNNER_STARTED;
        if (i % 1000 == 999)
            RUN_UNTIL(f, f->ended == started);
    }
    assert_true(started >= DISTINCT && started <= 10 * DISTINCT);
    assert_in_range(json_len(list_of(f, runner)), DISTINCT, RUNNER_KEPT);
    runner_free(runner);
    /* A supervisor takes a moment to exit. Two of them serve all children. */
    RUN_UNTIL(f, open_files() <= before + 2);
}

UNIT_FIRST(child_main)

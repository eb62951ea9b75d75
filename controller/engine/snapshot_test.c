/* Snapshots of a running engine. */
#include "engine/fixture_test.h"
#include "engine/job.h"
#include "engine/snapshot.h"
#include "tick/need.h"

static struct json_object *look_at(struct fixture *f, const char *name)
{
    return snapshot_canary(f->engine, f->arena, "test", name);
}

static void assert_time(struct json_object *object, const char *key)
{
    const char *text = json_str_at(object, key, NULL);
    int64_t ms;

    assert_non_null(text);
    assert_int_equal(clock_parse(text, &ms, NULL), ERR_OK);
    assert_in_range(clock_wall_ms() - ms + 120 * 1000, 0, 240 * 1000);
}

/* --- a webhook that does not answer */

static enum rule_result rule_ask(struct fixture *f, struct tick *tick)
{
    const struct hook_answer *answer;
    return need_hook(tick, 0, PHASE_Progressing, "c1", &answer) ? RULE_DONE : RULE_NEEDS_FACTS;
}

static void see_who_asks(void *arg)
{
    struct fixture *f = arg;
    if (f->hangs == 0)
        return;
    struct json_object *one = look_at(f, "podinfo");
    assert_string_equal(json_str_at(one, "state", NULL), "asking");
    assert_string_equal(json_str_at(one, "waitsFor", NULL), "webhooks and metrics");
    assert_string_equal(json_str_at(one, "phase", NULL), "Progressing");
    assert_string_equal(json_str_at(one, "wokenBy", "what", NULL), "canaries");
    assert_time(one, "since");
    assert_int_equal(json_int_at(one, 0, "runs", NULL), 1);
    struct json_object *asks = json_at(one, "run", "underWay", NULL);
    assert_int_equal(json_len(asks), 1);
    struct json_object *ask = json_elem(asks, 0);
    assert_string_equal(json_str_at(ask, "kind", NULL), "webhook");
    assert_string_equal(json_str_at(ask, "name", NULL), "check");
    assert_time(ask, "since");
    /* The path of a URL may contain a secret, so only the server is shown. */
    const char *server = json_str_at(ask, "server", NULL);
    assert_string_equal(server,
                        arena_printf(f->arena, "http://127.0.0.1:%d", http_server_port(f->server)));
    assert_null(strstr(json_text(f->arena, one), "hang"));
    loop_drain(f->loop);
}

FIXTURE_CASE(a_canary_that_waits_for_a_webhook)
{
    f->rule = rule_ask;
    f->hook_path = "hang";
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 10, 10, see_who_asks, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(f->hangs, 1);
}

/* --- a Canary that has completed its work */

static enum rule_result rule_step_once(struct fixture *f, struct tick *tick)
{
    if (f->decided == 0) {
        plan_a_status(f, tick);
        plan_event(tick, "Normal", PHASE_Progressing, "the password is hunter2");
    }
    plan_weights(tick, 9000, 1000);
    tick->plan->stepped = true;
    tick->plan->requeue = f->decided == 0 ? REQUEUE_NOW : REQUEUE_INTERVAL;
    return RULE_DONE;
}

static void see_the_last_plan(void *arg)
{
    struct fixture *f = arg;
    struct json_object *one = f->decided >= 2 ? look_at(f, "podinfo") : NULL;
    if (!one || strcmp(json_str_at(one, "state", NULL), "idle") != 0)
        return;
    assert_string_equal(json_str_at(one, "lastPlan", "text", NULL),
                        "status phase=Progressing\nevent Normal\n");
    assert_time(json_at(one, "lastPlan", NULL), "at");
    assert_time(one, "nextWakeup");
    assert_string_equal(json_str_at(one, "wokenBy", "what", NULL), "timer");
    assert_string_equal(json_str_at(one, "waitsFor", NULL),
                        "its next wake-up, or a change of what it depends on");
    assert_null(json_at(one, "run", NULL));
    assert_null(strstr(json_text(f->arena, one), "hunter2"));
    assert_null(look_at(f, "other"));
    loop_drain(f->loop);
}

FIXTURE_CASE(the_last_plan_that_did_something)
{
    f->rule = rule_step_once;
    f->interval = "60s";
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 10, 10, see_the_last_plan, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_true(f->decided >= 2);
}

/* --- a Canary with failing writes */

static void see_the_failure(void *arg)
{
    struct fixture *f = arg;
    struct json_object *one = noted(f, "write status") ? look_at(f, "podinfo") : NULL;
    if (json_int_at(one, 0, "failures", NULL) == 0)
        return;
    assert_non_null(strstr(json_str_at(one, "lastFailure", "text", NULL), "as the test asked"));
    assert_time(json_at(one, "lastFailure", NULL), "at");
    assert_string_equal(json_str_at(one, "lastPlan", "text", NULL), "status phase=Progressing\n");
    loop_drain(f->loop);
}

static enum rule_result rule_status(struct fixture *f, struct tick *tick)
{
    plan_a_status(f, tick);
    return RULE_DONE;
}

FIXTURE_CASE(what_failed_and_what_was_meant)
{
    f->rule = rule_status;
    f->fail_writes = 1000;
    f->fail_status = 422;
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 10, 10, see_the_failure, f);
    run_engine(f, false);
    assert_false(f->timed_out);
}

/* --- a crowd, in pages */

static enum rule_result rule_ask_the_crowd(struct fixture *f, struct tick *tick)
{
    return *tick->canary->name == 'c' ? rule_ask(f, tick) : rule_rest(f, tick);
}

/* Lists every Canary once, whatever the size of a page. */
static void see_pages(struct fixture *f, int limit)
{
    const struct snapshot_filter all = {0};
    const char *after = NULL;
    size_t seen = 0;
    char names[64] = "";

    do {
        struct json_object *page = snapshot_canaries(f->engine, f->arena, &all, after, limit);
        struct json_object *list = json_at(page, "canaries", NULL);
        assert_true(json_len(list) <= (size_t)limit && json_len(list) > 0);
        for (size_t i = 0; i < json_len(list); i++) {
            const char *name = json_str_at(json_elem(list, i), "name", NULL);
            strncat(names, name, sizeof(names) - strlen(names) - 1);
            seen++;
        }
        after = json_str_at(page, "continue", NULL);
    } while (after);
    assert_int_equal(seen, 8);
    assert_string_equal(names, "c0c1c2c3c4c5c6podinfo");
}

static void see_the_process(struct fixture *f)
{
    struct json_object *out = json_own(f->arena, json_object_new_object());
    snapshot_process(f->engine, out);
    assert_true(json_bool_at(out, false, "leader", "leads", NULL));
    assert_int_equal(json_int_at(out, -1, "queue", "maxRunning", NULL), 4);
    assert_int_equal(json_int_at(out, -1, "queue", "waiting", NULL), 0);
    assert_int_equal(json_int_at(out, -1, "requests", "webhooksAndMetrics", NULL), 7);
    assert_int_equal(json_int_at(out, -1, "memory", "kept", "canaries", "count", NULL), 8);
    assert_true(json_int_at(out, -1, "memory", "kept", "dependencies", "count", NULL) >= 8);
    struct json_object *watch = json_elem(json_at(out, "watches", NULL), 0);
    assert_string_equal(json_str_at(watch, "resource", NULL), "canaries");
    assert_string_equal(json_str_at(watch, "state", NULL), "streaming");
    assert_int_equal(json_int_at(watch, 0, "objects", NULL), 8);
    assert_in_range(json_int_at(watch, -1, "lagSeconds", NULL), 0, 10);
}

static void see_the_crowd(void *arg)
{
    struct fixture *f = arg;
    const struct snapshot_filter asking = {.state = "asking"}, resting = {.state = "idle"},
                                 elsewhere = {.namespace_ = "other"},
                                 progressing = {.phase = "Progressing", .namespace_ = "test"};

    if (f->hangs < 7 || f->decided == 0)
        return;
    see_pages(f, 1);
    see_pages(f, 3);
    see_pages(f, 8);
    see_pages(f, 500);
    struct json_object *page = snapshot_canaries(f->engine, f->arena, &asking, NULL, 100);
    assert_int_equal(json_len(json_at(page, "canaries", NULL)), 7);
    page = snapshot_canaries(f->engine, f->arena, &resting, NULL, 100);
    assert_int_equal(json_len(json_at(page, "canaries", NULL)), 1);
    page = snapshot_canaries(f->engine, f->arena, &elsewhere, NULL, 100);
    assert_int_equal(json_len(json_at(page, "canaries", NULL)), 0);
    page = snapshot_canaries(f->engine, f->arena, &progressing, NULL, 100);
    assert_int_equal(json_len(json_at(page, "canaries", NULL)), 8);
    assert_null(snapshot_canaries(f->engine, f->arena, &progressing, "test/gone", 100));
    see_the_process(f);
    loop_drain(f->loop);
}

FIXTURE_CASE(a_crowd_comes_in_pages)
{
    f->rule = rule_ask_the_crowd;
    f->crowd = 7;
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 10, 10, see_the_crowd, f);
    run_engine(f, false);
    assert_false(f->timed_out);
}

/* --- an engine that stands by */

static void see_the_queue(void *arg)
{
    struct fixture *f = arg;
    struct json_object *last = engine_ready(f->engine) ? look_at(f, "podinfo") : NULL;
    if (!last)
        return;
    assert_string_equal(json_str_at(last, "state", NULL), "queued");
    assert_int_equal(json_int_at(last, 0, "place", NULL), 3);
    assert_int_equal(json_int_at(look_at(f, "c0"), 0, "place", NULL), 1);
    struct json_object *out = json_own(f->arena, json_object_new_object());
    snapshot_process(f->engine, out);
    assert_int_equal(json_int_at(out, -1, "queue", "waiting", NULL), 3);
    assert_false(json_bool_at(out, true, "leader", "leads", NULL));
    loop_drain(f->loop);
}

FIXTURE_CASE(the_place_in_the_queue)
{
    f->crowd = 2;
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 10, 10, see_the_queue, f);
    run_engine(f, true);
    assert_false(f->timed_out);
}

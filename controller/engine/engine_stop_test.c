/* An orderly stop waits for its writes: they must not collide with the next leader. */
#include "engine/fixture_test.h"

static enum rule_result rule_write_twice(struct fixture *f, struct tick *tick)
{
    plan_a_status(f, tick);
    plan_a_status(f, tick);
    plan_event(tick, "Normal", PHASE_Progressing, "never told");
    return RULE_DONE;
}

static void answer_write(void *arg)
{
    struct fixture *f = arg;
    note(f, "answered");
    http_reply_json(f->held_write, 200, canary_text(f));
}

/* Stops while the write is under way. */
static void stop_soon(void *arg)
{
    struct fixture *f = arg;
    if (!f->held_write)
        return;
    timer_stop(f->ticker);
    f->ticker = NULL;
    if (f->stop_ms > 1000)
        timer_start(f->loop, 200, 0, answer_write, f);
    loop_drain(f->loop);
}

static void stop_while_writing(struct fixture *f, int stop_ms)
{
    f->rule = rule_write_twice;
    f->hold_writes = true;
    f->stops = true;
    f->stop_ms = stop_ms;
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 10, 10, stop_soon, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(noted(f, "write status"), 1);
    assert_false(told(f, "never told"));
}

static int place(const struct fixture *f, const char *text)
{
    for (int i = 0; i < f->logged; i++)
        if (strcmp(f->log[i], text) == 0)
            return i;
    fail_msg("not noted: %s", text);
    return 0;
}

FIXTURE_CASE(a_stop_waits_for_its_writes)
{
    stop_while_writing(f, 5000);
    assert_true(place(f, "answered") < place(f, "stopped"));
    assert_int_equal(noted(f, "the write is cut off"), 0);
}

FIXTURE_CASE(a_stop_does_not_wait_for_ever)
{
    stop_while_writing(f, 100);
    assert_true(place(f, "stopped with writes under way") < place(f, "the write is cut off"));
}

FIXTURE_CASE(a_stop_without_writes_is_quick)
{
    f->stops = true;
    f->stop_ms = 60000;
    run_engine(f, false);
    assert_int_equal(noted(f, "stopped"), 1);
}

static enum rule_result rule_tell_and_rest(struct fixture *f, struct tick *tick)
{
    plan_event(tick, "Normal", PHASE_Progressing, "done");
    tick->plan->requeue = REQUEUE_NEVER;
    return RULE_DONE;
}

static void stop_once_told(void *arg)
{
    struct fixture *f = arg;
    if (!told(f, "done"))
        return;
    timer_stop(f->ticker);
    f->ticker = NULL;
    loop_drain(f->loop);
}

static void stop_while_telling(struct fixture *f, int event_ms, int stop_ms)
{
    f->rule = rule_tell_and_rest;
    f->event_ms = event_ms;
    f->stops = true;
    f->stop_ms = stop_ms;
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 10, 10, stop_once_told, f);
    run_engine(f, false);
    assert_false(f->timed_out);
}

/* The next leader knows nothing of an event that this one has not sent. */
FIXTURE_CASE(a_stop_waits_for_its_events)
{
    stop_while_telling(f, 300, 5000);
    assert_true(place(f, "told") < place(f, "stopped"));
}

FIXTURE_CASE(a_stop_does_not_wait_for_events_for_ever)
{
    stop_while_telling(f, -1, 200);
    assert_true(place(f, "stopped") < place(f, "the event is cut off"));
}

static enum rule_result rule_write_and_tell(struct fixture *f, struct tick *tick)
{
    plan_a_status(f, tick);
    plan_event(tick, "Normal", PHASE_Progressing, "of the first");
    plan_event(tick, "Normal", PHASE_Progressing, "of the first too");
    plan_hook(tick, 0, PHASE_Succeeded);
    plan_a_status(f, tick);
    plan_event(tick, "Normal", PHASE_Progressing, "never told");
    return RULE_DONE;
}

static void drain_stopped(void *arg, bool quiet)
{
    struct fixture *f = arg;
    note(f, quiet ? "stopped" : "stopped with writes under way");
    f->stops = false;
    loop_drain(f->loop);
}

/* The API server of the fixture ends with the loop, and would accept no further connection. */
static void stop_before_the_loop(void *arg)
{
    struct fixture *f = arg;
    if (!f->held_write)
        return;
    timer_stop(f->ticker);
    f->ticker = NULL;
    timer_start(f->loop, 200, 0, answer_write, f);
    engine_stop(f->engine, 5000, drain_stopped, f);
}

/* Its write was under way at the stop: the events of that write are still sent. */
FIXTURE_CASE(a_stop_tells_of_the_write_it_has_waited_for)
{
    f->rule = rule_write_and_tell;
    f->hold_writes = true;
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 10, 10, stop_before_the_loop, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(noted(f, "write status"), 1);
    assert_int_equal(f->hooks, 0);
    assert_false(told(f, "never told"));
    assert_true(place(f, "event of the first too") < place(f, "stopped"));
}

/* A stop in good order waits for its writes: whoever leads next must not meet them. */
#include "engine/fixture_test.h"

static enum verdict rule_write_twice(struct fixture *f, struct tick *tick)
{
    plan_a_status(f, tick);
    plan_a_status(f, tick);
    plan_event(tick, "Normal", PHASE_Progressing, "never told");
    return VERDICT_STOP;
}

static void answer_write(void *arg)
{
    struct fixture *f = arg;
    note(f, "answered");
    http_reply_json(f->held_write, 200, canary_text(f));
}

/* While its write is under way. */
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

/* The engine when each of its requests fails once, and when it is stopped at each of them. */
#include "engine/fixture_test.h"
#include "tick/need.h"

static enum rule_result rule_everything(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    const struct hook_answer *answer;
    if (!need_object(tick, &things, "test", "a", &thing) ||
        !need_hook(tick, 0, PHASE_Progressing, "c1", &answer))
        return RULE_NEEDS_FACTS;
    plan_a_status(f, tick);
    plan_event(tick, "Normal", PHASE_Progressing, "done");
    tick->plan->requeue = answer->passed ? REQUEUE_NEVER : REQUEUE_NOW;
    return RULE_DONE;
}

/* Each write of the status raises the version. */
static void end_when_done(void *arg)
{
    struct fixture *f = arg;
    if (f->version > 10)
        loop_drain(f->loop);
}

enum { TORTURED_REQUESTS = 7 };

/* unlisted: the resource cannot be listed by a watch, so its object is read. */
static void torture(void **state, int fail_at, int status, int drain_at, bool unlisted)
{
    tear_down_idle(state);
    assert_int_equal(set_up(state), 0);
    struct fixture *f = *state;
    f->rule = rule_everything;
    f->stop_after = 0;
    f->fail_at = fail_at;
    f->fail_status = status;
    f->drain_at = drain_at;
    f->no_things = unlisted;
    if (!drain_at)
        f->ticker = timer_start(f->loop, 50, 50, end_when_done, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    if (!drain_at)
        assert_true(noted(f, "write status") >= 1);
}

CASE(a_failure_at_each_request_only_delays)
{
    static const int statuses[] = {403, 409, 500};
    for (int n = 1; n <= 2 * TORTURED_REQUESTS; n++)
        torture(state, (n + 1) / 2, statuses[n % 3], 0, n % 2);
}

CASE(an_end_at_each_request_leaves_nothing)
{
    for (int n = 1; n <= 2 * TORTURED_REQUESTS; n++)
        torture(state, 0, 0, (n + 1) / 2, n % 2);
}

/* Who waits for whom: webhooks and metrics that take their time hold up no other Canary. */
#include "engine/fixture_test.h"

enum { CROWD = 64 };

static bool is_crowd(const struct tick *tick)
{
    return *tick->canary->name == 'c';
}

static void end_when_all_hang(void *arg)
{
    struct fixture *f = arg;
    if (f->hangs >= CROWD && noted(f, "write status"))
        loop_drain(f->loop);
}

/* podinfo stands behind all of them. */
static void let_crowd_hang(struct fixture *f)
{
    f->crowd = CROWD;
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 20, 20, end_when_all_hang, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(f->hangs, CROWD);
    assert_int_equal(noted(f, "write status"), 1);
}

static enum verdict rule_hook_of_the_crowd(struct fixture *f, struct tick *tick)
{
    const struct hook_answer *answer;
    if (is_crowd(tick) && !need_hook(tick, 0, PHASE_Progressing, "c1", &answer))
        return VERDICT_NEED_FACTS;
    plan_a_status(f, tick);
    return VERDICT_STOP;
}

FIXTURE_CASE(hooks_that_hang_hold_up_nobody)
{
    f->rule = rule_hook_of_the_crowd;
    let_crowd_hang(f);
}

static enum verdict rule_metric_of_the_crowd(struct fixture *f, struct tick *tick)
{
    const struct metric_answer *answer;
    struct metric_question question = {
        .id = "m",
        .backend = "prometheus",
        .address =
            arena_printf(tick->arena, "http://127.0.0.1:%d/hang", http_server_port(f->server)),
        .query = "up",
        .interval_ms = 60000};
    if (is_crowd(tick) && !need_metric(tick, &question, &answer))
        return VERDICT_NEED_FACTS;
    plan_a_status(f, tick);
    return VERDICT_STOP;
}

FIXTURE_CASE(metrics_that_hang_hold_up_nobody)
{
    f->rule = rule_metric_of_the_crowd;
    let_crowd_hang(f);
}

static enum verdict rule_inform_the_crowd(struct fixture *f, struct tick *tick)
{
    if (is_crowd(tick))
        plan_hook(tick, 0, PHASE_Succeeded);
    else
        plan_a_status(f, tick);
    return VERDICT_STOP;
}

FIXTURE_CASE(informing_hooks_that_hang_hold_up_nobody)
{
    f->rule = rule_inform_the_crowd;
    let_crowd_hang(f);
}

static enum verdict rule_inform_and_step(struct fixture *f, struct tick *tick)
{
    plan_hook(tick, 0, PHASE_Succeeded);
    tick->plan->stepped = true;
    tick->plan->again = AGAIN_INTERVAL;
    return VERDICT_STOP;
}

/* Not even the release that it informs of. */
FIXTURE_CASE(a_release_goes_on_beside_its_informing_hook)
{
    f->rule = rule_inform_and_step;
    f->hook_path = "hang";
    f->stop_after = 3;
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(f->decided, 3);
    assert_int_equal(f->hangs, 1); /* one at a time */
}

static enum verdict rule_inform_twice(struct fixture *f, struct tick *tick)
{
    plan_hook(tick, 0, PHASE_Succeeded);
    plan_hook(tick, 0, PHASE_Succeeded);
    return VERDICT_STOP;
}

FIXTURE_CASE(informing_hooks_are_told)
{
    f->rule = rule_inform_twice;
    run_engine(f, false);
    assert_int_equal(f->hooks, 2);
    assert_true(told(f, "Post-rollout check check passed"));
}

FIXTURE_CASE(after_an_informing_hook_that_failed_the_rest_is_left_out)
{
    f->rule = rule_inform_twice;
    f->hook_fails = true;
    run_engine(f, false);
    assert_int_equal(f->hooks, 1);
    assert_true(told(f, "Post-rollout hook check failed bad"));
}

/* Waits between Canaries: slow webhooks and metrics delay no other Canary. */
#include "engine/fixture_test.h"
#include "tick/need.h"

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

/* podinfo is queued behind all of them. */
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

static enum rule_result rule_hook_of_the_crowd(struct fixture *f, struct tick *tick)
{
    const struct hook_answer *answer;
    if (is_crowd(tick) && !need_hook(tick, 0, PHASE_Progressing, "c1", &answer))
        return RULE_NEEDS_FACTS;
    plan_a_status(f, tick);
    return RULE_DONE;
}

FIXTURE_CASE(hooks_that_hang_hold_up_nobody)
{
    f->rule = rule_hook_of_the_crowd;
    let_crowd_hang(f);
}

static enum rule_result rule_metric_of_the_crowd(struct fixture *f, struct tick *tick)
{
    const struct metric_answer *answer;
    struct metric_question question = {
        .id = "m",
        .backend = "prometheus",
        .address =
            arena_printf(tick->arena, "http://127.0.0.1:%d/hang", http_server_port(f->server)),
        .query = tick->canary->name, /* otherwise one query would serve all */
        .interval_ms = 60000};
    if (is_crowd(tick) && !need_metric(tick, &question, &answer))
        return RULE_NEEDS_FACTS;
    plan_a_status(f, tick);
    return RULE_DONE;
}

FIXTURE_CASE(metrics_that_hang_hold_up_nobody)
{
    f->rule = rule_metric_of_the_crowd;
    let_crowd_hang(f);
}

static enum rule_result rule_inform_the_crowd(struct fixture *f, struct tick *tick)
{
    if (is_crowd(tick))
        plan_hook(tick, 0, PHASE_Succeeded);
    else
        plan_a_status(f, tick);
    return RULE_DONE;
}

FIXTURE_CASE(informing_hooks_that_hang_hold_up_nobody)
{
    f->rule = rule_inform_the_crowd;
    let_crowd_hang(f);
}

static enum rule_result rule_inform_and_step(struct fixture *f, struct tick *tick)
{
    plan_hook(tick, 0, PHASE_Succeeded);
    tick->plan->stepped = true;
    tick->plan->requeue = REQUEUE_INTERVAL;
    return RULE_DONE;
}

/* Not even the release that the hook reports. */
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

static enum rule_result rule_inform_twice(struct fixture *f, struct tick *tick)
{
    plan_hook(tick, 0, PHASE_Succeeded);
    plan_hook(tick, 0, PHASE_Succeeded);
    return RULE_DONE;
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

/* A release of two ticks; the second one ends it. */
static enum rule_result rule_release_each(struct fixture *f, struct tick *tick)
{
    size_t at = is_crowd(tick) ? strtoul(tick->canary->name + 1, NULL, 10) : (size_t)f->crowd;

    tick->plan->requeue = REQUEUE_NEVER;
    if (f->steps[at] == 0 && tick->queued) {
        tick->plan->queues = true;
    } else if (f->steps[at] == 0) {
        f->steps[at] = 1;
        tick->plan->begins = true;
        tick->plan->requeue = REQUEUE_NOW;
        f->under_way++;
        f->most_under_way = f->under_way > f->most_under_way ? f->under_way : f->most_under_way;
    } else if (f->steps[at] == 1) {
        f->steps[at] = 2;
        f->under_way--;
        note(f, "ended");
    }
    return RULE_DONE;
}

static void end_when_all_have_ended(void *arg)
{
    struct fixture *f = arg;
    if (noted(f, "ended") == f->crowd + 1)
        loop_drain(f->loop);
}

static void release_each(struct fixture *f, int max)
{
    enum { RELEASES = 20 };
    f->rule = rule_release_each;
    f->crowd = RELEASES;
    f->max_releases = max;
    f->phase = "Initialized";
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 20, 20, end_when_all_have_ended, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(noted(f, "ended"), RELEASES + 1);
}

/* A waiting Canary is called when a release ends, and at no other time. */
FIXTURE_CASE(no_more_releases_than_may_be)
{
    release_each(f, 3);
    assert_int_equal(f->most_under_way, 3);
}

FIXTURE_CASE(as_many_releases_as_there_are)
{
    release_each(f, 0);
    assert_true(f->most_under_way > 3);
}

static enum rule_result rule_begin_if_it_may(struct fixture *f, struct tick *tick)
{
    tick->plan->requeue = REQUEUE_NEVER;
    tick->plan->queues = tick->queued;
    note(f, tick->queued ? "queued" : "goes on");
    return RULE_DONE;
}

/* The watch shows more releases than the limit: each continues, as after a restart with another
 * limit. */
FIXTURE_CASE(releases_under_way_are_not_held_up)
{
    f->rule = rule_begin_if_it_may;
    f->crowd = 4;
    f->max_releases = 2;
    f->phase = "Progressing";
    f->stop_after = 5;
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(noted(f, "queued"), 0);
    assert_int_equal(noted(f, "goes on"), 5);
}

/* All read the same object; its change wakes them in order of discovery. */
static enum rule_result rule_look_at_the_thing(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return RULE_NEEDS_FACTS;
    tick->plan->requeue = REQUEUE_NEVER;
    note(f, is_crowd(tick) ? "crowd" : "podinfo");
    if (f->thing_spec > 0 && noted(f, "podinfo") > 0 && noted(f, "crowd") == f->crowd)
        loop_drain(f->loop);
    return RULE_DONE;
}

static void change_the_thing(void *arg)
{
    struct fixture *f = arg;
    if (noted(f, "podinfo") == 0 || noted(f, "crowd") < f->crowd)
        return;
    timer_stop(f->ticker);
    f->ticker = NULL;
    f->logged = 0;
    f->thing_version++;
    f->thing_spec++;
    tell_things_watch(f);
}

/* podinfo is queued behind all of them. */
FIXTURE_CASE(a_release_under_way_runs_before_a_burst_of_others)
{
    enum { RUNS = 4 };
    f->rule = rule_look_at_the_thing;
    f->crowd = CROWD;
    f->crowd_phase = "Initialized";
    f->phase = "Progressing";
    f->thing_version = 100;
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 500, 100, change_the_thing, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    int before = 0;
    while (strcmp(f->log[before], "podinfo") != 0)
        before++;
    assert_in_range(before, 0, RUNS);
}

static enum rule_result rule_step_beside_writes(struct fixture *f, struct tick *tick)
{
    tick->plan->requeue = REQUEUE_NEVER;
    if (is_crowd(tick)) {
        plan_a_status(f, tick);
        return RULE_DONE;
    }
    note(f, "step");
    tick->plan->wake_ms = 20;
    if (f->hangs > 0 && noted(f, "step") >= 5)
        loop_drain(f->loop);
    return RULE_DONE;
}

/* Nor does a slow server: idle Canaries do not take all places to wait there. */
FIXTURE_CASE(writes_of_others_that_hang_hold_up_no_release)
{
    f->rule = rule_step_beside_writes;
    f->crowd = CROWD;
    f->crowd_phase = "Initialized";
    f->phase = "Progressing";
    f->stop_after = 0;
    run_engine(f, false);
    assert_false(f->timed_out);
}

static enum rule_result rule_note_who(struct fixture *f, struct tick *tick)
{
    int place;

    /* On a busy machine the list comes in parts, and some run before the idle one is found. */
    if (engine_find(f->engine, "test", "podinfo", &place))
        note(f, is_crowd(tick) ? "release" : "podinfo");
    else if (noted(f, "early") == 0)
        note(f, "early");
    tick->plan->requeue = REQUEUE_NOW;
    if (!is_crowd(tick))
        loop_drain(f->loop);
    return RULE_DONE;
}

/* More releases than can be served: they ask again immediately, each time. */
FIXTURE_CASE(one_at_rest_runs_behind_releases_without_end)
{
    f->rule = rule_note_who;
    f->crowd = CROWD;
    f->crowd_phase = "Progressing";
    f->phase = "Initializing";
    f->stop_after = 0;
    run_engine(f, false);
    assert_false(f->timed_out);
    int early = noted(f, "early"), before = 0;
    while (early + before < f->logged && strcmp(f->log[early + before], "podinfo") != 0)
        before++;
    if (early == 0)
        assert_int_equal(before, 7);
    else
        assert_in_range(before, 0, 7);
}

static enum rule_result rule_note_once_found(struct fixture *f, struct tick *tick)
{
    int place;

    if (engine_find(f->engine, "test", "podinfo", &place))
        note(f, is_crowd(tick) ? "crowd" : "podinfo");
    tick->plan->requeue = REQUEUE_NEVER;
    if (!is_crowd(tick))
        loop_drain(f->loop);
    return RULE_DONE;
}

/* Nor do many Canaries of one namespace delay the only one of another, queued behind all of them:
 * each namespace gets one turn per round. */
FIXTURE_CASE(namespaces_take_turns)
{
    f->rule = rule_note_once_found;
    f->crowd = CROWD;
    f->crowd_namespace = "crowd";
    f->stop_after = 0;
    run_engine(f, false);
    assert_false(f->timed_out);
    int before = 0;
    while (strcmp(f->log[before], "podinfo") != 0)
        before++;
    assert_in_range(before, 0, 1);
}

/* --- after a start */

static enum rule_result rule_look_at_a_thing(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing)) {
        note(f, "asked");
        return RULE_NEEDS_FACTS;
    }
    assert_non_null(thing);
    tick->plan->requeue = REQUEUE_NEVER;
    return RULE_DONE;
}

/*
 * The first run causes the resource to be listed; the others wait for the list, and none reads its
 * objects again.
 */
FIXTURE_CASE(canaries_at_rest_are_adopted_from_lists)
{
    f->rule = rule_look_at_a_thing;
    f->phase = "Succeeded";
    f->crowd = CROWD;
    f->thing_version = 9;
    f->stop_after = CROWD + 1;
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_in_range(f->decided, CROWD + 1, CROWD + 4);
    /* Only the runs before the list arrives ask: it wakes them, and the others find the thing. */
    assert_in_range(noted(f, "asked"), 1, CROWD + 4);
    assert_int_equal(noted(f, "list things"), 2); /* and the watch */
    assert_int_equal(noted(f, "read thing"), 0);
    assert_int_equal(noted(f, "read canary"), 0);
}

static enum rule_result rule_note_order(struct fixture *f, struct tick *tick)
{
    note(f, "ran %s", phase_name(tick->canary->status.phase));
    tick->plan->requeue = REQUEUE_NEVER;
    return RULE_DONE;
}

/* podinfo is behind all of them in the list, and has a release under way. */
FIXTURE_CASE(releases_under_way_are_adopted_first)
{
    f->rule = rule_note_order;
    f->crowd = CROWD;
    f->crowd_phase = "Succeeded";
    f->stop_after = CROWD + 1;
    run_engine(f, false);
    assert_int_equal(f->decided, CROWD + 1);
    int first = 0;
    while (first < f->logged && strncmp(f->log[first], "ran ", 4) != 0)
        first++;
    assert_string_equal(f->log[first], "ran Progressing");
    assert_int_equal(noted(f, "ran Succeeded"), CROWD);
}

#define TOO_LARGE                                                                                  \
    "GET canaries test/podinfo: the object takes more than 16 MiB of memory, and is not read"

static void end_when_both_are_done(void *arg)
{
    struct fixture *f = arg;
    if (f->decided > 0 && told(f, TOO_LARGE)) {
        timer_stop(f->ticker);
        f->ticker = NULL;
        loop_drain(f->loop);
    }
}

FIXTURE_CASE(what_is_too_large_is_told_and_the_others_go_on)
{
    enum { PIECES = 100000 };
    struct buf junk;
    buf_init(&junk, 4 * PIECES);
    buf_puts(&junk, ",\"acceptedSpec\":[{}");
    for (int i = 0; i < PIECES; i++)
        buf_puts(&junk, ",{}");
    buf_puts(&junk, "]");
    f->junk = junk.data;
    f->twin = true;
    f->stop_after = 0;
    f->ticker = timer_start(f->loop, 20, 20, end_when_both_are_done, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(f->decided, 1);
    buf_fini(&junk);
}

/*
 * The engine against a small API server of this test, with rules of this test in place of decide/:
 * when it runs, what it asks, what it writes, and what it does when something goes wrong.
 */
#include "engine/fixture_test.h"

/* --- rules of this test */

static enum verdict rule_write_status(struct fixture *f, struct tick *tick)
{
    const struct hook_answer *answer;
    if (!need_hook(tick, 0, PHASE_Progressing, "c1", &answer))
        return VERDICT_NEED_FACTS;
    assert_true(answer->passed);
    assert_string_equal(answer->text, "good");
    plan_a_status(f, tick);
    return VERDICT_STOP;
}

static enum verdict rule_ask_a_thing(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return VERDICT_NEED_FACTS;
    assert_null(thing);
    return VERDICT_STOP;
}

static enum verdict rule_step_each_interval(struct fixture *f, struct tick *tick)
{
    note(f, tick->due ? "due" : "not due");
    tick->plan->stepped = tick->due;
    tick->plan->again = AGAIN_INTERVAL;
    return VERDICT_STOP;
}

/* The interval is long, and the canary idle after the first time. */
static enum verdict rule_wake_earlier(struct fixture *f, struct tick *tick)
{
    note(f, "awake");
    tick->plan->again = noted(f, "awake") == 1 ? AGAIN_INTERVAL : AGAIN_NEVER;
    tick->plan->wake_ms = 50;
    return VERDICT_STOP;
}

static enum verdict rule_never_content(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    f->decided++; /* a new question every time */
    const char *name = arena_printf(tick->arena, "a%d", f->decided);
    (void)need_object(tick, &things, "test", name, &thing);
    return VERDICT_NEED_FACTS;
}

/* --- cases */

FIXTURE_CASE(a_canary_that_the_watch_has_shown_is_not_read)
{
    run_engine(f, false);
    assert_int_equal(f->decided, 1);
    assert_int_equal(noted(f, "read canary"), 0);
    assert_false(f->timed_out);
}

FIXTURE_CASE(our_own_status_write_does_not_wake_it)
{
    f->rule = rule_write_status;
    f->asked = "{\"name\":\"podinfo\",\"namespace\":\"test\",\"phase\":\"Progressing\","
               "\"checksum\":\"c1\"}";
    run_engine(f, false);
    assert_int_equal(f->decided, 1);
    assert_int_equal(f->hooks, 1);
    assert_int_equal(noted(f, "write status"), 1);
}

FIXTURE_CASE(a_conflict_decides_again_and_calls_no_hook_twice)
{
    f->rule = rule_write_status;
    f->fail_writes = 2;
    f->fail_status = 409;
    f->stop_after = 3;
    run_engine(f, false);
    assert_int_equal(noted(f, "write status"), 3);
    assert_int_equal(noted(f, "read canary"), 2); /* the watch shows nothing new */
    assert_int_equal(f->hooks, 1);
}

/* The rules of a deletion look at the Canary through a view of their own. */
static enum verdict rule_view_the_canary(struct fixture *f, struct tick *tick)
{
    struct canary *view = ARENA_NEW(tick->arena, struct canary);

    *view = *tick->canary;
    view->target.kind = "View";
    note(f, "seen %s %s", tick->canary->resource_version, tick->canary->target.kind);
    tick->canary = view;
    plan_a_status(f, tick);
    return VERDICT_STOP;
}

FIXTURE_CASE(after_a_conflict_the_rules_see_the_canary_as_it_is_now)
{
    f->rule = rule_view_the_canary;
    f->fail_writes = 1;
    f->fail_status = 409;
    f->moves_on_failure = true;
    f->stop_after = 2;
    run_engine(f, false);
    assert_int_equal(noted(f, "seen 10 Deployment"), 1);
    assert_int_equal(noted(f, "seen 11 Deployment"), 1);
}

static enum verdict rule_write_and_see(struct fixture *f, struct tick *tick)
{
    note(f, "seen %s", tick->canary->resource_version);
    plan_a_status(f, tick);
    tick->plan->again = noted(f, "write status") == 0 ? AGAIN_NOW : AGAIN_NEVER;
    return VERDICT_STOP;
}

/* What we wrote is known, though the watch has not shown it and shows something older meanwhile. */
FIXTURE_CASE(what_was_written_is_not_read)
{
    f->rule = rule_write_and_see;
    f->stop_after = 2;
    run_engine(f, false);
    assert_int_equal(noted(f, "seen 10"), 1);
    assert_int_equal(noted(f, "seen 11"), 1);
    assert_int_equal(noted(f, "read canary"), 0);
}

/* The watch brings what the write was refused for. */
FIXTURE_CASE(a_conflict_waits_for_the_watch)
{
    f->rule = rule_view_the_canary;
    f->fail_writes = 1;
    f->fail_status = 409;
    f->moves_on_failure = true;
    f->tells_failure = true;
    f->stop_after = 2;
    run_engine(f, false);
    assert_int_equal(noted(f, "seen 10 Deployment"), 1);
    assert_int_equal(noted(f, "seen 11 Deployment"), 1);
    assert_int_equal(noted(f, "read canary"), 0);
}

/* As the status of a workload that grows makes them. */
FIXTURE_CASE(a_storm_of_conflicts_is_outlived)
{
    f->rule = rule_write_status;
    f->fail_writes = 6;
    f->fail_status = 409;
    f->moves_on_failure = true;
    f->stop_after = 7;
    run_engine(f, false);
    assert_int_equal(noted(f, "write status"), 7);
    assert_int_equal(f->hooks, 1);
    assert_false(told(f, ""));
}

FIXTURE_CASE(a_failed_write_is_told_and_derived_anew)
{
    f->rule = rule_write_status;
    f->fail_writes = 1;
    f->fail_status = 403;
    f->stop_after = 2;
    run_engine(f, false);
    assert_int_equal(noted(f, "write status"), 2);
    assert_int_equal(f->hooks, 2);
    assert_true(told(f, "as the test asked"));
}

FIXTURE_CASE(a_failure_that_lasts_is_told_once)
{
    int told_times = 0;
    f->rule = rule_write_status;
    f->fail_writes = 3;
    f->fail_status = 403;
    f->stop_after = 4;
    run_engine(f, false);
    assert_int_equal(noted(f, "write status"), 4);
    for (int i = 0; i < f->logged; i++)
        told_times +=
            strncmp(f->log[i], "event ", 6) == 0 && strstr(f->log[i], "as the test asked");
    assert_int_equal(told_times, 2); /* once while it lasts, once when it is over */
    assert_true(told(f, "Going on after 3 failed tries: "));
}

/* podinfo's rules break three times. */
static enum verdict rule_that_breaks(struct fixture *f, struct tick *tick)
{
    plan_a_status(f, tick);
    if (f->broke == 3)
        return VERDICT_STOP;
    f->broke++;
    tick_broken(tick, "seven is less than %d", 3);
    return tick_broken(tick, "and more came of it");
}

FIXTURE_CASE(a_rule_that_breaks_is_an_error_of_its_canary)
{
    f->rule = rule_that_breaks;
    f->stop_after = 4;
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(f->broke, 3);
    assert_true(told(f, "a rule broke: seven is less than 3"));
    assert_true(told(f, "Going on after 3 failed tries: a rule broke: seven is less than 3"));
    assert_int_equal(noted(f, "write status"), 1);
}

/* After a failure nothing is believed but what is read. */
FIXTURE_CASE(an_unreachable_api_holds_and_goes_on)
{
    f->rule = rule_write_status;
    f->fail_writes = 1;
    f->fail_reads = 4; /* the client repeats three times itself */
    f->fail_status = 500;
    f->stop_after = 2;
    run_engine(f, false);
    assert_int_equal(f->decided, 2);
    assert_true(noted(f, "read canary") >= 5);
}

/* A restart loses every sample; a dashboard must not wait for the next release. */
FIXTURE_CASE(a_canary_that_rests_has_its_gauges)
{
    f->phase = "Failed";
    run_engine(f, false);
    assert_non_null(
        strstr(f->metrics, "flagger_canary_status{name=\"podinfo\",namespace=\"test\"} 2\n"));
    assert_non_null(
        strstr(f->metrics,
               "flagger_canary_weight{workload=\"podinfo-primary\",namespace=\"test\"} 100\n"));
    assert_int_equal(noted(f, "write status"), 0);
}

FIXTURE_CASE(what_is_absent_is_known_from_the_list)
{
    f->rule = rule_ask_a_thing;
    run_engine(f, false);
    assert_int_equal(noted(f, "read thing"), 0);
}

/* Nobody can list it: it is read. */
FIXTURE_CASE(what_cannot_be_listed_is_read)
{
    f->rule = rule_ask_a_thing;
    f->no_things = true;
    run_engine(f, false);
    assert_int_equal(noted(f, "read thing"), 1);
}

FIXTURE_CASE(steps_come_once_an_interval)
{
    f->rule = rule_step_each_interval;
    f->stop_after = 3;
    run_engine(f, false);
    assert_int_equal(noted(f, "due"), 3);
    assert_int_equal(noted(f, "not due"), 0);
}

FIXTURE_CASE(a_rule_is_woken_before_the_interval)
{
    f->rule = rule_wake_earlier;
    f->interval = "10m";
    f->stop_after = 4;
    run_engine(f, false);
    assert_true(noted(f, "awake") >= 4);
}

static void change_it(void *arg)
{
    struct fixture *f = arg;
    f->version++;
    tell_watch(f, "MODIFIED");
}

FIXTURE_CASE(a_change_wakes_it_without_a_step)
{
    f->rule = rule_step_each_interval;
    f->interval = "1m";
    f->stop_after = 2;
    timer_start(f->loop, 300, 0, change_it, f);
    run_engine(f, false);
    assert_int_equal(noted(f, "due"), 1);
    assert_int_equal(noted(f, "not due"), 1);
    assert_int_equal(noted(f, "read canary"), 0);
}

static void delete_it(void *arg)
{
    struct fixture *f = arg;
    f->gone = true;
    f->version++;
    tell_watch(f, "DELETED");
    timer_start(f->loop, 1500, 0, (timer_fn)loop_drain, f->loop);
}

/* disableTLS and a Secret: whoever answers gets it. */
/* An object that takes too much memory concerns its own Canary. */
FIXTURE_CASE(an_unverified_secret_is_told_once)
{
    int told_times = 0;
    f->hook_fields = ",\"disableTLS\":true,\"headersFrom\":[{\"secretRef\":{\"name\":\"key\"}}]";
    f->rule = rule_step_each_interval;
    f->stop_after = 3;
    run_engine(f, false);
    for (int i = 0; i < f->logged; i++)
        told_times += strncmp(f->log[i], "event ", 6) == 0 &&
                      strstr(f->log[i], "spec.analysis.webhooks[0]: with disableTLS");
    assert_int_equal(told_times, 1);
}

FIXTURE_CASE(a_deleted_canary_ticks_no_more)
{
    f->rule = rule_step_each_interval;
    f->stop_after = 100;
    timer_start(f->loop, 300, 0, delete_it, f);
    run_engine(f, false);
    assert_int_equal(f->decided, 1);
    assert_false(f->timed_out);
}

static void lead_now(void *arg)
{
    struct fixture *f = arg;
    assert_int_equal(f->decided, 0);
    f->leads = true;
    engine_lead(f->engine, true);
}

FIXTURE_CASE(a_standby_does_nothing_until_it_leads)
{
    timer_start(f->loop, 300, 0, lead_now, f);
    run_engine(f, true);
    assert_int_equal(f->decided, 1);
}

static void stop_leading(void *arg)
{
    struct fixture *f = arg;
    f->leads = true;
    engine_lead(f->engine, true);
    f->leads = false; /* the lease ran out before the tick writes */
}

FIXTURE_CASE(a_write_without_leadership_is_not_made)
{
    f->rule = rule_write_status;
    timer_start(f->loop, 100, 0, stop_leading, f);
    run_engine(f, true);
    assert_int_equal(noted(f, "write status"), 0);
    assert_int_equal(f->hooks, 0);
    assert_false(told(f, ""));
}

static enum verdict rule_tell(struct fixture *f, struct tick *tick)
{
    plan_event(tick, "Normal", PHASE_Progressing, "only told");
    return VERDICT_STOP;
}

FIXTURE_CASE(an_event_without_leadership_is_not_told)
{
    f->rule = rule_tell;
    timer_start(f->loop, 100, 0, stop_leading, f);
    run_engine(f, true);
    assert_true(f->decided >= 1);
    assert_false(told(f, ""));
}

FIXTURE_CASE(a_resource_that_is_not_installed_holds_up_nothing)
{
    f->rule = rule_ask_a_thing;
    f->no_things = true;
    f->ask_ready = true;
    run_engine(f, false);
    assert_int_equal(f->decided, 1);
    assert_int_equal(noted(f, "ready"), 1);
}

static enum verdict rule_want_a_served_thing(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return VERDICT_NEED_FACTS;
    note(f, tick_is_unserved(tick, &things) ? "not served" : thing ? "there" : "not there");
    tick->plan->again = AGAIN_NEVER;
    return VERDICT_STOP;
}

static enum verdict rule_want_a_thing_again(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return VERDICT_NEED_FACTS;
    note(f, tick_is_unserved(tick, &things) ? "not served" : thing ? "there" : "not there");
    tick->plan->again = noted(f, "not served") < 5 ? AGAIN_NOW : AGAIN_NEVER;
    return VERDICT_STOP;
}

/* The watch goes on trying: who waits for it does not ask at every tick. */
FIXTURE_CASE(a_resource_that_is_not_served_is_asked_for_once)
{
    f->rule = rule_want_a_thing_again;
    f->no_things = true;
    f->stop_after = 5;
    run_engine(f, false);
    assert_int_equal(noted(f, "not served"), 5);
    assert_int_equal(noted(f, "read thing"), 1);
}

static void install_things(void *arg)
{
    struct fixture *f = arg;
    note(f, "installed");
    f->no_things = false;
}

/* No timer of the Canary is needed for that. */
FIXTURE_CASE(who_misses_a_resource_is_woken_when_it_is_installed)
{
    f->rule = rule_want_a_served_thing;
    f->phase = "Initialized";
    f->no_things = true;
    f->stop_after = 2;
    timer_start(f->loop, 200, 0, install_things, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(noted(f, "installed"), 1);
    assert_int_equal(noted(f, "not served"), 1);
    assert_int_equal(noted(f, "not there"), 1);
    assert_int_equal(noted(f, "read thing"), 1);
}

static enum verdict rule_want_no_thing(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return VERDICT_NEED_FACTS;
    note(f, thing ? "there" : "not there");
    return VERDICT_STOP;
}

FIXTURE_CASE(what_went_before_the_list_is_noticed)
{
    f->rule = rule_want_no_thing;
    f->late_list = true;
    f->list_patience_ms = 50;
    f->stop_after = 2;
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(noted(f, "there"), 1);
    assert_int_equal(noted(f, "not there"), 1);
}

static enum verdict rule_at_once(struct fixture *f, struct tick *tick)
{
    tick->plan->again = AGAIN_NOW;
    return VERDICT_STOP;
}

FIXTURE_CASE(at_once_is_not_for_ever)
{
    f->rule = rule_at_once;
    f->interval = "1m";
    f->stop_after = 0;
    timer_start(f->loop, 1000, 0, (timer_fn)loop_drain, f->loop);
    run_engine(f, false);
    assert_int_equal(f->decided, 11);
}

FIXTURE_CASE(an_object_that_changes_without_end_costs_little)
{
    f->stop_after = 0;
    struct timer *changes = timer_start(f->loop, 100, 5, change_it, f);
    timer_start(f->loop, 1500, 0, (timer_fn)timer_stop, changes);
    timer_start(f->loop, 1600, 0, (timer_fn)loop_drain, f->loop);
    run_engine(f, false);
    /* of 300 changes on a machine that has nothing else to do */
    assert_in_range(f->decided, 5, 52);
    assert_true(f->version > f->decided + f->decided / 2);
}

static enum verdict rule_note_rival(struct fixture *f, struct tick *tick)
{
    note(f, "%s waits for %s, leaves to %s%s", tick->canary->name,
         !tick->rival                          ? "nobody"
         : strstr(tick->rival, "podinfo.test") ? "podinfo"
                                               : "another",
         tick->heir ? tick->heir : "nobody", tick->barred ? ", barred" : "");
    tick->plan->again = AGAIN_NEVER;
    return VERDICT_STOP;
}

/* Both are known before either runs; the one that has to wait is woken when the other has gone. */
FIXTURE_CASE(two_canaries_of_one_target_know_of_each_other)
{
    f->twin = true;
    f->rule = rule_note_rival;
    f->stop_after = 3;
    timer_start(f->loop, 300, 0, delete_it, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(noted(f, "podinfo waits for nobody, leaves to twin.test"), 1);
    assert_int_equal(noted(f, "twin waits for podinfo, leaves to podinfo.test, barred"), 1);
    assert_int_equal(noted(f, "twin waits for nobody, leaves to nobody"), 1);
}

FIXTURE_CASE(a_spec_that_cannot_be_read_is_told)
{
    f->interval = "soon";
    timer_start(f->loop, 500, 0, (timer_fn)loop_drain, f->loop);
    run_engine(f, false);
    assert_int_equal(f->decided, 0);
    assert_int_equal(noted(f, "write status"), 1);
    assert_true(told(f, "spec.analysis.interval"));
}

FIXTURE_CASE(a_canary_that_is_deleted_needs_no_analysis)
{
    f->interval = "soon";
    f->deleting = true;
    run_engine(f, false);
    assert_int_equal(f->decided, 1);
    assert_int_equal(noted(f, "write status"), 0);
}

FIXTURE_CASE(a_canary_that_is_deleted_and_cannot_be_read_is_let_go)
{
    f->target = "";
    f->deleting = true;
    timer_start(f->loop, 500, 0, (timer_fn)loop_drain, f->loop);
    run_engine(f, false);
    assert_int_equal(f->decided, 0);
    assert_int_equal(noted(f, "patch canary {\"metadata\":{\"finalizers\":null,"
                              "\"resourceVersion\":\"10\"}}"),
                     1);
    assert_int_equal(noted(f, "write status"), 0);
    assert_true(told(f, "spec.targetRef.name"));
}

static enum verdict rule_let_go(struct fixture *f, struct tick *tick)
{
    struct json_object *patch = json_own(f->arena, json_object_new_object());
    struct json_object *to = json_copy(f->arena, tick->canary->json);

    json_object_object_del(json_sub(to, "metadata"), "finalizers");
    plan_update(tick, &tick_canaries, tick->canary->json, to);
    plan_event(tick, "Normal", PHASE_Terminating, "let go");
    plan_status(tick, patch);
    plan_event(tick, "Normal", PHASE_Terminating, "never so far");
    return VERDICT_STOP;
}

/* The watch is quicker than the answer to the write that let the Canary go. */
FIXTURE_CASE(the_end_of_a_canary_is_told)
{
    f->rule = rule_let_go;
    f->deleting = true;
    f->deaf = true;
    run_engine(f, false);
    assert_int_equal(f->decided, 1);
    assert_true(told(f, "let go"));
    assert_false(told(f, "never so far"));
    assert_int_equal(noted(f, "write status"), 0);
}

/* Deleted between the read and the write: nothing to complain about. */
FIXTURE_CASE(a_canary_that_goes_under_a_write_is_left_alone)
{
    f->rule = rule_write_status;
    f->fail_writes = 1;
    f->fail_status = 404;
    f->gone_on_failure = true;
    f->stop_after = 0;
    timer_start(f->loop, 500, 0, (timer_fn)loop_drain, f->loop);
    run_engine(f, false);
    assert_int_equal(f->decided, 1);
    assert_int_equal(noted(f, "write status"), 1);
    assert_false(told(f, "as the test asked"));
}

FIXTURE_CASE(rules_that_never_have_enough_are_stopped)
{
    f->rule = rule_never_content;
    timer_start(f->loop, 1000, 0, (timer_fn)loop_drain, f->loop);
    run_engine(f, false);
    assert_true(f->decided >= 64);
    assert_false(f->timed_out);
}

/* --- who is woken by what */

static enum verdict rest_on_a_thing(struct fixture *f, struct tick *tick, bool looks)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return VERDICT_NEED_FACTS;
    note(f, "awake");
    tick->plan->again = AGAIN_NEVER;
    tick->plan->reads_status = looks;
    return VERDICT_STOP;
}

static enum verdict rule_look_at_status(struct fixture *f, struct tick *tick)
{
    return rest_on_a_thing(f, tick, true);
}

static enum verdict rule_look_at_no_status(struct fixture *f, struct tick *tick)
{
    return rest_on_a_thing(f, tick, false);
}

/* The list that comes after the first read may have woken it once more: what follows counts. */
static void change_thing_status(void *arg)
{
    struct fixture *f = arg;
    f->stop_after = f->decided + 1;
    f->thing_version++;
    f->thing_status++;
    tell_things_watch(f);
}

static void change_thing_spec(void *arg)
{
    struct fixture *f = arg;
    assert_int_equal(f->decided, f->stop_after - 1); /* no status has woken it */
    f->thing_version++;
    f->thing_spec++;
    tell_things_watch(f);
}

static void change_canary_status(void *arg)
{
    struct fixture *f = arg;
    f->stop_after = f->decided + 1;
    change_it(f);
}

static void change_status_again(void *arg)
{
    struct fixture *f = arg;
    int stop_after = f->stop_after;
    change_thing_status(f);
    f->stop_after = stop_after;
}

static void rest(struct fixture *f, enum verdict (*rule)(struct fixture *f, struct tick *tick))
{
    f->rule = rule;
    f->phase = "Failed";
    f->thing_version = 100;
    f->stop_after = 0;
}

FIXTURE_CASE(status_wakes_a_canary_at_rest_that_looked_at_it)
{
    rest(f, rule_look_at_status);
    timer_start(f->loop, 500, 0, change_thing_status, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(f->decided, f->stop_after);
}

/* Pods come and go: that costs no request. The change of the spec that follows is seen. */
FIXTURE_CASE(status_alone_costs_a_canary_at_rest_nothing)
{
    rest(f, rule_look_at_no_status);
    for (int i = 0; i < 6; i++)
        timer_start(f->loop, (unsigned)(500 + 20 * i), 0,
                    i == 0 ? change_thing_status : change_status_again, f);
    timer_start(f->loop, 900, 0, change_thing_spec, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_int_equal(f->thing_status, 6);
    assert_int_equal(f->decided, f->stop_after);
}

/* A release that is under way hears of everything. */
FIXTURE_CASE(status_wakes_a_canary_that_is_not_at_rest)
{
    rest(f, rule_look_at_no_status);
    f->phase = "Promoting";
    timer_start(f->loop, 500, 0, change_thing_status, f);
    run_engine(f, false);
    assert_false(f->timed_out);
}

/* Somebody else wrote the Canary's status: every rule reads it. */
FIXTURE_CASE(the_status_of_the_canary_itself_is_news)
{
    rest(f, rule_look_at_no_status);
    timer_start(f->loop, 500, 0, change_canary_status, f);
    run_engine(f, false);
    assert_false(f->timed_out);
}

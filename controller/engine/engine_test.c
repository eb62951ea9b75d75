/*
 * The engine against a small API server of this test, with rules of this test in place of decide/:
 * the times of its runs, its questions, its writes, and its reaction to failures. The cases are
 * rows of runs.yaml: a rule, the settings of the fixture, the events during the run, and the
 * observations at the end.
 */
#include "engine/fixture_test.h"
#include "engine/rows_test.h"
#include "tick/need.h"

/* --- rules of this test */

static enum rule_result rule_write_status(struct fixture *f, struct tick *tick)
{
    const struct hook_answer *answer;
    if (!need_hook(tick, 0, PHASE_Progressing, "c1", &answer))
        return RULE_NEEDS_FACTS;
    assert_true(answer->passed);
    assert_string_equal(answer->text, "good");
    plan_a_status(f, tick);
    return RULE_DONE;
}

static enum rule_result rule_ask_a_thing(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return RULE_NEEDS_FACTS;
    assert_null(thing);
    return RULE_DONE;
}

static enum rule_result rule_step_each_interval(struct fixture *f, struct tick *tick)
{
    note(f, tick->due ? "due" : "not due");
    tick->plan->stepped = tick->due;
    tick->plan->requeue = REQUEUE_INTERVAL;
    return RULE_DONE;
}

/* The interval is long, and the canary is idle after the first time. */
static enum rule_result rule_wake_earlier(struct fixture *f, struct tick *tick)
{
    note(f, "awake");
    tick->plan->requeue = noted(f, "awake") == 1 ? REQUEUE_INTERVAL : REQUEUE_NEVER;
    tick->plan->wake_ms = 50;
    return RULE_DONE;
}

static enum rule_result rule_never_content(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    f->decided++; /* a new question every time */
    const char *name = arena_printf(tick->arena, "a%d", f->decided);
    (void)need_object(tick, &things, "test", name, &thing);
    return RULE_NEEDS_FACTS;
}

/* The rules of a deletion look at the Canary through a view of their own. */
static enum rule_result rule_view_the_canary(struct fixture *f, struct tick *tick)
{
    struct canary *view = ARENA_NEW(tick->arena, struct canary);

    *view = *tick->canary;
    view->target.kind = "View";
    note(f, "seen %s %s", tick->canary->resource_version, tick->canary->target.kind);
    tick->canary = view;
    plan_a_status(f, tick);
    return RULE_DONE;
}

static enum rule_result rule_write_and_see(struct fixture *f, struct tick *tick)
{
    note(f, "seen %s", tick->canary->resource_version);
    plan_a_status(f, tick);
    tick->plan->requeue = noted(f, "write status") == 0 ? REQUEUE_NOW : REQUEUE_NEVER;
    return RULE_DONE;
}

/* podinfo's rules break three times. */
static enum rule_result rule_that_breaks(struct fixture *f, struct tick *tick)
{
    plan_a_status(f, tick);
    if (f->broke == 3)
        return RULE_DONE;
    f->broke++;
    tick_broken(tick, "seven is less than %d", 3);
    return tick_broken(tick, "and more came of it");
}

static enum rule_result rule_tell(struct fixture *f, struct tick *tick)
{
    plan_event(tick, "Normal", PHASE_Progressing, "only told");
    return RULE_DONE;
}

static enum rule_result rule_want_a_served_thing(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return RULE_NEEDS_FACTS;
    note(f, tick_is_unserved(tick, &things) ? "not served" : thing ? "there" : "not there");
    tick->plan->requeue = REQUEUE_NEVER;
    return RULE_DONE;
}

static enum rule_result rule_want_a_thing_again(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return RULE_NEEDS_FACTS;
    note(f, tick_is_unserved(tick, &things) ? "not served" : thing ? "there" : "not there");
    tick->plan->requeue = noted(f, "not served") < 5 ? REQUEUE_NOW : REQUEUE_NEVER;
    return RULE_DONE;
}

static enum rule_result rule_want_no_thing(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return RULE_NEEDS_FACTS;
    note(f, thing ? "there" : "not there");
    return RULE_DONE;
}

static enum rule_result rule_at_once(struct fixture *f, struct tick *tick)
{
    tick->plan->requeue = REQUEUE_NOW;
    return RULE_DONE;
}

static enum rule_result rule_note_rival(struct fixture *f, struct tick *tick)
{
    note(f, "%s waits for %s, leaves to %s%s", tick->canary->name,
         !tick->conflict                          ? "nobody"
         : strstr(tick->conflict, "podinfo.test") ? "podinfo"
                                                  : "another",
         tick->successor ? tick->successor : "nobody", tick->locked_out ? ", barred" : "");
    tick->plan->requeue = REQUEUE_NEVER;
    return RULE_DONE;
}

static enum rule_result rule_let_go(struct fixture *f, struct tick *tick)
{
    struct json_object *patch = json_own(f->arena, json_object_new_object());
    struct json_object *to = json_copy(f->arena, tick->canary->json);

    json_object_object_del(json_sub(to, "metadata"), "finalizers");
    plan_update(tick, &tick_canaries, tick->canary->json, to);
    plan_event(tick, "Normal", PHASE_Terminating, "let go");
    plan_status(tick, patch);
    plan_event(tick, "Normal", PHASE_Terminating, "never so far");
    return RULE_DONE;
}

static enum rule_result rest_on_a_thing(struct fixture *f, struct tick *tick, bool looks)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return RULE_NEEDS_FACTS;
    note(f, "awake");
    tick->plan->requeue = REQUEUE_NEVER;
    tick->plan->reads_status = looks;
    return RULE_DONE;
}

static enum rule_result rule_look_at_status(struct fixture *f, struct tick *tick)
{
    return rest_on_a_thing(f, tick, true);
}

static enum rule_result rule_look_at_no_status(struct fixture *f, struct tick *tick)
{
    return rest_on_a_thing(f, tick, false);
}

/* --- rules about denied or refused writes */

static enum rule_result rule_patch_what_is_denied(struct fixture *f, struct tick *tick)
{
    struct json_object *to = json_copy(tick->arena, tick->canary->json);
    if (tick->unwritable) {
        assert_non_null(strstr(tick->unwritable, "as the test asked"));
        note(f, "denied");
        tick->plan->held = true;
        plan_a_status(f, tick);
        return RULE_DONE;
    }
    note(f, "tries");
    json_set_str(json_sub(to, "spec"), "of", "the test");
    plan_update(tick, &tick_canaries, tick->canary->json, to);
    return RULE_DONE;
}

static enum rule_result rule_patch_what_is_refused(struct fixture *f, struct tick *tick)
{
    const struct refused_write *refused = &tick->refused_write;

    if (!refused->text)
        return rule_patch_what_is_denied(f, tick);
    assert_non_null(strstr(refused->text, "as the test asked"));
    assert_string_equal(refused->resource, "canaries");
    assert_string_equal(refused->name, tick->canary->name);
    note(f, "refused");
    tick->plan->held = true;
    plan_a_status(f, tick);
    return RULE_DONE;
}

/* --- rules of how writes are sent */

/* Writes only the replicas of an object that a controller of a workload has left, twice; then
 * another field too. */
static enum rule_result rule_scale(struct fixture *f, struct tick *tick)
{
    const char *const specs[] = {"{\"replicas\":2}", "{\"replicas\":3}",
                                 "{\"replicas\":4,\"n\":1}"};
    struct json_object *from = json_own(
        tick->arena,
        json_tokener_parse("{\"metadata\":{\"namespace\":\"test\",\"name\":\"a\",\"uid\":\"t\","
                           "\"resourceVersion\":\"4\",\"generation\":7},\"spec\":{}}"));
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct json_object *to = json_copy(tick->arena, from);
        json_set(to, "spec", json_own(tick->arena, json_tokener_parse(specs[i])));
        plan_update(tick, &things, from, to);
        if (!f->asks_twice)
            break;
    }
    return RULE_DONE;
}

/* --- rules about reads */

static enum rule_result rule_list_things(struct fixture *f, struct tick *tick)
{
    struct json_object *listed;
    if (!need_objects(tick, &things, "test", &listed))
        return RULE_NEEDS_FACTS;
    note(f, json_len(listed) == 1 ? "one" : "not one");
    return RULE_DONE;
}

/* The thing is created just when its watch has not shown it. */
static enum rule_result rule_name_a_thing(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return RULE_NEEDS_FACTS;
    if (!thing && f->made_late)
        f->thing_version = 12;
    if (!need_object_surely(tick, &things, "test", "a", &thing))
        return RULE_NEEDS_FACTS;
    note(f, thing ? "there" : "missing");
    return RULE_DONE;
}

/* --- events during the run */

static void change_it(void *arg)
{
    struct fixture *f = arg;
    f->version++;
    tell_watch(f, "MODIFIED");
}

static void delete_it(void *arg)
{
    struct fixture *f = arg;
    f->gone = true;
    f->version++;
    tell_watch(f, "DELETED");
    timer_start(f->loop, 1500, 0, (timer_fn)loop_drain, f->loop);
}

static void lead_now(void *arg)
{
    struct fixture *f = arg;
    assert_int_equal(f->decided, 0);
    f->leads = true;
    engine_lead(f->engine, true);
}

static void stop_leading(void *arg)
{
    struct fixture *f = arg;
    f->leads = true;
    engine_lead(f->engine, true);
    f->leads = false; /* the lease ran out before the tick writes */
}

static void install_things(void *arg)
{
    struct fixture *f = arg;
    note(f, "installed");
    f->no_things = false;
}

/* The list that arrives after the first read may have woken it once more: only later events
 * count. */
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
    assert_int_equal(f->decided, f->stop_after - 1); /* no status has woken the Canary */
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

/* --- the rows */

static const struct {
    const char *name;
    enum rule_result (*rule)(struct fixture *f, struct tick *tick);
} rules[] = {
    {"rest", rule_rest},
    {"write status", rule_write_status},
    {"ask a thing", rule_ask_a_thing},
    {"step each interval", rule_step_each_interval},
    {"wake earlier", rule_wake_earlier},
    {"never content", rule_never_content},
    {"view the canary", rule_view_the_canary},
    {"write and see", rule_write_and_see},
    {"that breaks", rule_that_breaks},
    {"tell", rule_tell},
    {"want a served thing", rule_want_a_served_thing},
    {"want a thing again", rule_want_a_thing_again},
    {"want no thing", rule_want_no_thing},
    {"at once", rule_at_once},
    {"note rival", rule_note_rival},
    {"let go", rule_let_go},
    {"look at status", rule_look_at_status},
    {"look at no status", rule_look_at_no_status},
    {"patch what is denied", rule_patch_what_is_denied},
    {"patch what is refused", rule_patch_what_is_refused},
    {"scale", rule_scale},
    {"list things", rule_list_things},
    {"name a thing", rule_name_a_thing},
};

static void drain(void *arg)
{
    loop_drain(((struct fixture *)arg)->loop);
}

static const struct {
    const char *name;
    timer_fn fn;
} deeds[] = {
    {"change it", change_it},
    {"delete it", delete_it},
    {"lead now", lead_now},
    {"stop leading", stop_leading},
    {"install things", install_things},
    {"change the thing's status", change_thing_status},
    {"change its status again", change_status_again},
    {"change the thing's spec", change_thing_spec},
    {"change the canary's status", change_canary_status},
    {"end", drain},
};

static const struct row_column columns[] = {
    ROW_TEXT(struct fixture, phase),
    ROW_TEXT(struct fixture, interval),
    ROW_TEXT(struct fixture, target),
    ROW_FLAG(struct fixture, deleting),
    ROW_TEXT(struct fixture, hook_fields),
    ROW_TEXT(struct fixture, asked),
    ROW_NUMBER(struct fixture, thing_version),
    ROW_NUMBER(struct fixture, fail_reads),
    ROW_NUMBER(struct fixture, fail_writes),
    ROW_NUMBER(struct fixture, fail_status),
    ROW_FLAG(struct fixture, fails_by_role),
    ROW_FLAG(struct fixture, gone_on_failure),
    ROW_FLAG(struct fixture, moves_on_failure),
    ROW_FLAG(struct fixture, tells_failure),
    ROW_FLAG(struct fixture, twin),
    ROW_FLAG(struct fixture, no_things),
    ROW_FLAG(struct fixture, ask_ready),
    ROW_FLAG(struct fixture, asks_twice),
    ROW_FLAG(struct fixture, made_late),
    ROW_NUMBER(struct fixture, list_patience_ms),
    ROW_FLAG(struct fixture, late_list),
    ROW_FLAG(struct fixture, deaf),
    ROW_NUMBER(struct fixture, stop_after),
};

static void begin(struct fixture *f)
{
    const char *rule = json_str_at(row_case, "rule", NULL);
    struct json_object *meanwhile = json_at(row_case, "meanwhile", NULL);
    size_t at = 0;

    while (rule && strcmp(rules[at].name, rule) != 0)
        if (++at == sizeof(rules) / sizeof(rules[0]))
            fail_msg("no rule \"%s\"", rule);
    f->rule = rules[at].rule;
    row_case_given(f->arena, columns, sizeof(columns) / sizeof(columns[0]), f);
    for (size_t i = 0; i < json_len(meanwhile); i++) {
        const char *name = json_object_get_string(json_elem(json_elem(meanwhile, i), 1));
        int64_t ms = json_object_get_int64(json_elem(json_elem(meanwhile, i), 0));
        for (at = 0; strcmp(deeds[at].name, name) != 0;)
            if (++at == sizeof(deeds) / sizeof(deeds[0]))
                fail_msg("no deed \"%s\"", name);
        timer_start(f->loop, ms, 0, deeds[at].fn, f);
    }
}

/* Result of a run: how often each text of `noted` was seen, all events in one text, and numbers. */
static struct json_object *seen(struct fixture *f)
{
    struct json_object *out = json_own(f->arena, json_object_new_object());
    struct json_object *counts = json_at(row_case, "seen", "noted", NULL);
    const char *told = "";

    if (counts) {
        json_object_object_foreach(counts, text, count)
        {
            (void)count;
            json_set_int(json_sub(out, "noted"), text, noted(f, text));
        }
    }
    for (int i = 0; i < f->logged; i++)
        if (strncmp(f->log[i], "event ", 6) == 0)
            told = arena_printf(f->arena, "%s%s\n", told, f->log[i] + 6);
    json_set_str(out, "told", told);
    json_set_str(out, "metrics", f->metrics);
    json_set_int(out, "decided", f->decided);
    json_set_int(out, "hooks", f->hooks);
    json_set_int(out, "broke", f->broke);
    json_set_int(out, "thing_status", f->thing_status);
    json_set_bool(out, "stopped as said", f->decided == f->stop_after);
    json_set_bool(out, "timed out", f->timed_out);
    return out;
}

static void run_row(void **state)
{
    struct fixture *f = *state;

    begin(f);
    run_engine(f, json_bool_at(row_case, false, "elects", NULL));
    row_case_seen(f->arena, seen(f));
}

ROW_CASES("controller/engine/runs.yaml", "run", run_row)

/* --- cases outside of the rows */

static enum rule_result rule_take_much(struct fixture *f, struct tick *tick)
{
    (void)arena_alloc(tick->arena, 40 * 1024 * 1024);
    if (told(f, "one tick of this Canary"))
        loop_drain(f->loop);
    plan_a_status(f, tick);
    plan_a_status(f, tick);
    plan_event(tick, "Normal", PHASE_Failed, "never told");
    tick->plan->requeue = REQUEUE_NOW;
    return RULE_DONE;
}

/* A tick has its share of memory: beyond it, the plan is refused, and nothing else is done. */
FIXTURE_CASE(a_tick_that_takes_too_much_is_refused)
{
    f->rule = rule_take_much;
    f->stop_after = 0;
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_true(told(f, "one tick of this Canary takes more than 32 MiB of memory"));
    assert_false(told(f, "never told"));
    /* The condition, each time that it is not there yet: the Canary of this test never has it. */
    assert_true(noted(f, "write status") > 0);
}

FIXTURE_CASE(an_object_that_changes_without_end_costs_little)
{
    f->stop_after = 0;
    struct timer *changes = timer_start(f->loop, 100, 5, change_it, f);
    timer_start(f->loop, 1500, 0, (timer_fn)timer_stop, changes);
    timer_start(f->loop, 1600, 0, (timer_fn)loop_drain, f->loop);
    run_engine(f, false);
    /* of 300 changes on an idle machine; if the changes themselves arrive slowly, there is nothing
     * to save */
    assert_in_range(f->decided, 5, 52);
    if (f->version > 150)
        assert_true(f->version > f->decided + f->decided / 2);
}

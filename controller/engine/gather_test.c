/* What a tick asks for beside single objects, whose reading engine_test.c has. */
#include "engine/fixture_test.h"

static enum verdict rule_list_things(struct fixture *f, struct tick *tick)
{
    struct json_object *listed;
    if (!need_objects(tick, &things, "test", &listed))
        return VERDICT_NEED_FACTS;
    note(f, json_len(listed) == 1 ? "one" : "not one");
    return VERDICT_STOP;
}

/* The thing is made in the moment in which its watch has not shown it. */
static enum verdict rule_name_a_thing(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return VERDICT_NEED_FACTS;
    if (!thing && f->made_late)
        f->thing_version = 12;
    if (!need_object_surely(tick, &things, "test", "a", &thing))
        return VERDICT_NEED_FACTS;
    note(f, thing ? "there" : "missing");
    return VERDICT_STOP;
}

FIXTURE_CASE(what_a_watch_has_not_shown_yet_is_read_before_it_is_missing)
{
    f->rule = rule_name_a_thing;
    f->list_patience_ms = WATCHDOG_MS;
    f->made_late = true;
    run_engine(f, false);
    assert_int_equal(noted(f, "there"), 1);
    assert_int_equal(noted(f, "missing"), 0);
    assert_int_equal(noted(f, "read thing"), 1);
}

FIXTURE_CASE(what_is_missing_is_read_once)
{
    f->rule = rule_name_a_thing;
    f->list_patience_ms = WATCHDOG_MS;
    run_engine(f, false);
    assert_int_equal(noted(f, "missing"), 1);
    assert_int_equal(noted(f, "read thing"), 1);
}

FIXTURE_CASE(a_list_is_read_whole)
{
    f->rule = rule_list_things;
    f->thing_version = 3;
    run_engine(f, false);
    assert_int_equal(noted(f, "one"), 1);
    assert_int_equal(noted(f, "list things"), 1); /* no watch, which begins with a list, too */
}

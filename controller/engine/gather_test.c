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

FIXTURE_CASE(a_list_is_read_whole)
{
    f->rule = rule_list_things;
    f->thing_version = 3;
    run_engine(f, false);
    assert_int_equal(noted(f, "one"), 1);
    assert_int_equal(noted(f, "list things"), 1); /* no watch, which begins with a list, too */
}

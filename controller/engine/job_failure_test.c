/* What is denied. (What else fails: engine_test.c.) */
#include "engine/fixture_test.h"

static enum verdict rule_patch_what_is_denied(struct fixture *f, struct tick *tick)
{
    struct json_object *to = json_copy(tick->arena, tick->canary->json);
    if (tick->unwritable) {
        assert_non_null(strstr(tick->unwritable, "as the test asked"));
        note(f, "denied");
        tick->plan->held = true;
        plan_a_status(f, tick);
        return VERDICT_STOP;
    }
    note(f, "tries");
    json_set_str(json_sub(to, "spec"), "of", "the test");
    plan_update(tick, &tick_canaries, tick->canary->json, to);
    return VERDICT_STOP;
}

/* The rules tell it, in the status, and it is tried again after that. */
FIXTURE_CASE(a_write_that_is_denied_is_told_by_the_rules)
{
    f->rule = rule_patch_what_is_denied;
    f->fail_writes = 1;
    f->fail_status = 403;
    f->fails_by_role = true;
    f->stop_after = 3;
    run_engine(f, false);
    assert_int_equal(noted(f, "denied"), 1);
    assert_int_equal(noted(f, "write status"), 1);
    assert_int_equal(noted(f, "tries"), 2);
    assert_false(told(f, "as the test asked"));
}

static enum verdict rule_patch_what_is_refused(struct fixture *f, struct tick *tick)
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
    return VERDICT_STOP;
}

/* Once, however often it is tried. */
static void refuse_with(struct fixture *f, int status)
{
    f->rule = rule_patch_what_is_refused;
    f->fail_writes = 1;
    f->fail_status = status;
    f->stop_after = 3;
    run_engine(f, false);
    assert_int_equal(noted(f, "refused"), 1);
    assert_int_equal(noted(f, "write status"), 1);
    assert_int_equal(noted(f, "tries"), 2);
    assert_false(told(f, "as the test asked"));
}

FIXTURE_CASE(a_write_that_a_schema_refuses_is_told_by_the_rules)
{
    refuse_with(f, 422);
}

FIXTURE_CASE(a_write_that_a_webhook_refuses_is_told_by_the_rules)
{
    refuse_with(f, 400);
}

FIXTURE_CASE(a_write_that_a_policy_refuses_is_told_by_the_rules)
{
    refuse_with(f, 403);
}

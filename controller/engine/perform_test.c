/* How writes of a plan are sent. */
#include "engine/fixture_test.h"

/* The replicas of an object as a workload's controller leaves it, twice; then more than those. */
static enum verdict rule_scale(struct fixture *f, struct tick *tick)
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
    return VERDICT_STOP;
}

#define MERGED "application/merge-patch+json {\"spec\":"
#define TESTED                                                                                     \
    "application/json-patch+json [{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"t\"},"   \
    "{\"op\":\"test\",\"path\":\"/metadata/generation\",\"value\":7},"                             \
    "{\"op\":\"add\",\"path\":\"/spec/replicas\",\"value\":2}]"

/* A workload that is busy is scaled whatever its status says by now, and as long as its spec is the
 * one that was read. */
FIXTURE_CASE(replicas_count_on_the_spec)
{
    f->rule = rule_scale;
    f->stop_after = 1;
    run_engine(f, false);
    assert_int_equal(noted(f, TESTED), 1);
    assert_false(told(f, ""));
}

/* Where that is refused, the version tells whether the spec is another one or a policy forbids it. */
FIXTURE_CASE(what_a_policy_refuses_is_no_conflict)
{
    f->rule = rule_scale;
    f->fail_writes = 1;
    f->fail_status = 422;
    f->stop_after = 1;
    run_engine(f, false);
    assert_int_equal(noted(f, TESTED), 1);
    assert_int_equal(noted(f, MERGED "{\"replicas\":2},\"metadata\":{\"resourceVersion\":\"4\"}}"),
                     1);
    assert_false(told(f, ""));
}

/* ... and on what this very plan has written before. */
FIXTURE_CASE(a_second_patch_counts_on_the_first)
{
    f->rule = rule_scale;
    f->asks_twice = true;
    f->thing_version = 5;
    f->stop_after = 1;
    run_engine(f, false);
    assert_int_equal(noted(f, TESTED), 1);
    assert_int_equal(noted(f, MERGED "{\"replicas\":3},\"metadata\":{\"resourceVersion\":\"6\"}}"),
                     1);
    assert_int_equal(
        noted(f, MERGED "{\"replicas\":4,\"n\":1},\"metadata\":{\"resourceVersion\":\"7\"}}"), 1);
}

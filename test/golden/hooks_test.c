/* Where a release waits, the rollback hook and the threshold are heard; what each hook is sent. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define HOOKS                                                                                      \
    "{'spec':{'analysis':{'webhooks':["                                                            \
    "{'name':'may-start','type':'confirm-rollout','url':'http://x'},"                              \
    "{'name':'before','type':'pre-rollout','url':'http://x'},"                                     \
    "{'name':'load','url':'http://x'},"                                                            \
    "{'name':'more','type':'confirm-traffic-increase','url':'http://x'},"                          \
    "{'name':'may-promote','type':'confirm-promotion','url':'http://x'},"                          \
    "{'name':'after','type':'post-rollout','url':'http://x'},"                                     \
    "{'name':'told','type':'event','url':'http://x'},"                                             \
    "{'name':'back','type':'rollback','url':'http://x'}]}}}"

static void settled_tick(struct world *w)
{
    world_tick(w);
    world_settle(w);
}

/* A revision whose analysis has begun; its first checks are done when weight is 20. */
static struct world *begun(const char *image, int weight)
{
    struct world *w = world_new(HOOKS);

    world_initialise(w);
    world_push(w, image);
    settled_tick(w);
    if (weight > 0)
        settled_tick(w);
    assert_int_equal(world_status_int(w, "canaryWeight"), weight);
    return w;
}

/* One tick ends the release by its rollback hook. */
static void expect_hook_heard(struct world *w)
{
    w->open = "back";
    const char *plan = world_tick(w);
    if (!strstr(plan, "Rolling back podinfo.test manual webhook invoked\n"
                      "alert warn: Rolling back manual webhook invoked\n"))
        fail_msg("the rollback hook was not heard:\n%s", plan);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

static void test_rollback_hook_while_waiting_with_skip_analysis(void **state)
{
    struct world *w = world_new(HOOKS);

    world_patch_canary(w, "{'spec':{'skipAnalysis':true}}");
    world_initialise(w);
    w->closed = "may-start";
    world_push(w, "podinfo:2");
    settled_tick(w);
    assert_string_equal(world_phase(w), "Waiting");
    expect_hook_heard(w);
}

static void test_rollback_hook_while_the_canary_is_not_ready(void **state)
{
    expect_hook_heard(begun("podinfo:2-slow", 0));
}

static void test_rollback_hook_while_the_primary_is_not_ready(void **state)
{
    struct world *w = begun("podinfo:2", 20);

    world_patch(w, "deployments/podinfo-primary", "{'status':{'availableReplicas':1}}");
    expect_hook_heard(w);
}

static void test_rollback_hook_at_a_closed_traffic_gate(void **state)
{
    struct world *w = begun("podinfo:2", 20);

    w->closed = "more";
    settled_tick(w);
    assert_string_equal(world_phase(w), "Progressing");
    expect_hook_heard(w);
}

static void test_rollback_hook_while_waiting_for_the_promotion(void **state)
{
    struct world *w = begun("podinfo:2", 20);

    w->closed = "may-promote";
    for (int i = 0; i < 3; i++)
        settled_tick(w);
    assert_string_equal(world_phase(w), "WaitingPromotion");
    expect_hook_heard(w);
}

/* The primary has the new revision: there is none to go back to. */
static void test_rollback_hook_is_not_asked_while_promoting(void **state)
{
    struct world *w = begun("podinfo:2", 20);

    while (!world_is_in(w, "Promoting"))
        settled_tick(w);
    w->open = "back";
    world_tick(w);
    assert_int_equal(json_len(w->asked), 0);
    assert_string_equal(world_phase(w), "Finalising");
    world_free(w);
}

/* Flagger's #1801: the checks go on while a gate for more traffic is closed, and end the release.
 */
static void test_threshold_at_a_closed_traffic_gate(void **state)
{
    struct world *w = begun("podinfo:2", 20);

    w->closed = "more";
    settled_tick(w);
    w->closed = "more load";
    settled_tick(w);
    settled_tick(w);
    assert_int_equal(world_status_int(w, "failedChecks"), 2);
    expect_tick(
        w,
        "patch httproutes test/podinfo weights 100/0\n"
        "status phase=Failed canaryWeight=0 failedChecks=0 [Promoted=False Drained=False]\n"
        "event Normal Progressing: Rollback hook back not signaling a rollback\n"
        "event Warning Progressing: Rolling back podinfo.test failed checks threshold reached 2\n"
        "alert error: Failed checks threshold reached 2\n"
        "weights 100/0\n"
        "event Warning Failed: Canary failed! Scaling down podinfo.test\n"
        "outcome failure completed\n"
        "hook after Failed\n"
        "again now, stepped\n");
    world_free(w);
}

static void test_threshold_while_the_primary_is_not_ready(void **state)
{
    struct world *w = begun("podinfo:2", 20);

    w->closed = "load";
    settled_tick(w);
    world_tick(w);
    world_patch(w, "deployments/podinfo-primary", "{'status':{'availableReplicas':1}}");
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

/* A primary that breaks for good in the middle of an analysis is not silent. */
static void test_rollback_for_a_broken_primary_is_alerted(void **state)
{
    struct world *w = begun("podinfo:2", 20);

    world_patch(w, "deployments/podinfo-primary",
                "{'status':{'availableReplicas':0,'conditions':[{'type':'Progressing','status':"
                "'False','reason':'ProgressDeadlineExceeded'}]}}");
    const char *plan = world_tick(w);
    assert_non_null(strstr(plan, "alert error: Progress deadline exceeded podinfo-primary.test not "
                                 "ready"));
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

/* A Secret of headersFrom is missing: a gate is closed and says why once, a check has failed. */
static void test_hooks_that_cannot_be_asked(void **state)
{
    struct world *w = world_new(HOOKS);

    world_initialise(w);
    world_push(w, "podinfo:2");
    w->unasked = "may-start back before load";
    expect_tick(
        w,
        "status phase=Waiting gate={\"revision\":\"6ffb7d8f6\"} [Promoted=Unknown Approved=False]\n"
        "event Warning Waiting: Halt podinfo.test advancement waiting for approval may-start; it "
        "could not be asked: Secret key.test does not exist\n"
        "alert warn: Canary is waiting for approval.\n"
        "again interval, stepped\n");
    expect_tick(w, "event Warning Waiting: Rollback hook back could not be asked: Secret key.test "
                   "does not exist\n"
                   "again interval, stepped\n");
    /* closed, but asked: nothing more to tell */
    w->unasked = "before load";
    w->closed = "may-start";
    expect_tick(w, "status [Promoted=Unknown]\n"
                   "event Normal Waiting: Rollback hook back not signaling a rollback\n"
                   "again interval, stepped\n");
    w->closed = "";
    settled_tick(w);
    assert_non_null(strstr(world_tick(w), "Halt podinfo.test advancement pre-rollout check before "
                                          "failed Secret key.test does not exist\n"));
    w->unasked = "load";
    settled_tick(w);
    assert_non_null(strstr(world_tick(w), "Halt podinfo.test advancement external check load "
                                          "failed Secret key.test does not exist\n"));
    assert_int_equal(world_status_int(w, "failedChecks"), 2);
    world_free(w);
}

/* muteAlert is for the alert alone, and at each of the gates. */
static void test_muted_gates(void **state)
{
    static const struct {
        const char *type;
        int ticks; /* until it is reached */
    } gates[] = {{"confirm-rollout", 1}, {"confirm-traffic-increase", 2}, {"confirm-promotion", 5}};

    for (int i = 0; i < 6; i++) {
        const char *muted = i % 2 == 1 ? ",'muteAlert':true" : "";
        struct world *w = world_new(NULL);
        world_patch_canary(w, arena_printf(w->arena,
                                           "{'spec':{'analysis':{'webhooks':[{'name':'gate','type':"
                                           "'%s','url':'http://x'%s}]}}}",
                                           gates[i / 2].type, muted));
        world_initialise(w);
        w->closed = "gate";
        world_push(w, "podinfo:2");
        const char *plan = "";
        for (int tick = 0; tick < gates[i / 2].ticks; tick++) {
            plan = world_tick(w);
            world_settle(w);
        }
        assert_non_null(strstr(plan, "Halt podinfo.test advancement waiting for "));
        assert_int_equal(strstr(plan, "alert warn: ") == NULL, i % 2);
        world_free(w);
    }
}

/* A release that is cancelled has an end as well. */
static void test_post_rollout_after_a_cancelled_release(void **state)
{
    struct world *w = begun("podinfo:2", 20);
    const char *plans = "";

    world_push(w, "podinfo:1");
    for (int i = 0; i < 3; i++)
        plans = arena_printf(w->arena, "%s%s", plans, world_tick(w));
    assert_string_equal(world_phase(w), "Succeeded");
    assert_non_null(strstr(plans, "hook after Succeeded\n"
                                  "event Normal Succeeded: Release of podinfo.test cancelled"));
    world_free(w);
    /* one that waits for its start has not begun */
    w = world_new(HOOKS);
    world_initialise(w);
    w->closed = "may-start";
    world_push(w, "podinfo:2");
    settled_tick(w);
    world_push(w, "podinfo:1");
    plans = world_tick(w);
    assert_non_null(strstr(plans, "cancelled"));
    assert_null(strstr(plans, "hook after"));
    world_free(w);
}

/* Each hook in its place, with the phase that it is sent. */
static void test_what_each_hook_is_sent(void **state)
{
    struct world *w = world_new(HOOKS);
    static const char *const asked[] = {
        "[\"may-start Initialized\"]",
        "[\"back Progressing\",\"before Progressing\",\"more Progressing\"]",
        "[\"back Progressing\",\"load Progressing\",\"more Progressing\"]",
        "[\"back Progressing\",\"load Progressing\",\"more Progressing\"]",
        ("[\"back Progressing\",\"load Progressing\",\"more Progressing\","
         "\"may-promote Progressing\"]"),
        "[]",
        "[]",
        "[]",
    };

    world_initialise(w);
    world_push(w, "podinfo:2");
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        settled_tick(w);
        assert_string_equal(json_text_sorted(w->arena, w->asked), asked[i]);
    }
    assert_string_equal(world_phase(w), "Succeeded");
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_rollback_hook_while_waiting_with_skip_analysis),
          cmocka_unit_test(test_rollback_hook_while_the_canary_is_not_ready),
          cmocka_unit_test(test_rollback_hook_while_the_primary_is_not_ready),
          cmocka_unit_test(test_rollback_hook_at_a_closed_traffic_gate),
          cmocka_unit_test(test_rollback_hook_while_waiting_for_the_promotion),
          cmocka_unit_test(test_rollback_hook_is_not_asked_while_promoting),
          cmocka_unit_test(test_threshold_at_a_closed_traffic_gate),
          cmocka_unit_test(test_threshold_while_the_primary_is_not_ready),
          cmocka_unit_test(test_rollback_for_a_broken_primary_is_alerted),
          cmocka_unit_test(test_hooks_that_cannot_be_asked),
          cmocka_unit_test(test_post_rollout_after_a_cancelled_release),
          cmocka_unit_test(test_muted_gates), cmocka_unit_test(test_what_each_hook_is_sent))

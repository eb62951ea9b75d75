/* Webhooks: what each type does to a release when it refuses, and when it agrees. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define ALL_GATES                                                                                  \
    "{'spec':{'analysis':{'webhooks':["                                                            \
    "{'name':'may-start','type':'confirm-rollout','url':'http://x'},"                              \
    "{'name':'before','type':'pre-rollout','url':'http://x'},"                                     \
    "{'name':'load','url':'http://x'},"                                                            \
    "{'name':'more','type':'confirm-traffic-increase','url':'http://x'},"                          \
    "{'name':'may-promote','type':'confirm-promotion','url':'http://x'},"                          \
    "{'name':'after','type':'post-rollout','url':'http://x'},"                                     \
    "{'name':'back','type':'rollback','url':'http://x'}]}}}"
#define MUTED                                                                                      \
    "{'spec':{'analysis':{'webhooks':["                                                            \
    "{'name':'may-start','type':'confirm-rollout','url':'http://x','muteAlert':true}]}}}"

static void test_confirm_rollout(void **state)
{
    struct world *w = world_new(ALL_GATES);

    world_initialise(w);
    w->closed = "may-start";
    world_push(w, "podinfo:2");
    expect_tick(
        w, "status phase=Waiting [Promoted=Unknown]\n"
           "event Warning Waiting: Halt podinfo.test advancement waiting for approval may-start\n"
           "alert warn: Canary is waiting for approval.\n"
           "again interval, stepped\n");
    /* later ticks are silent, and only ask when they are due */
    expect_tick(w, "event Normal Waiting: Rollback hook back not signaling a rollback\n"
                   "again interval, stepped\n");
    w->due = false;
    expect_tick(w, "again interval\n");
    assert_int_equal(json_len(w->asked), 0);
    w->due = true;
    w->closed = "";
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=597d8f496b [Promoted=Unknown]\n"
                   "event Normal Waiting: Rollback hook back not signaling a rollback\n"
                   "event Normal Waiting: Confirm-rollout check may-start passed\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    assert_string_equal(json_text_sorted(w->arena, w->asked),
                        "[\"back Waiting\",\"may-start Waiting\"]");
    world_free(w);
}

static void test_muted_alert(void **state)
{
    struct world *w = world_new(MUTED);

    world_initialise(w);
    w->closed = "may-start";
    world_push(w, "podinfo:2");
    expect_tick(
        w, "status phase=Waiting [Promoted=Unknown]\n"
           "event Warning Waiting: Halt podinfo.test advancement waiting for approval may-start\n"
           "again interval, stepped\n");
    world_free(w);
}

static void test_rollback_while_waiting(void **state)
{
    struct world *w = world_new(ALL_GATES);

    world_initialise(w);
    w->closed = "may-start";
    world_push(w, "podinfo:2");
    world_tick(w);
    w->open = "back";
    expect_tick(w, "status phase=Failed lastAppliedSpec=597d8f496b [Promoted=False]\n"
                   "event Warning Waiting: Rollback check back passed\n"
                   "event Warning Waiting: Rolling back podinfo.test manual webhook invoked\n"
                   "alert warn: Rolling back manual webhook invoked\n"
                   "weights 100/0\n"
                   "event Warning Failed: Canary failed! Scaling down podinfo.test\n"
                   "outcome failure completed\n"
                   "hook after Failed\n"
                   "again now, stepped\n");
    /* and what was turned down is not offered again */
    expect_tick(w, "again never\n");
    world_free(w);
}

static void test_pre_rollout_fails(void **state)
{
    struct world *w = world_new(ALL_GATES);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    w->closed = "before";
    expect_tick(w, "status failedChecks=1\n"
                   "event Normal Progressing: Rollback hook back not signaling a rollback\n"
                   "event Normal Progressing: Starting canary analysis for podinfo.test\n"
                   "event Warning Progressing: Halt podinfo.test advancement pre-rollout check "
                   "before failed refused\n"
                   "again interval, stepped\n");
    expect_tick(w, "status failedChecks=2\n"
                   "event Normal Progressing: Rollback hook back not signaling a rollback\n"
                   "event Warning Progressing: Halt podinfo.test advancement pre-rollout check "
                   "before failed refused\n"
                   "again interval, stepped\n");
    expect_tick(
        w,
        "status phase=Failed failedChecks=0 [Promoted=False Drained=False]\n"
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

static void test_rollout_hook_fails(void **state)
{
    struct world *w = world_new(ALL_GATES);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    expect_tick(w, "patch httproutes test/podinfo weights 80/20\n"
                   "status canaryWeight=20\n"
                   "event Normal Progressing: Rollback hook back not signaling a rollback\n"
                   "event Normal Progressing: Starting canary analysis for podinfo.test\n"
                   "event Normal Progressing: Pre-rollout check before passed\n"
                   "event Normal Progressing: Confirm-traffic-increase check more passed\n"
                   "weights 80/20\n"
                   "event Normal Progressing: Advance podinfo.test canary weight 20\n"
                   "again interval, stepped\n");
    w->closed = "load";
    expect_tick(w, "status failedChecks=1\n"
                   "event Normal Progressing: Rollback hook back not signaling a rollback\n"
                   "event Warning Progressing: Halt podinfo.test advancement external check load "
                   "failed refused\n"
                   "again interval, stepped\n");
    assert_string_equal(json_text_sorted(w->arena, w->asked),
                        "[\"back Progressing\",\"load Progressing\"]");
    world_free(w);
}

static void test_traffic_gate_is_told_once(void **state)
{
    struct world *w = world_new(ALL_GATES);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    w->closed = "more";
    expect_tick(w, "status [Promoted=Unknown Approved=False]\n"
                   "event Normal Progressing: Rollback hook back not signaling a rollback\n"
                   "event Normal Progressing: Starting canary analysis for podinfo.test\n"
                   "event Normal Progressing: Pre-rollout check before passed\n"
                   "event Warning Progressing: Halt podinfo.test advancement waiting for traffic "
                   "increase approval more\n"
                   "alert warn: Canary traffic increase is waiting for approval.\n"
                   "again interval, stepped\n");
    expect_tick(w, "event Normal Progressing: Rollback hook back not signaling a rollback\n"
                   "event Normal Progressing: Pre-rollout check before passed\n"
                   "again interval, stepped\n");
    w->closed = "";
    expect_tick(w, "patch httproutes test/podinfo weights 80/20\n"
                   "status canaryWeight=20 [Promoted=Unknown]\n"
                   "event Normal Progressing: Rollback hook back not signaling a rollback\n"
                   "event Normal Progressing: Pre-rollout check before passed\n"
                   "event Normal Progressing: Confirm-traffic-increase check more passed\n"
                   "weights 80/20\n"
                   "event Normal Progressing: Advance podinfo.test canary weight 20\n"
                   "again interval, stepped\n");
    world_free(w);
}

static void test_promotion_gate(void **state)
{
    struct world *w = world_new(ALL_GATES);

    world_initialise(w);
    world_push(w, "podinfo:2");
    w->closed = "may-promote";
    for (int i = 0; i < 4; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_weights(w), "50/50");
    expect_tick(w, "status phase=WaitingPromotion [Promoted=Unknown]\n"
                   "event Normal Progressing: Rollback hook back not signaling a rollback\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "event Normal Progressing: Confirm-traffic-increase check more passed\n"
                   "event Warning WaitingPromotion: Halt podinfo.test advancement waiting for "
                   "promotion approval may-promote\n"
                   "alert warn: Canary promotion is waiting for approval.\n"
                   "again interval, stepped\n");
    assert_int_equal(world_status_int(w, "canaryWeight"), 50);
    expect_tick(w, "event Normal WaitingPromotion: Rollback hook back not signaling a rollback\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "again interval, stepped\n");
    /* the analysis goes on while it waits, and failures count */
    w->metrics = world_json(w, "{'metrics[1]':0.6}");
    expect_tick(w, "status failedChecks=1\n"
                   "event Normal WaitingPromotion: Rollback hook back not signaling a rollback\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.6\n"
                   "event Warning WaitingPromotion: Halt podinfo.test advancement request duration "
                   "600ms > 500ms\n"
                   "again interval, stepped\n");
    w->metrics = world_json(w, "{}");
    w->closed = "";
    expect_tick(w, "status phase=Promoting [Promoted=Unknown PrimaryWhole=False]\n"
                   "event Normal WaitingPromotion: Rollback hook back not signaling a rollback\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "event Normal WaitingPromotion: Confirm-promotion check may-promote passed\n"
                   "event Normal WaitingPromotion: Copying podinfo.test template spec to "
                   "podinfo-primary.test\n"
                   "again now, stepped\n");
    expect_tick(w, "patch deployments test/podinfo-primary promote 597d8f496b\n"
                   "status [Promoted=Unknown]\n"
                   "again interval\n");
    world_free(w);
}

static void test_threshold_is_heard_while_waiting_for_the_promotion(void **state)
{
    struct world *w = world_new(ALL_GATES);

    world_initialise(w);
    world_push(w, "podinfo:2");
    w->closed = "may-promote";
    for (int i = 0; i < 5; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_phase(w), "WaitingPromotion");
    w->metrics = world_json(w, "{'metrics[0]':1}");
    world_tick(w);
    world_tick(w);
    expect_tick(w,
                "patch httproutes test/podinfo weights 100/0\n"
                "status phase=Failed canaryWeight=0 failedChecks=0 [Promoted=False Drained=False]\n"
                "event Normal WaitingPromotion: Rollback hook back not signaling a rollback\n"
                "event Warning WaitingPromotion: Rolling back podinfo.test failed checks threshold "
                "reached 2\n"
                "alert error: Failed checks threshold reached 2\n"
                "weights 100/0\n"
                "event Warning Failed: Canary failed! Scaling down podinfo.test\n"
                "outcome failure completed\n"
                "hook after Failed\n"
                "again now, stepped\n");
    world_free(w);
}

static void test_rollback_hook(void **state)
{
    struct world *w = world_new(ALL_GATES);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    w->open = "back";
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "status phase=Failed canaryWeight=0 [Promoted=False Drained=False]\n"
                   "event Warning Progressing: Rollback check back passed\n"
                   "event Warning Progressing: Rolling back podinfo.test manual webhook invoked\n"
                   "alert warn: Rolling back manual webhook invoked\n"
                   "weights 100/0\n"
                   "event Warning Failed: Canary failed! Scaling down podinfo.test\n"
                   "outcome failure completed\n"
                   "hook after Failed\n"
                   "again now, stepped\n");
    world_free(w);
}

static void test_post_rollout_after_success(void **state)
{
    struct world *w = world_new(ALL_GATES);

    world_initialise(w);
    world_push(w, "podinfo:2");
    while (strcmp(world_phase(w), "Finalising") != 0) {
        world_tick(w);
        world_settle(w);
    }
    expect_tick(w,
                "status phase=Succeeded lastPromotedSpec=597d8f496b [Promoted=True Drained=False]\n"
                "weights 100/0\n"
                "outcome success completed\n"
                "hook after Succeeded\n"
                "event Normal Succeeded: Promotion completed! Scaling down podinfo.test\n"
                "alert info: Canary analysis completed successfully, promotion finished.\n"
                "again now, stepped\n");
    world_free(w);
}

static void test_promotion_gate_of_blue_green(void **state)
{
    struct world *w = world_new("{'spec':{'provider':'kubernetes','analysis':{'stepWeight':null,'"
                                "iterations':1,'webhooks':[{'name':"
                                "'may-promote','type':'confirm-promotion','url':'http://x'}]}}}");

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    w->closed = "may-promote";
    expect_tick(w, "status phase=WaitingPromotion [Promoted=Unknown]\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "event Warning WaitingPromotion: Halt podinfo.test advancement waiting for "
                   "promotion approval may-promote\n"
                   "alert warn: Canary promotion is waiting for approval.\n"
                   "again interval, stepped\n");
    expect_tick(w, "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "again interval, stepped\n");
    w->closed = "";
    expect_tick(w, "status phase=Progressing iterations=2 [Promoted=Unknown]\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "event Normal WaitingPromotion: Confirm-promotion check may-promote passed\n"
                   "again interval, stepped\n");
    expect_tick(
        w, "status phase=Promoting [Promoted=Unknown PrimaryWhole=False]\n"
           "metric request-success-rate 100\n"
           "metric request-duration 0.05\n"
           "event Normal Progressing: Confirm-promotion check may-promote passed\n"
           "event Normal Progressing: Copying podinfo.test template spec to podinfo-primary.test\n"
           "again now, stepped\n");
    expect_tick(w, "patch deployments test/podinfo-primary promote 597d8f496b\n"
                   "status [Promoted=Unknown]\n"
                   "again interval\n");
    world_free(w);
}

/* A maximum that is raised while the promotion waits: more traffic needs its own approval. */
static void test_traffic_gate_is_asked_while_waiting_for_the_promotion(void **state)
{
    struct world *w =
        world_new("{'spec':{'analysis':{'webhooks':[{'name':'promote','type':'confirm-promotion',"
                  "'url':'http://x'},{'name':'more','type':'confirm-traffic-increase','url':"
                  "'http://x'}]}}}");

    world_initialise(w);
    w->closed = "promote";
    world_push(w, "podinfo:2");
    for (int i = 0; i < 20 && strcmp(world_phase(w), "WaitingPromotion") != 0; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_weights(w), "50/50");
    w->closed = "promote more";
    world_patch_canary(w, "{'spec':{'analysis':{'maxWeight':80}}}");
    for (int i = 0; i < 3; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_weights(w), "50/50");
    w->closed = "promote";
    world_tick(w);
    assert_string_equal(world_weights(w), "30/70");
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_confirm_rollout), cmocka_unit_test(test_muted_alert),
          cmocka_unit_test(test_rollback_while_waiting), cmocka_unit_test(test_pre_rollout_fails),
          cmocka_unit_test(test_rollout_hook_fails),
          cmocka_unit_test(test_traffic_gate_is_told_once), cmocka_unit_test(test_promotion_gate),
          cmocka_unit_test(test_threshold_is_heard_while_waiting_for_the_promotion),
          cmocka_unit_test(test_rollback_hook), cmocka_unit_test(test_post_rollout_after_success),
          cmocka_unit_test(test_promotion_gate_of_blue_green),
          cmocka_unit_test(test_traffic_gate_is_asked_while_waiting_for_the_promotion))

/* A release tick by tick, as its plans read: from an empty namespace to the promotion, and back
 * when it fails. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

static void test_initialise(void **state)
{
    struct world *w = world_new(NULL);
    expect_tick(w, "create services test/podinfo-canary -> app=podinfo\n"
                   "create services test/podinfo-primary -> app=podinfo-primary\n"
                   "create deployments test/podinfo-primary\n"
                   "status phase=Initializing [Promoted=Unknown]\n"
                   "event Normal Initializing: all the metrics providers are available!\n"
                   "again now\n");
    expect_tick(w, "create services test/podinfo -> app=podinfo-primary\n"
                   "create httproutes test/podinfo weights 100/0\n"
                   "again now\n");
    expect_tick(w, "status phase=Initialized canaryWeight=0 failedChecks=0 iterations=0 "
                   "lastAppliedSpec=dccf7d545 provider=gatewayapi:v1 serviceName=podinfo "
                   "trackedConfigs={} lastPromotedSpec=dccf7d545 [Promoted=True Drained=False]\n"
                   "event Normal Initialized: Initialization done! podinfo.test\n"
                   "alert info+: New Deployment detected, initialization completed.\n"
                   "again now\n");
    expect_tick(w, "again never, within 60 s\n");
    world_free(w);
}

static void test_initialise_waits_for_the_primary(void **state)
{
    struct world *w = world_new(NULL);

    world_push(w, "podinfo:1-slow");
    w->analysed = "podinfo:1-slow";
    world_tick(w);
    world_settle(w);
    expect_tick(w,
                "event Warning Initializing: podinfo-primary.test not ready: waiting for rollout "
                "to finish: 0 of 2 (readyThreshold 100%) updated replicas are available\n"
                "again interval, stepped\n");
    /* a watch event in between tells nothing twice */
    w->due = false;
    expect_tick(w, "again interval\n");
    world_free(w);
}

static void test_initialise_with_a_primary_that_never_gets_ready_touches_nothing(void **state)
{
    struct world *w = world_new("{'spec':{'skipAnalysis':true}}");

    world_push(w, "podinfo:1-stuck");
    w->analysed = "podinfo:1-stuck";
    world_tick(w);
    world_settle(w);
    expect_tick(w, "event Warning Initializing: podinfo-primary.test not ready: deployment "
                   "\"podinfo-primary\" exceeded its progress deadline\n"
                   "again interval, stepped\n");
    assert_null(world_get(w, "services/podinfo"));
    assert_int_equal(json_int_at(world_get(w, "deployments/podinfo"), 0, "spec", "replicas", NULL),
                     2);
    world_free(w);
}

/* The fix of the target is not waited for in vain: nobody was ever sent to the primary. */
static void test_initialise_follows_the_target_while_its_primary_never_answered(void **state)
{
    struct world *w = world_new(NULL);

    world_push(w, "podinfo:1-stuck");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    world_patch(w, "deployments/podinfo-primary", "{'status':{'availableReplicas':1}}");
    world_push(w, "podinfo:2");
    assert_non_null(strstr(world_tick(w), "patch deployments test/podinfo-primary promote"));
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    world_run(w);
    assert_string_equal(world_phase(w), "Initialized");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    world_free(w);
}

/* One that the apex Service leads to has served: it stays what it is, whatever befalls its pods. */
static void test_initialise_keeps_a_primary_that_has_served(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch_canary(w, "{'status':null}"); /* made anew over what another one has left */
    world_push(w, "podinfo:2");
    world_patch(w, "deployments/podinfo-primary",
                "{'status':{'availableReplicas':0,'readyReplicas':0}}");
    world_tick(w);
    world_tick(w);
    assert_string_equal(world_phase(w), "Initializing");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:1");
    world_free(w);
}

static void test_initialise_adopts_an_apex_service(void **state)
{
    struct world *w = world_new("{'spec':{'provider':'kubernetes'}}");

    world_put(
        w, "services/podinfo",
        "{'metadata':{'name':'podinfo','annotations':{'mine':'1'}},'spec':{'clusterIP':'10.0.0.1','"
        "selector':"
        "{'app':'podinfo'},'ports':[{'name':'http','port':9898,'protocol':'TCP','targetPort':9898,"
        "'nodePort':30000}]}}");
    world_tick(w);
    world_settle(w);
    expect_tick(
        w, "patch services test/podinfo {\"spec\":{\"selector\":{\"app\":\"podinfo-primary\"}}}\n"
           "again now\n");
    expect_tick(w, "status phase=Initialized canaryWeight=0 failedChecks=0 iterations=0 "
                   "lastAppliedSpec=dccf7d545 provider=kubernetes serviceName=podinfo "
                   "trackedConfigs={} lastPromotedSpec=dccf7d545 [Promoted=True Drained=False]\n"
                   "event Normal Initialized: Initialization done! podinfo.test\n"
                   "alert info+: New Deployment detected, initialization completed.\n"
                   "again now\n");
    world_free(w);
}

static void test_initialise_when_the_target_changed_meanwhile(void **state)
{
    struct world *w = world_new(NULL);

    world_tick(w);
    world_settle(w);
    world_tick(w);
    world_push(w, "podinfo:2");
    world_settle(w);
    expect_tick(w, "status phase=Initialized canaryWeight=0 failedChecks=0 iterations=0 "
                   "lastAppliedSpec= lastPromotedSpec=dccf7d545 [Promoted=True Drained=False]\n"
                   "event Normal Initialized: Initialization done! podinfo.test\n"
                   "alert info+: New Deployment detected, initialization completed.\n"
                   "again now\n");
    expect_tick(w, "status phase=Progressing lastAppliedSpec=597d8f496b provider=gatewayapi:v1 "
                   "serviceName=podinfo trackedConfigs={} [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, within 60 s, stepped\n");
    world_free(w);
}

static void test_promote(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    /* the target is at zero: nothing runs yet */
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=597d8f496b [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    expect_tick(w, "patch httproutes test/podinfo weights 80/20\n"
                   "status canaryWeight=20\n"
                   "event Normal Progressing: Starting canary analysis for podinfo.test\n"
                   "weights 80/20\n"
                   "event Normal Progressing: Advance podinfo.test canary weight 20\n"
                   "again interval, stepped\n");
    expect_tick(w, "patch httproutes test/podinfo weights 60/40\n"
                   "status canaryWeight=40\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "weights 60/40\n"
                   "event Normal Progressing: Advance podinfo.test canary weight 40\n"
                   "again interval, stepped\n");
    expect_tick(w, "patch httproutes test/podinfo weights 50/50\n"
                   "status canaryWeight=50\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "weights 50/50\n"
                   "event Normal Progressing: Advance podinfo.test canary weight 50\n"
                   "again interval, stepped\n");
    expect_tick(
        w, "status phase=Promoting [Promoted=Unknown PrimaryWhole=False]\n"
           "metric request-success-rate 100\n"
           "metric request-duration 0.05\n"
           "event Normal Progressing: Copying podinfo.test template spec to podinfo-primary.test\n"
           "again now, stepped\n");
    expect_tick(w, "patch deployments test/podinfo-primary promote 597d8f496b\n"
                   "status [Promoted=Unknown]\n"
                   "again interval\n");
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "status phase=Finalising canaryWeight=0 [Promoted=Unknown Drained=False]\n"
                   "event Normal Promoting: Routing all traffic to primary\n"
                   "weights 100/0\n"
                   "again interval, stepped\n");
    w->now_ms += 60000;
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":0}}\n"
                   "status phase=Succeeded lastPromotedSpec=597d8f496b [Promoted=True]\n"
                   "weights 100/0\n"
                   "outcome success completed\n"
                   "event Normal Succeeded: Promotion completed! Scaling down podinfo.test\n"
                   "alert info: Canary analysis completed successfully, promotion finished.\n"
                   "again now, stepped\n");

    world_free(w);
}

static void test_promote_in_steps(void **state)
{
    struct world *w = world_new("{'spec':{'analysis':{'maxWeight':40,'stepWeightPromotion':30}}}");

    world_initialise(w);
    world_push(w, "podinfo:2");
    for (int i = 0; i < 4; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_phase(w), "Promoting");
    expect_tick(w, "patch deployments test/podinfo-primary promote 597d8f496b\n"
                   "status [Promoted=Unknown]\n"
                   "again interval\n");
    expect_tick(w, "patch httproutes test/podinfo weights 90/10\n"
                   "status canaryWeight=10\n"
                   "event Normal Promoting: Advance podinfo.test primary weight 90\n"
                   "weights 90/10\n"
                   "again interval, stepped\n");
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "status phase=Finalising canaryWeight=0 [Promoted=Unknown Drained=False]\n"
                   "event Normal Promoting: Advance podinfo.test primary weight 100\n"
                   "weights 100/0\n"
                   "again interval, stepped\n");
    w->now_ms += 60000;
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":0}}\n"
                   "status phase=Succeeded lastPromotedSpec=597d8f496b [Promoted=True]\n"
                   "weights 100/0\n"
                   "outcome success completed\n"
                   "event Normal Succeeded: Promotion completed! Scaling down podinfo.test\n"
                   "alert info: Canary analysis completed successfully, promotion finished.\n"
                   "again now, stepped\n");
    world_free(w);
}

static void test_step_weights(void **state)
{
    struct world *w = world_new(
        "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'stepWeights':[1,10,80]}}}");
    static const char *const weights[] = {"100/0", "99/1",  "90/10", "20/80",
                                          "20/80", "20/80", "100/0"};

    world_initialise(w);
    world_push(w, "podinfo:2");
    for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
        world_tick(w);
        world_settle(w);
        assert_string_equal(world_weights(w), weights[i]);
    }
    assert_string_equal(world_phase(w), "Finalising");
    world_free(w);
}

static void test_failed_checks_roll_back(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    w->metrics = world_json(w, "{'metrics[0]':98.5}");
    expect_tick(
        w, "status failedChecks=1\n"
           "metric request-success-rate 98.5\n"
           "event Warning Progressing: Halt podinfo.test advancement success rate 98.50% < 99%\n"
           "again interval, stepped\n");
    expect_tick(
        w, "status failedChecks=2\n"
           "metric request-success-rate 98.5\n"
           "event Warning Progressing: Halt podinfo.test advancement success rate 98.50% < 99%\n"
           "again interval, stepped\n");
    expect_tick(
        w,
        "patch httproutes test/podinfo weights 100/0\n"
        "status phase=Failed canaryWeight=0 failedChecks=0 [Promoted=False Drained=False]\n"
        "event Warning Progressing: Rolling back podinfo.test failed checks threshold reached 2\n"
        "alert error: Failed checks threshold reached 2\n"
        "weights 100/0\n"
        "event Warning Failed: Canary failed! Scaling down podinfo.test\n"
        "outcome failure completed\n"
        "again now, stepped\n");
    expect_tick(w, "again never, within 60 s\n");

    world_free(w);
}

static void test_canary_that_never_gets_ready(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2-slow");
    world_tick(w);
    world_settle(w);
    expect_tick(w,
                "event Warning Progressing: canary deployment podinfo.test not ready: waiting for "
                "rollout to finish: 0 of 2 (readyThreshold 100%) updated replicas are available\n"
                "again interval, stepped\n");
    world_push(w, "podinfo:2-slow-stuck");
    expect_tick(
        w, "status lastAppliedSpec=fd5f58cc\n"
           "weights 100/0\n"
           "event Normal Progressing: New revision detected! Restarting analysis for podinfo.test\n"
           "again interval, stepped\n");
    world_settle(w);
    expect_tick(w, "status phase=Failed [Promoted=False Drained=False]\n"
                   "event Warning Progressing: canary deployment podinfo.test not ready: "
                   "deployment \"podinfo\" exceeded its progress deadline\n"
                   "alert error: Progress deadline exceeded canary deployment podinfo.test not "
                   "ready: deployment \"podinfo\" exceeded its progress deadline\n"
                   "weights 100/0\n"
                   "event Warning Failed: Canary failed! Scaling down podinfo.test\n"
                   "outcome failure completed\n"
                   "again now, stepped\n");
    world_free(w);
}

static void test_skip_analysis(void **state)
{
    struct world *w = world_new("{'spec':{'skipAnalysis':true}}");

    world_initialise(w);
    world_push(w, "podinfo:2");
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=597d8f496b [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    expect_tick(
        w, "status phase=Promoting [Promoted=Unknown PrimaryWhole=False]\n"
           "event Normal Progressing: Copying podinfo.test template spec to podinfo-primary.test\n"
           "again now, stepped\n");
    expect_tick(w, "patch deployments test/podinfo-primary promote 597d8f496b\n"
                   "status [Promoted=Unknown]\n"
                   "again interval\n");
    expect_tick(w,
                "status phase=Succeeded lastPromotedSpec=597d8f496b [Promoted=True Drained=False]\n"
                "weights 100/0\n"
                "outcome success skipped\n"
                "event Normal Succeeded: Promotion completed! Canary analysis was skipped for "
                "podinfo.test\n"
                "alert info: Canary analysis was skipped, promotion finished.\n"
                "again now, stepped\n");
    expect_tick(w, "again never, within 60 s\n");
    world_free(w);
}

static void test_kubernetes_provider(void **state)
{
    struct world *w = world_new(
        "{'spec':{'provider':'kubernetes','analysis':{'stepWeight':null,'iterations':1}}}");

    world_initialise(w);
    world_push(w, "podinfo:2");
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=597d8f496b [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    expect_tick(w, "status iterations=1\n"
                   "event Normal Progressing: Starting canary analysis for podinfo.test\n"
                   "event Normal Progressing: Advance podinfo.test canary iteration 1/1\n"
                   "again interval, stepped\n");
    expect_tick(w, "status iterations=2\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "again interval, stepped\n");
    expect_tick(
        w, "status phase=Promoting [Promoted=Unknown PrimaryWhole=False]\n"
           "metric request-success-rate 100\n"
           "metric request-duration 0.05\n"
           "event Normal Progressing: Copying podinfo.test template spec to podinfo-primary.test\n"
           "again now, stepped\n");
    expect_tick(w, "patch deployments test/podinfo-primary promote 597d8f496b\n"
                   "status [Promoted=Unknown]\n"
                   "again interval\n");
    expect_tick(w, "status phase=Finalising iterations=0 [Promoted=Unknown Drained=False]\n"
                   "weights 100/0\n"
                   "again interval, stepped\n");
    w->now_ms += 60000;
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":0}}\n"
                   "status phase=Succeeded lastPromotedSpec=597d8f496b [Promoted=True]\n"
                   "weights 100/0\n"
                   "outcome success completed\n"
                   "event Normal Succeeded: Promotion completed! Scaling down podinfo.test\n"
                   "alert info: Canary analysis completed successfully, promotion finished.\n"
                   "again now, stepped\n");

    world_free(w);
}

static void test_kubernetes_provider_has_ten_iterations(void **state)
{
    struct world *w = world_new("{'spec':{'provider':'kubernetes'}}");

    world_initialise(w);
    world_push(w, "podinfo:2");
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=597d8f496b [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "event Warning Progressing: Progressive traffic is not supported when using the "
                   "kubernetes provider\n"
                   "event Warning Progressing: Setting canaryAnalysis.iterations: 10\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    expect_tick(w, "status iterations=1\n"
                   "event Normal Progressing: Starting canary analysis for podinfo.test\n"
                   "event Normal Progressing: Advance podinfo.test canary iteration 1/10\n"
                   "again interval, stepped\n");
    world_run(w);
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    world_free(w);
}

static void test_blue_green_on_the_gateway(void **state)
{
    struct world *w =
        world_new("{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':1}}}");

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    expect_tick(w, "status iterations=1\n"
                   "event Normal Progressing: Starting canary analysis for podinfo.test\n"
                   "event Normal Progressing: Advance podinfo.test canary iteration 1/1\n"
                   "again interval, stepped\n");
    expect_tick(w, "patch httproutes test/podinfo weights 0/100\n"
                   "status canaryWeight=100 iterations=2\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "weights 0/100\n"
                   "event Normal Progressing: Routing all traffic to canary\n"
                   "again interval, stepped\n");
    expect_tick(
        w, "status phase=Promoting [Promoted=Unknown PrimaryWhole=False]\n"
           "metric request-success-rate 100\n"
           "metric request-duration 0.05\n"
           "event Normal Progressing: Copying podinfo.test template spec to podinfo-primary.test\n"
           "again now, stepped\n");
    expect_tick(w, "patch deployments test/podinfo-primary promote 597d8f496b\n"
                   "status [Promoted=Unknown]\n"
                   "again interval\n");
    expect_tick(
        w, "patch httproutes test/podinfo weights 100/0\n"
           "status phase=Finalising canaryWeight=0 iterations=0 [Promoted=Unknown Drained=False]\n"
           "event Normal Promoting: Routing all traffic to primary\n"
           "weights 100/0\n"
           "again interval, stepped\n");

    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_initialise),
          cmocka_unit_test(test_initialise_waits_for_the_primary),
          cmocka_unit_test(test_initialise_with_a_primary_that_never_gets_ready_touches_nothing),
          cmocka_unit_test(test_initialise_follows_the_target_while_its_primary_never_answered),
          cmocka_unit_test(test_initialise_keeps_a_primary_that_has_served),
          cmocka_unit_test(test_initialise_adopts_an_apex_service),
          cmocka_unit_test(test_initialise_when_the_target_changed_meanwhile),
          cmocka_unit_test(test_promote), cmocka_unit_test(test_promote_in_steps),
          cmocka_unit_test(test_step_weights), cmocka_unit_test(test_failed_checks_roll_back),
          cmocka_unit_test(test_canary_that_never_gets_ready), cmocka_unit_test(test_skip_analysis),
          cmocka_unit_test(test_kubernetes_provider),
          cmocka_unit_test(test_kubernetes_provider_has_ten_iterations),
          cmocka_unit_test(test_blue_green_on_the_gateway))

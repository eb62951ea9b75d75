/* What others changed, or a crash left behind: it is put right, and nothing is lost or done twice.
 */
#include <stdio.h>
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define ROUTE(primary, canary)                                                                     \
    "{'spec':{'rules':[{'matches':[{'path':{'type':'PathPrefix','value':'/'}}],'backendRefs':["    \
    "{'group':'','kind':'Service','name':'podinfo-primary','port':9898,'weight':" #primary "},"    \
    "{'group':'','kind':'Service','name':'podinfo-canary','port':9898,'weight':" #canary "}]}]}}"

/* podinfo:2 under analysis with 20 % of the traffic. */
static struct world *analysing(void)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_weights(w), "80/20");
    return w;
}

/* The primary has run into its deadline; the next settle heals it. */
static void stick_primary(struct world *w)
{
    world_patch(w, "deployments/podinfo-primary",
                "{'status':{'availableReplicas':0,'conditions':[{'type':'Progressing','status':"
                "'False','reason':'ProgressDeadlineExceeded'}]}}");
}

/* As expect_tick(), but the workloads stay as they are. */
#define expect_plan(w, text) expect_plan_at((w), (text), __FILE__, __LINE__)
static void expect_plan_at(struct world *w, const char *text, const char *file, int line)
{
    const char *got = world_tick(w);

    if (strcmp(got, text) != 0) {
        fprintf(stderr, "%s:%d: the plan is\n%s\nand not\n%s\n", file, line, got, text);
        _fail(file, line);
    }
}

static void test_weight_ahead_of_the_status_is_taken_over(void **state)
{
    struct world *w = analysing();

    world_patch(w, "httproutes/podinfo", ROUTE(60, 40));
    w->told = "";
    expect_tick(w, "status canaryWeight=40\n"
                   "weights 60/40\n"
                   "again interval, stepped\n");
    assert_string_equal(w->told, "");
    expect_tick(w, "patch httproutes test/podinfo weights 50/50\n"
                   "status canaryWeight=50\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "weights 50/50\n"
                   "event Normal Progressing: Advance podinfo.test canary weight 50\n"
                   "again interval, stepped\n");
    world_free(w);
}

static void test_weight_that_somebody_moved_goes_back(void **state)
{
    struct world *w = analysing();

    world_patch(w, "httproutes/podinfo", ROUTE(1, 99));
    expect_tick(w, "patch httproutes test/podinfo weights 80/20\n"
                   "weights 80/20\n"
                   "again interval, stepped\n");
    world_patch(w, "httproutes/podinfo", ROUTE(100, 0));
    expect_tick(w, "patch httproutes test/podinfo weights 80/20\n"
                   "weights 80/20\n"
                   "again interval, stepped\n");
    world_free(w);
}

static void test_weights_stay_when_the_route_is_repaired(void **state)
{
    struct world *w = analysing();

    world_patch(w, "httproutes/podinfo",
                "{'metadata':{'annotations':{'of.another':'1'}},'spec':{'hostnames':['x.test']}}");
    w->due = false;
    expect_tick(w, "patch httproutes test/podinfo as the spec says, weights 80/20\n"
                   "again now\n");
    expect_tick(w, "again interval\n");
    assert_string_equal(world_weights(w), "80/20");
    assert_string_equal(json_str_at(world_get(w, "httproutes/podinfo"), "metadata", "annotations",
                                    "of.another", NULL),
                        "1");
    world_free(w);
}

static void test_services_are_repaired(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch(w, "services/podinfo-canary", NULL);
    expect_tick(w, "create services test/podinfo-canary -> app=podinfo\n"
                   "again now\n");
    world_patch(w, "services/podinfo", "{'spec':{'selector':{'app':'podinfo'}}}");
    expect_tick(
        w, "patch services test/podinfo {\"spec\":{\"selector\":{\"app\":\"podinfo-primary\"}}}\n"
           "again now\n");
    expect_tick(w, "again never\n");
    world_free(w);
}

static void test_weights_of_an_idle_canary(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    w->crash_at = -1;
    json_set(
        w->objects, "httproutes/podinfo",
        json_merge(w->arena, world_get(w, "httproutes/podinfo"), world_json(w, ROUTE(50, 50))));
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_free(w);
}

static void test_route_that_is_not_accepted_holds(void **state)
{
    struct world *w = analysing();

    world_patch(w, "httproutes/podinfo",
                "{'status':{'parents':[{'parentRef':{'name':'gateway','namespace':'infra'},'"
                "conditions':[{'type':"
                "'Accepted','status':'False','observedGeneration':1}]}]}}");
    expect_tick(w, "event Warning Progressing: HTTPRoute podinfo.test parent gateway is not ready "
                   "(status: False, observed generation: 1, current generation: 2)\n"
                   "again interval, stepped\n");
    world_free(w);
}

static void test_promoting_with_nothing_left_to_shift(void **state)
{
    struct world *w = world_new("{'spec':{'analysis':{'stepWeightPromotion':10}}}");

    world_initialise(w);
    world_push(w, "podinfo:2");
    while (!world_is_in(w, "Promoting")) {
        world_tick(w);
        world_settle(w);
    }
    world_patch(w, "httproutes/podinfo", ROUTE(100, 0));
    expect_tick(w, "status phase=Finalising canaryWeight=0 [Promoted=Unknown Drained=False]\n"
                   "weights 100/0\n"
                   "again interval, stepped\n");
    world_free(w);
}

static void test_failed_promotion_and_the_way_forward(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    while (!world_is_in(w, "Promoting")) {
        world_tick(w);
        world_settle(w);
    }
    stick_primary(w);
    expect_plan(w, "patch httproutes test/podinfo weights 0/100\n"
                   "status phase=Failed canaryWeight=100 lastPromotedSpec= [Promoted=False]\n"
                   "event Warning Promoting: Promotion of podinfo.test failed, primary not ready: "
                   "podinfo-primary.test not ready: deployment \"podinfo-primary\" exceeded its "
                   "progress deadline\n"
                   "alert error: Promotion failed, primary not ready: podinfo-primary.test not "
                   "ready: deployment \"podinfo-primary\" exceeded its progress deadline\n"
                   "weights 0/100\n"
                   "outcome failure completed\n"
                   "again now, stepped\n");
    /* nothing new: it stays so */
    stick_primary(w);
    expect_plan(w, "again never\n");
    /* a new revision rolls forward: the canary serves, the broken primary gets nothing */
    world_push(w, "podinfo:3");
    world_settle(w);
    stick_primary(w);
    expect_plan(w, "status phase=Progressing lastAppliedSpec=694f4d878c [Promoted=Unknown]\n"
                   "weights 0/100\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    world_settle(w);
    stick_primary(w);
    expect_plan(
        w, "status phase=Promoting [Promoted=Unknown PrimaryWhole=False]\n"
           "metric request-success-rate 100\n"
           "metric request-duration 0.05\n"
           "event Normal Progressing: Copying podinfo.test template spec to podinfo-primary.test\n"
           "again now, stepped\n");
    expect_plan(w, "patch deployments test/podinfo-primary promote 694f4d878c\n"
                   "status [Promoted=Unknown]\n"
                   "again interval\n");
    world_settle(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:3");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

static void test_failed_promotion_then_failed_checks_keeps_the_canary(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    while (!world_is_in(w, "Promoting")) {
        world_tick(w);
        world_settle(w);
    }
    stick_primary(w);
    world_tick(w);
    world_push(w, "podinfo:3");
    world_settle(w);
    stick_primary(w);
    world_tick(w);
    w->metrics = world_json(w, "{'metrics[0]':1}");
    for (int i = 0; i < 2; i++) {
        world_settle(w);
        stick_primary(w);
        world_tick(w);
    }
    world_settle(w);
    stick_primary(w);
    expect_plan(
        w,
        "status phase=Failed failedChecks=0 [Promoted=False]\n"
        "event Warning Progressing: Rolling back podinfo.test failed checks threshold reached 2\n"
        "alert error: Failed checks threshold reached 2\n"
        "weights 0/100\n"
        "event Warning Failed: Canary failed! podinfo.test keeps all traffic, the primary is not "
        "ready\n"
        "outcome failure completed\n"
        "again now, stepped\n");
    world_free(w);
}

static void test_primary_fails_during_the_analysis(void **state)
{
    struct world *w = analysing();

    stick_primary(w);
    expect_plan(w, "status phase=Failed [Promoted=False]\n"
                   "event Warning Progressing: podinfo-primary.test not ready: deployment "
                   "\"podinfo-primary\" exceeded its progress deadline\n"
                   "alert error: Progress deadline exceeded podinfo-primary.test not ready: "
                   "deployment \"podinfo-primary\" exceeded its progress deadline\n"
                   "weights 80/20\n"
                   "event Warning Failed: Canary failed! podinfo.test keeps its traffic, the "
                   "primary is not ready\n"
                   "outcome failure completed\n"
                   "again now, stepped\n");
    world_free(w);
}

static void test_primary_not_ready_keeps_a_new_revision_for_later(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    stick_primary(w);
    expect_plan(w, "event Warning Initialized: podinfo-primary.test not ready: deployment "
                   "\"podinfo-primary\" exceeded its progress deadline\n"
                   "again interval, stepped\n");
    world_settle(w);
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=597d8f496b [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    world_free(w);
}

static void test_rollback_although_the_route_is_not_accepted(void **state)
{
    struct world *w = analysing();

    w->metrics = world_json(w, "{'metrics[0]':1}");
    world_tick(w);
    world_tick(w);
    world_patch(w, "httproutes/podinfo",
                "{'status':{'parents':[{'parentRef':{'name':'gateway','namespace':'infra'},"
                "'conditions':[{'type':'Accepted','status':'False'}]}]}}");
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
    world_free(w);
}

static void test_target_that_is_deleted_loses_its_traffic(void **state)
{
    struct world *w = analysing();

    world_patch(w, "deployments/podinfo", NULL);
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "status canaryWeight=0\n"
                   "event Warning Progressing: deployment podinfo.test get query error: not found\n"
                   "weights 100/0\n"
                   "again interval, stepped\n");
    w->due = false;
    expect_tick(w, "again interval\n");
    world_free(w);
}

static void test_primary_that_is_deleted(void **state)
{
    struct world *w = world_new(NULL);

    /* made anew from the promoted spec, never from what is being analysed */
    world_initialise(w);
    world_patch(w, "deployments/podinfo-primary", NULL);
    expect_tick(w, "create deployments test/podinfo-primary\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_patch(w, "deployments/podinfo-primary", NULL);
    expect_tick(w, "status [Promoted=Unknown PrimaryFound=False]\n"
                   "event Warning Progressing: podinfo-primary.test is missing and podinfo.test "
                   "holds a revision that was not promoted; restore the promoted spec and the "
                   "primary is made from it\n"
                   "again interval\n");
    expect_tick(w, "again interval\n");
    world_push(w, "podinfo:1");
    world_settle(w);
    expect_tick(w, "create deployments test/podinfo-primary\n"
                   "status [Promoted=Unknown]\n"
                   "again now\n");
    expect_tick(w, "status lastAppliedSpec=\n"
                   "weights 100/0\n"
                   "again now\n");
    expect_tick(w,
                "status phase=Succeeded lastAppliedSpec=dccf7d545 [Promoted=True Drained=False]\n"
                "weights 100/0\n"
                "event Normal Succeeded: Release of podinfo.test cancelled, its previous spec was "
                "restored\n"
                "again now\n");
    world_free(w);
}

static void test_restored_spec_after_a_failed_promotion_is_released(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2-canary-only");
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "0/100");
    world_push(w, "podinfo:1");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:1");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

static void test_scaler_that_is_deleted_does_not_stop_a_rollback(void **state)
{
    struct world *w = world_new("{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':"
                                "'HorizontalPodAutoscaler','name':'podinfo'}}}");

    world_put(w, "horizontalpodautoscalers/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicas':3,'maxReplicas':5}}");
    world_initialise(w);
    world_push(w, "podinfo:2");
    w->metrics = world_json(w, "{'metrics[0]':1}");
    for (int i = 0; i < 4; i++) {
        world_tick(w);
        world_settle(w);
    }
    world_patch(w, "horizontalpodautoscalers/podinfo", NULL);
    expect_tick(
        w,
        "patch httproutes test/podinfo weights 100/0\n"
        "status phase=Failed canaryWeight=0 failedChecks=0 [Promoted=False Drained=False]\n"
        "event Warning Progressing: HorizontalPodAutoscaler podinfo.test get query error: not "
        "found\n"
        "event Warning Progressing: Rolling back podinfo.test failed checks threshold reached 2\n"
        "alert error: Failed checks threshold reached 2\n"
        "weights 100/0\n"
        "event Warning Failed: Canary failed! Scaling down podinfo.test\n"
        "outcome failure completed\n"
        "again now, stepped\n");
    world_free(w);
}

static void test_not_due_nothing_steps(void **state)
{
    struct world *w = analysing();

    w->due = false;
    expect_tick(w, "again interval\n");
    assert_int_equal(json_len(w->asked), 0);
    world_free(w);
}

/* Blue/green with all traffic on the canary, whose checks begin to fail while one of the primary's
 * pods is away. */
static struct world *left_with_the_canary(void)
{
    struct world *w = world_new("{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,"
                                "'iterations':2,'threshold':1}}}");

    world_initialise(w);
    world_push(w, "podinfo:2");
    for (int i = 0; i < 20 && world_status_int(w, "canaryWeight") != 100; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_weights(w), "0/100");
    w->metrics = world_json(w, "{'metrics[0]':1}");
    for (int i = 0; i < 2; i++) {
        world_patch(w, "deployments/podinfo-primary", "{'status':{'availableReplicas':1}}");
        world_tick(w);
    }
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "0/100");
    return w;
}

static void test_traffic_left_with_a_failed_canary_goes_back(void **state)
{
    struct world *w = left_with_the_canary();

    expect_plan(w, "again never\n");
    world_settle(w);
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "status canaryWeight=0 [Promoted=False Drained=False]\n"
                   "weights 100/0\n"
                   "event Normal Failed: Routing all traffic to primary, it is ready again\n"
                   "again now\n");
    expect_tick(w, "again never, within 60 s\n");
    world_free(w);
}

static void test_route_that_is_made_again_spares_a_broken_primary(void **state)
{
    struct world *w = left_with_the_canary();

    world_patch(w, "httproutes/podinfo", NULL);
    expect_plan(w, "create httproutes test/podinfo weights 0/100\nagain now\n");
    expect_plan(w, "again never\n");
    world_put(w, "httproutes/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'rules':[{'backendRefs':[{'name':'podinfo',"
              "'port':9898}]}]}}");
    world_tick(w);
    assert_string_equal(world_weights(w), "0/100");
    world_free(w);
}

static void test_route_that_is_deleted_in_the_middle_gets_its_weight_back(void **state)
{
    struct world *w = analysing();

    world_patch(w, "httproutes/podinfo", NULL);
    world_tick(w);
    assert_string_equal(world_weights(w), "100/0");
    expect_tick(w, "patch httproutes test/podinfo weights 80/20\n"
                   "weights 80/20\n"
                   "again interval, stepped\n");
    world_free(w);
}

static void test_provider_that_changes_in_the_middle_holds(void **state)
{
    struct world *w = analysing();

    world_patch_canary(w, "{'spec':{'provider':'kubernetes'}}");
    expect_tick(
        w, "status [Promoted=Unknown Accepted=False]\n"
           "event Warning Progressing: spec.provider: changed to kubernetes while gatewayapi:v1 "
           "routes 20 % of the traffic to the canary; put it back until the release is over\n"
           "metric request-success-rate 100\n"
           "metric request-duration 0.05\n"
           "again interval, within 600 s, stepped\n");
    expect_tick(w, "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "again interval, within 600 s, stepped\n");
    world_patch_canary(w, "{'spec':{'provider':'gatewayapi:v1'}}");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    world_free(w);
}

/* The same spec with another config failed: it must not become the primary by a deletion. */
/* After an A/B promotion that failed, the canary serves everything, matched or not; and the next
 * revision is analysed there. */
static void test_route_that_is_deleted_while_the_canary_serves_everything(void **state)
{
    struct world *w = world_analysing("'stepWeight':null,'maxWeight':null,'iterations':3,'match':[{"
                                      "'headers':{'x':{'exact':'1'}}}]");

    world_push(w, "podinfo:2-canary-only");
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    world_push(w, "podinfo:3-canary-only");
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_phase(w), "Progressing");
    assert_string_equal(world_routes(w), "all: 0/100\n");
    world_patch(w, "httproutes/podinfo", NULL);
    world_tick(w);
    assert_string_equal(world_routes(w), "all: 0/100\n");
    world_free(w);
}

static void test_primary_that_is_deleted_is_not_made_with_failed_configs(void **state)
{
    struct world *w = world_new(NULL);

    world_put(w, "configmaps/settings",
              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},"
              "'data':{'color':'red'}}");
    world_patch(w, "deployments/podinfo",
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{"
                "'name':'settings'}}]}}}}");
    world_settle(w);
    world_initialise(w);
    world_patch(w, "configmaps/settings", "{'data':{'color':'blue'}}");
    w->metrics = world_json(w, "{'metrics[0]':1}");
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    world_patch(w, "deployments/podinfo-primary", NULL);
    world_tick(w);
    assert_null(world_get(w, "deployments/podinfo-primary"));
    assert_non_null(strstr(w->told, "podinfo-primary.test is missing"));
    world_patch(w, "configmaps/settings", "{'data':{'color':'red'}}");
    world_tick(w);
    assert_non_null(world_get(w, "deployments/podinfo-primary"));
    world_free(w);
}

/* Somebody deletes the primary's copy of a config: no pod could start without it. It is made again
 * as long as its source is what was promoted; else that is told, until it is there. */
static void test_copy_of_a_config_is_deleted(void **state)
{
    static const char copy[] = "configmaps/settings-primary";

    for (int changed = 0; changed < 2; changed++) {
        struct world *w = world_new(NULL);
        world_put(w, "configmaps/settings",
                  "{'metadata':{'name':'settings'},'data':{'a':'1'},'binaryData':{'b':'Yg=='}}");
        world_patch(w, "deployments/podinfo",
                    "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{'name':"
                    "'settings'}}]}}}}");
        world_settle(w);
        world_initialise(w);
        world_push(w, "podinfo:2");
        world_run(w);
        assert_string_equal(world_phase(w), "Succeeded");
        if (changed) {
            world_push(w, "podinfo:3");
            world_tick(w);
            world_patch(w, "configmaps/settings", "{'data':{'a':'2'}}");
        }
        world_patch(w, copy, NULL);
        const char *plan = world_tick(w);
        if (!changed) {
            assert_string_equal(plan, "create configmaps test/settings-primary\nagain now\n");
            assert_string_equal(json_str_at(world_get(w, copy), "data", "a", NULL), "1");
            assert_string_equal(json_str_at(world_get(w, copy), "binaryData", "b", NULL), "Yg==");
        } else {
            assert_null(world_get(w, copy));
            assert_non_null(strstr(plan, "configmap settings-primary.test is gone"));
            assert_null(strstr(world_tick(w), "is gone"));
            world_patch(w, "configmaps/settings", "{'data':{'a':'1'}}"); /* as promoted */
            world_tick(w);
            assert_non_null(world_get(w, copy));
            world_run(w);
            assert_null(strstr(world_state(w), "PrimaryConfigured"));
        }
        world_free(w);
    }
}

UNIT_MAIN(cmocka_unit_test(test_copy_of_a_config_is_deleted),
          cmocka_unit_test(test_weight_ahead_of_the_status_is_taken_over),
          cmocka_unit_test(test_weight_that_somebody_moved_goes_back),
          cmocka_unit_test(test_weights_stay_when_the_route_is_repaired),
          cmocka_unit_test(test_services_are_repaired),
          cmocka_unit_test(test_weights_of_an_idle_canary),
          cmocka_unit_test(test_route_that_is_not_accepted_holds),
          cmocka_unit_test(test_promoting_with_nothing_left_to_shift),
          cmocka_unit_test(test_failed_promotion_and_the_way_forward),
          cmocka_unit_test(test_failed_promotion_then_failed_checks_keeps_the_canary),
          cmocka_unit_test(test_primary_fails_during_the_analysis),
          cmocka_unit_test(test_primary_not_ready_keeps_a_new_revision_for_later),
          cmocka_unit_test(test_rollback_although_the_route_is_not_accepted),
          cmocka_unit_test(test_target_that_is_deleted_loses_its_traffic),
          cmocka_unit_test(test_primary_that_is_deleted),
          cmocka_unit_test(test_restored_spec_after_a_failed_promotion_is_released),
          cmocka_unit_test(test_scaler_that_is_deleted_does_not_stop_a_rollback),
          cmocka_unit_test(test_not_due_nothing_steps),
          cmocka_unit_test(test_traffic_left_with_a_failed_canary_goes_back),
          cmocka_unit_test(test_route_that_is_made_again_spares_a_broken_primary),
          cmocka_unit_test(test_route_that_is_deleted_in_the_middle_gets_its_weight_back),
          cmocka_unit_test(test_provider_that_changes_in_the_middle_holds),
          cmocka_unit_test(test_route_that_is_deleted_while_the_canary_serves_everything),
          cmocka_unit_test(test_primary_that_is_deleted_is_not_made_with_failed_configs))

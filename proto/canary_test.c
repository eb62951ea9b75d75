#include "proto/canary_testing.h"

CASE(test_the_least_a_canary_needs)
{
    struct canary c;
    struct json_object *json = rows_json(
        arena, "{'metadata':{'name':'a'},'spec':{'targetRef':{'kind':'Deployment','name':'t'}}}");
    struct errinfo ei;
    assert_int_equal(canary_view(arena, json, &c, &ei), ERR_OK);
    assert_string_equal(c.name, "a");
    assert_string_equal(c.namespace_, "default");
    assert_string_equal(c.uid, "");
    assert_string_equal(c.api_version, "flagger.app/v1beta1");
    assert_int_equal(c.generation, 0);
    assert_false(c.deleting);
    assert_true(c.revert_on_deletion); /* a missing value is not false */
    assert_null(c.provider);
    assert_null(c.metrics_server);
    assert_string_equal(c.target.name, "t");
    assert_string_equal(c.target.api_version, "");
    assert_null(c.autoscaler.name);
    assert_null(c.ingress.name);
    assert_null(c.route.name);
    assert_int_equal(c.progress_deadline_s, 600);
    assert_true(c.skip_analysis);
    assert_null(c.analysis.json);
    assert_int_equal(c.analysis.interval_ms, 60000);
    assert_int_equal(c.analysis.threshold, 1);
    assert_int_equal(c.analysis.max_weight, WEIGHT_ALL);
    assert_null(c.service.json);
    assert_string_equal(c.service.canary_name, "t-canary");
    assert_int_equal(c.status.phase, PHASE_NONE);
    assert_string_equal(c.status.last_applied_spec, "");
    assert_null(c.status.json);
}

CASE(test_everything_at_the_top)
{
    struct canary c = canary_testing_view(
        arena, "{'apiVersion':'flagger.app/"
               "v1alpha3','metadata':{'uid':'u','resourceVersion':'7','generation':3.0,'"
               "deletionTimestamp':'2026-01-02T03:04:05Z'},'spec':{'provider':'istio','"
               "metricsServer':'http://p:9090','autoscalerRef':{'apiVersion':'autoscaling/"
               "v2','kind':'HorizontalPodAutoscaler','name':'h','primaryScalerReplicas':{'"
               "minReplicas':2}},'ingressRef':{'apiVersion':'networking.k8s.io/"
               "v1','kind':'Ingress','name':'i'},'routeRef':{'apiVersion':'apisix.apache.org/"
               "v2','kind':'ApisixRoute','name':'r'},'progressDeadlineSeconds':60.0,'skipAnalysis':"
               "true,'suspend':true,'revertOnDeletion':false}}");
    assert_string_equal(c.api_version, "flagger.app/v1alpha3");
    assert_string_equal(c.uid, "u");
    assert_string_equal(c.resource_version, "7");
    assert_int_equal(c.generation, 3);
    assert_true(c.deleting);
    assert_string_equal(c.provider, "istio");
    assert_string_equal(c.metrics_server, "http://p:9090");
    assert_string_equal(c.autoscaler.kind, "HorizontalPodAutoscaler");
    assert_int_equal(
        json_int_at(c.autoscaler_json, 0, "primaryScalerReplicas", "minReplicas", NULL), 2);
    assert_string_equal(c.ingress.name, "i");
    assert_string_equal(c.route.kind, "ApisixRoute");
    assert_int_equal(c.progress_deadline_s, 60);
    assert_true(c.skip_analysis && c.suspend);
    assert_false(c.revert_on_deletion);
}

CASE(test_strategies)
{
    static const struct {
        const char *analysis;
        enum strategy strategy;
        const char *name;
    } cases[] = {
        {"{}", STRATEGY_CANARY, "canary"},
        {"{'match':[{'headers':{}}]}", STRATEGY_CANARY, "canary"},
        {"{'stepWeight':null,'iterations':3}", STRATEGY_BLUE_GREEN, "blue-green"},
        {"{'stepWeight':null,'iterations':3,'match':[]}", STRATEGY_BLUE_GREEN, "blue-green"},
        {"{'stepWeight':null,'iterations':3,'match':[{}]}", STRATEGY_AB_TESTING, "ab-testing"},
        {"{'stepWeight':null,'iterations':0,'match':[{}]}", STRATEGY_CANARY, "canary"},
    };
    EACH_ROW (row, cases) {
        struct canary c = canary_testing_view(
            arena, arena_printf(arena, "{'spec':{'analysis':%s}}", row->analysis));
        assert_int_equal(c.strategy, row->strategy);
        assert_string_equal(strategy_name(c.strategy), row->name);
    }
}

CASE(test_status)
{
    struct canary c = canary_testing_view(
        arena,
        "{'status':{'phase':'WaitingPromotion','canaryWeight':50,'failedChecks':2,'iterations':-1,'"
        "lastAppliedSpec':'a','lastPromotedSpec':'b','trackedConfigs':{'configmap/"
        "x':'1'},'provider':'istio','serviceName':'apex','lastTransitionTime':'2026-01-02T03:04:"
        "05Z'}}");
    assert_string_equal(c.status.provider, "istio");
    assert_string_equal(c.status.service_name, "apex");
    assert_int_equal(c.status.phase, PHASE_WaitingPromotion);
    assert_int_equal(c.status.canary_weight, 5000);
    assert_int_equal(c.status.failed_checks, 2);
    assert_int_equal(c.status.iterations, -1);
    assert_string_equal(c.status.last_applied_spec, "a");
    assert_string_equal(c.status.last_promoted_spec, "b");
    assert_int_equal(json_object_object_length(c.status.tracked_configs), 1);
    assert_string_equal(c.status.last_transition_time, "2026-01-02T03:04:05Z");
    assert_non_null(c.status.json);
}

CASE(test_an_odd_status_is_put_right)
{
    struct canary c =
        canary_testing_view(arena, "{'status':{'phase':'Dancing','canaryWeight':120,'failedChecks':"
                                   "-3,'iterations':-9,'lastAppliedSpec':7,'trackedConfigs':[]}}");
    assert_int_equal(c.status.phase, PHASE_NONE);
    assert_int_equal(c.status.canary_weight, WEIGHT_ALL);
    assert_int_equal(c.status.failed_checks, 0);
    assert_int_equal(c.status.iterations, -1);
    assert_string_equal(c.status.last_applied_spec, "");
    assert_null(c.status.tracked_configs);
    assert_null(c.status.service_name);
}

CASE(test_mistakes)
{
    canary_testing_mistakes(arena, "canary");
}

CASE(test_what_is_no_object)
{
    struct canary c;
    struct errinfo ei;
    assert_int_equal(canary_view(arena, rows_json(arena, "[1]"), &c, &ei), ERR_INVALID);
    assert_string_equal(ei.text, "expected a Canary object, found [1]");
    assert_int_equal(canary_view(arena, NULL, &c, &ei), ERR_INVALID);
}

#include "proto/canary_testing.h"

CASE(test_defaults)
{
    struct canary_analysis a =
        canary_testing_view(
            arena, "{'spec':{'analysis':{'interval':null,'threshold':null,'maxWeight':null}}}")
            .analysis;
    assert_non_null(a.json);
    assert_false(a.legacy);
    assert_int_equal(a.interval_ms, 60000);
    assert_int_equal(a.max_duration_ms, 0);
    assert_int_equal(a.threshold, 1);
    assert_int_equal(a.iterations, 0);
    assert_false(a.mirror);
    assert_int_equal(a.mirror_weight, 0);
    assert_int_equal(a.max_weight, WEIGHT_ALL);
    assert_int_equal(a.max_weight_given, 0);
    assert_int_equal(a.step_weight, 1000);
    assert_int_equal(a.n_step_weights, 0);
    assert_int_equal(a.step_weight_promotion, 0);
    assert_int_equal(a.primary_ready_threshold, 100);
    assert_int_equal(a.canary_ready_threshold, 100);
    assert_null(a.match);
    assert_null(a.affinity.cookie_name);
    assert_int_equal(a.n_metrics + a.n_webhooks + a.n_alerts, 0);
}

/* An API server may return a number as 10 or as 10.0. */
CASE(test_everything)
{
    struct canary_analysis a =
        canary_testing_view(
            arena,
            "{'spec':{'analysis':{'interval':'1m30s','maxDuration':'2h','threshold':3.0,'maxWeight'"
            ":80,'stepWeight':"
            "null,'stepWeights':[1,10.0,60],'stepWeightPromotion':20,'mirror':true,'mirrorWeight':"
            "50,'primaryReadyThreshold':90,'canaryReadyThreshold':0,'match':[{'headers':{'x':{'"
            "exact':'y'}}}],'sessionAffinity':{'cookieName':'c','primaryCookieName':'p'}}}}")
            .analysis;
    assert_int_equal(a.interval_ms, 90000);
    assert_int_equal(a.max_duration_ms, 7200000);
    assert_int_equal(a.threshold, 3);
    assert_int_equal(a.max_weight, 6000);
    assert_int_equal(a.max_weight_given, 8000);
    assert_int_equal(a.step_weight, 0);
    assert_int_equal(a.n_step_weights, 3);
    assert_int_equal(a.step_weights[1], 1000);
    assert_int_equal(a.step_weight_promotion, 2000);
    assert_true(a.mirror);
    assert_int_equal(a.mirror_weight, 50);
    assert_int_equal(a.primary_ready_threshold, 90);
    assert_int_equal(a.canary_ready_threshold, 0);
    assert_int_equal(json_len(a.match), 1);
    assert_string_equal(a.affinity.cookie_name, "c");
    assert_string_equal(a.affinity.primary_cookie_name, "p");
}

CASE(test_steps)
{
    struct canary_analysis a =
        canary_testing_view(arena,
                            "{'spec':{'analysis':{'stepWeight':null,'maxWeight':80,'steps':[{"
                            "'weight':1,'for':'1h30m'},{'weight':20,'gate':true},{'weight':60}]}}}")
            .analysis;
    assert_int_equal(a.n_steps, 3);
    assert_int_equal(a.steps[0].for_ms, 5400000);
    assert_true(a.steps[1].gate && !a.steps[0].gate);
    assert_int_equal(a.n_step_weights, 3);
    assert_int_equal(a.step_weights[1], 2000);
    assert_int_equal(a.max_weight, 6000);
}

/* Weights of steps may be fractions of a percent. */
CASE(test_fractions)
{
    struct canary_analysis a =
        canary_testing_view(arena,
                            "{'spec':{'analysis':{'stepWeight':null,'steps':[{'weight':0.05},{"
                            "'weight':0.5},{'weight':1.0},{'weight':12.5}]}}}")
            .analysis;
    assert_int_equal(a.steps[0].weight, 5);
    assert_int_equal(a.steps[1].weight, 50);
    assert_int_equal(a.steps[2].weight, 100);
    assert_int_equal(a.step_weights[3], 1250);
    assert_int_equal(a.max_weight, 1250);
}

CASE(test_kinds_of_steps)
{
    struct canary_analysis a =
        canary_testing_view(
            arena, "{'spec':{'analysis':{'stepWeight':null,'steps':[{'mirror':30,'for':'1m'},{"
                   "'match':[{'headers':{'x':{'exact':'y'}}}],'gate':true},{'weight':20},{"
                   "'weight':60}]}}}")
            .analysis;
    assert_int_equal(a.n_steps, 4);
    assert_int_equal(a.n_step_weights, 2);
    assert_int_equal(a.step_weights[0], 2000);
    assert_int_equal(a.max_weight, 6000);
    assert_true(a.mirror && a.mirror_step == &a.steps[0]);
    assert_int_equal(a.mirror_weight, 30);
    assert_string_equal(a.mirror_at, "spec.analysis.steps[0].mirror");
    assert_true(a.match_step == &a.steps[1] && a.steps[1].gate);
    assert_true(a.match == a.steps[1].match);
    assert_string_equal(a.match_at, "spec.analysis.steps[1].match");
    a = canary_testing_view(arena, "{}").analysis;
    assert_true(!a.match_step && !a.mirror_step && !a.mirror);
    assert_string_equal(a.match_at, "spec.analysis.match");
    assert_string_equal(a.mirror_at, "spec.analysis.mirror");
}

CASE(test_ways_to_the_primary)
{
    struct canary_analysis a =
        canary_testing_view(arena, "{'spec':{'analysis':{'promotion':{'steps':[{'weight':60,'for':"
                                   "'2m'},{'weight':90}]},'rollback':{'steps':[{'weight':80}]}}}}")
            .analysis;
    assert_int_equal(a.promotion.n_steps, 2);
    assert_int_equal(a.promotion.steps[0].weight, 6000);
    assert_int_equal(a.promotion.steps[0].for_ms, 120000);
    assert_int_equal(a.promotion.steps[1].weight, 9000);
    assert_int_equal(a.rollback.n_steps, 1);
    assert_int_equal(a.rollback.steps[0].weight, 8000);
    a = canary_testing_view(arena, "{}").analysis;
    assert_int_equal(a.promotion.n_steps + a.rollback.n_steps, 0);
}

CASE(test_checks_of_steps)
{
    struct canary_analysis a =
        canary_testing_view(
            arena,
            "{'spec':{'analysis':{'stepWeight':null,'metrics':[{'name':'errors','query':'q',"
            "'thresholdRange':{'max':1}}],'webhooks':[{'name':'smoke','url':'http://x'}],'steps':[{"
            "'weight':1,'checks':['errors']},{'weight':20,'checks':['smoke','errors']},{'weight':"
            "60}]}}}")
            .analysis;
    assert_true(canary_step_checks(&a.steps[0], "errors"));
    assert_false(canary_step_checks(&a.steps[0], "smoke"));
    assert_true(canary_step_checks(&a.steps[1], "smoke"));
    assert_true(canary_step_checks(&a.steps[2], "smoke"));
    assert_true(canary_step_checks(NULL, "smoke"));
}

CASE(test_canary_scale)
{
    struct canary_analysis none = canary_testing_view(arena, "{}").analysis;
    struct canary_analysis match =
        canary_testing_view(arena, "{'spec':{'analysis':{'canaryScale':{'matchWeight':true}}}}")
            .analysis;
    struct canary_analysis part =
        canary_testing_view(arena, "{'spec':{'analysis':{'canaryScale':{'percent':20}}}}").analysis;
    assert_false(none.scale.given);
    assert_true(match.scale.given && match.scale.match_weight);
    assert_int_equal(part.scale.percent, 20);
}

CASE(test_max_weight)
{
    static const struct {
        const char *analysis;
        int max;
    } cases[] = {
        {"{'maxWeight':null}", 100},
        {"{'maxWeight':0}", 100},
        {"{'maxWeight':30}", 30},
        {"{'maxWeight':100}", 100},
        {"{'maxWeight':30,'stepWeight':null,'stepWeights':[5,50]}", 50},
        {"{'maxWeight':30,'stepWeight':null,'stepWeights':[100]}", 100},
    };
    EACH_ROW (row, cases) {
        struct canary c = canary_testing_view(
            arena, arena_printf(arena, "{'spec':{'analysis':%s}}", row->analysis));
        assert_int_equal(c.analysis.max_weight, WEIGHT_PERCENT * row->max);
    }
}

CASE(test_both_spellings)
{
    struct canary c =
        canary_testing_view(arena, "{'spec':{'analysis':null,'canaryAnalysis':{'interval':'10s','"
                                   "threshold':10,'maxWeight':50,'stepWeight':5}}}");
    assert_true(c.analysis.legacy);
    assert_false(c.skip_analysis);
    assert_int_equal(c.analysis.interval_ms, 10000);
    assert_int_equal(c.analysis.step_weight, 500);
    /* before that rule there could be several, or none */
    c = canary_testing_view(
        arena, "{'spec':{'analysis':null,'canaryAnalysis':{'iterations':5,'stepWeight':5}}}");
    assert_int_equal(c.strategy, STRATEGY_BLUE_GREEN);
    c = canary_testing_view(arena, "{'spec':{'analysis':null,'canaryAnalysis':{}}}");
    assert_int_equal(c.analysis.step_weight, 0);
    /* analysis takes precedence. */
    c = canary_testing_view(arena, "{'spec':{'canaryAnalysis':{'stepWeight':1000}}}");
    assert_false(c.analysis.legacy);
    assert_int_equal(c.analysis.step_weight, 1000);
}

CASE(test_mistakes)
{
    canary_testing_mistakes(arena, "analysis");
}

CASE(test_wrong_intervals_are_refused)
{
    static const char *const intervals[] = {"5mfoo", "", "1", "-1m", "m", "1 m", "1d"};
    EACH_ROW (row, intervals) {
        struct json_object *json = canary_testing_patched(
            arena, arena_printf(arena, "{'spec':{'analysis':{'interval':'%s'}}}", *row));
        struct canary c;
        struct errinfo ei = {0};
        assert_int_equal(canary_view(arena, json, &c, &ei), ERR_INVALID);
        assert_non_null(strstr(ei.text, "spec.analysis.interval: "));
    }
}

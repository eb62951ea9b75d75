#include "proto/canary_testing.h"

#define RATE     "{'name':'request-success-rate','thresholdRange':{'min':99}}"
#define DURATION "{'name':'request-duration','thresholdRange':{'max':500}}"

static struct canary_analysis view(struct arena *arena, const char *judge, const char *metrics)
{
    return canary_testing_view(
               arena, arena_printf(arena, "{'spec':{'analysis':{'judge':%s,'metrics':[%s]}}}",
                                   judge, metrics))
        .analysis;
}

CASE(test_no_judge)
{
    struct canary_analysis a =
        canary_testing_view(arena, "{'spec':{'analysis':{'metrics':[" RATE "]}}}").analysis;

    assert_false(a.judge.given);
    assert_false(a.metrics[0].judge.given);
}

CASE(test_judge)
{
    struct canary_analysis a =
        view(arena,
             "{'type':'sequential','falseAlarmRate':0.05,'tolerate':{'errorRate':'0.2 "
             "%-points','latency':'5%'},'every':'1m','minRequests':7,'maxWait':'2m','warmUp':'0s',"
             "'onInconclusive':'rollback'}",
             "{'name':'request-success-rate','judge':{'tolerate':'10 %'}}," DURATION
             ",{'name':'up','query':'up'},{'name':'t','templateRef':{'name':'t'},'judge':{"
             "'enabled':false}}");

    assert_true(a.judge.given && a.judge.false_alarm_rate == 0.05);
    assert_true(a.judge.error_rate.points == 0.002 && a.judge.error_rate.ratio == 0);
    assert_true(a.judge.latency.ratio == 0.05 && a.judge.latency.points == 0);
    assert_int_equal(a.judge.every_ms, 60000);
    assert_int_equal(a.judge.min_requests, 7);
    assert_int_equal(a.judge.max_wait_ms, 120000);
    assert_int_equal(a.judge.warm_up_ms, 0);
    assert_int_equal(a.judge.on_inconclusive, INCONCLUSIVE_ROLLBACK);
    assert_true(a.metrics[0].judge.has_tolerance && a.metrics[0].judge.tolerate.ratio == 0.1);
    assert_false(a.metrics[1].judge.has_tolerance);
    assert_false(a.metrics[0].judge.off);
    assert_true(a.metrics[3].judge.off);
}

CASE(test_defaults)
{
    struct canary_judge judge = view(arena, "{'type':'sequential'}", RATE).judge;

    assert_true(judge.false_alarm_rate == 0.01);
    assert_true(judge.error_rate.points == 0 && judge.error_rate.ratio == 0);
    assert_int_equal(judge.every_ms, 10000);
    assert_int_equal(judge.min_requests, 100);
    assert_int_equal(judge.max_wait_ms, 600000);
    assert_int_equal(judge.warm_up_ms, 10000);
    assert_int_equal(judge.on_inconclusive, INCONCLUSIVE_WAIT);
}

CASE(test_compare)
{
    static const struct {
        const char *judge;
        bool has, lower;
        double ratio, points;
    } rows[] = {
        {"", false, false, 0, 0},
        {",'judge':{'tolerate':'10 %'}", true, false, 0.1, 0},
        {",'judge':{'tolerate':'250%','worse':'lower'}", true, true, 2.5, 0},
        {",'judge':{'tolerate':'5Mi','worse':'higher'}", true, false, 0, 5 * 1024 * 1024},
        {",'judge':{'tolerate':'0.5'}", true, false, 0, 0.5},
        {",'judge':{'tolerate':'250m'}", true, false, 0, 0.25},
        {",'judge':{'tolerate':'0'}", true, false, 0, 0},
    };

    EACH_ROW (row, rows) {
        const struct canary_metric metric =
            view(arena, "{'type':'sequential'}",
                 arena_printf(arena,
                              "{'name':'m','templateRef':{'name':'m'},'compare':'primary'%s}",
                              row->judge))
                .metrics[0];
        assert_true(metric.compares && !metric.judge.off);
        assert_true(metric.judge.has_tolerance == row->has && metric.judge.lower == row->lower);
        assert_float_equal(metric.judge.tolerate.ratio, row->ratio, 1e-12);
        assert_float_equal(metric.judge.tolerate.points, row->points, 1e-9);
    }
}

CASE(test_latency)
{
    const struct canary_metric metric =
        view(arena, "{'type':'sequential'}",
             "{'name':'request-duration','compare':'primary','judge':{'tolerate':'20 %'}}")
            .metrics[0];

    assert_true(canary_metric_is_latency(&metric) && !metric.has_range);
    assert_true(metric.judge.has_tolerance && metric.judge.tolerate.ratio == 0.2);
}

CASE(test_mistakes_in_the_judge)
{
    canary_testing_mistakes(arena, "judge");
}

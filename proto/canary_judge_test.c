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

#define JUDGE(judge)                                                                               \
    "{'spec':{'analysis':{'judge':{'type':'sequential'," judge "},'metrics':[" RATE "]}}}"
#define METRICS(metrics)                                                                           \
    "{'spec':{'analysis':{'judge':{'type':'sequential'},'metrics':[" metrics "]}}}"
#define TOLERANCE(found)                                                                           \
    "expected a part of the primary's share such as \"10 %\", or of all requests such as \"0.2 "   \
    "%-points\", of at most 100, found \"" found "\""

CASE(test_mistakes_in_the_judge)
{
    static const struct canary_testing_mistake cases[] = {
        {"{'spec':{'analysis':{'judge':{},'metrics':[" RATE "]}}}",
         "spec.analysis.judge.type: required: expected a string"},
        {"{'spec':{'analysis':{'judge':{'type':'fixed'},'metrics':[" RATE "]}}}",
         "spec.analysis.judge.type: expected sequential, found \"fixed\""},
        {JUDGE("'falseAlarmRate':0"), "spec.analysis.judge.falseAlarmRate: expected a number above "
                                      "0 and not above 0.5, found 0"},
        {JUDGE("'falseAlarmRate':0.6"), "spec.analysis.judge.falseAlarmRate: expected a number "
                                        "above 0 and not above 0.5, found 0.6"},
        {JUDGE("'every':'4s'"),
         "spec.analysis.judge.every: expected whole seconds, at least 5s, found \"4s\""},
        {JUDGE("'every':'10500ms'"),
         "spec.analysis.judge.every: expected whole seconds, at least 5s, found \"10500ms\""},
        {JUDGE("'minRequests':0"),
         "spec.analysis.judge.minRequests: expected a whole number from 1 to 2147483647, found 0"},
        {JUDGE("'maxWait':'0s'"),
         "spec.analysis.judge.maxWait: expected a duration above 0s, found \"0s\""},
        {JUDGE("'onInconclusive':'pass'"), "spec.analysis.judge.onInconclusive: expected wait, "
                                           "promote or rollback, found \"pass\""},
        {JUDGE("'tolerate':{'errorRate':'-1 %'}"),
         "spec.analysis.judge.tolerate.errorRate: " TOLERANCE("-1 %")},
        {JUDGE("'tolerate':{'errorRate':'0.2'}"),
         "spec.analysis.judge.tolerate.errorRate: " TOLERANCE("0.2")},
        {JUDGE("'tolerate':{'latency':'101 %'}"),
         "spec.analysis.judge.tolerate.latency: " TOLERANCE("101 %")},
        {JUDGE("'tolerate':{'latency':'1.2.3 %'}"),
         "spec.analysis.judge.tolerate.latency: " TOLERANCE("1.2.3 %")},
        {JUDGE("'tolerate':{'latency':'5 % more'}"),
         "spec.analysis.judge.tolerate.latency: " TOLERANCE("5 % more")},
        {METRICS(""), "spec.analysis.judge: expected a metric that it can judge: "
                      "request-success-rate, request-duration or a MetricTemplate with queries, "
                      "found none"},
        {METRICS("{'name':'up','query':'up'}"),
         "spec.analysis.judge: expected a metric that it can judge: request-success-rate, "
         "request-duration or a MetricTemplate with queries, found none"},
        {METRICS("{'name':'up','query':'up','judge':{}}"),
         "spec.analysis.metrics[0].judge: expected on request-success-rate, request-duration or a "
         "metric with a templateRef, whose counts can be asked for, found on \"up\""},
        {METRICS("{'name':'request-duration','thresholdRange':{'min':1}}"),
         "spec.analysis.metrics[0]: expected with thresholdRange.max above 0: spec.analysis.judge "
         "counts the requests that are slower"},
        {"{'spec':{'analysis':{'metrics':[{'name':'request-success-rate','judge':{}}]}}}",
         "spec.analysis.metrics[0].judge: expected only with spec.analysis.judge"},
    };

    canary_testing_mistakes(cases, sizeof cases / sizeof cases[0]);
}

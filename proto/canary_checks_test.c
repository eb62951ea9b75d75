#include "proto/canary_testing.h"

static struct canary_analysis view(struct arena *arena, const char *fields)
{
    return canary_testing_view(arena, arena_printf(arena, "{'spec':{'analysis':%s}}", fields))
        .analysis;
}

CASE(test_metrics)
{
    struct canary_analysis a =
        view(arena, "{'metrics':[{'name':'request-success-rate','interval':'1m','threshold':99},{'"
                    "name':'latency','thresholdRange':{'min':0,'max':0.5},'templateRef':{'name':'t'"
                    ",'namespace':'n'},'templateVariables':{'v':'w'}},{'name':'404s','threshold':0,"
                    "'query':'up'},{'name':'min only','thresholdRange':{'min':1.0}}]}");
    assert_int_equal(a.n_metrics, 4);
    assert_string_equal(a.metrics[0].name, "request-success-rate");
    assert_string_equal(a.metrics[0].interval, "1m");
    assert_int_equal(a.metrics[0].interval_ms, 60000);
    assert_true(a.metrics[0].has_threshold && a.metrics[0].threshold == 99);
    assert_true(a.metrics[1].has_range && !a.metrics[0].has_range);
    assert_false(a.metrics[0].has_min || a.metrics[0].has_max);
    assert_null(a.metrics[0].template_ref.name);
    assert_null(a.metrics[1].interval);
    assert_int_equal(a.metrics[1].interval_ms, CANARY_UNSET);
    assert_false(a.metrics[1].has_threshold);
    assert_true(a.metrics[1].has_min && a.metrics[1].min == 0);
    assert_true(a.metrics[1].has_max && a.metrics[1].max == 0.5);
    assert_string_equal(a.metrics[1].template_ref.name, "t");
    assert_string_equal(a.metrics[1].template_ref.namespace_, "n");
    assert_string_equal(json_str_at(a.metrics[1].variables, "v", NULL), "w");
    assert_true(a.metrics[2].has_threshold && a.metrics[2].threshold == 0);
    assert_string_equal(a.metrics[2].query, "up");
    assert_true(a.metrics[3].has_min && !a.metrics[3].has_max);
}

CASE(test_policies)
{
    struct canary_analysis a =
        view(arena, "{'onMetricError':'hold','metrics':[{'name':'a'},{'name':'b','noData':'fail'},{"
                    "'name':'c','noData':'hold'},{'name':'d','noData':'pass'}]}");
    assert_int_equal(a.on_metric_error, POLICY_HOLD);
    assert_int_equal(a.metrics[0].no_data, POLICY_FAIL);
    assert_int_equal(a.metrics[1].no_data, POLICY_FAIL);
    assert_int_equal(a.metrics[2].no_data, POLICY_HOLD);
    assert_int_equal(a.metrics[3].no_data, POLICY_PASS);
    assert_int_equal(a.on_unreachable, POLICY_HOLD);
    assert_int_equal(view(arena, "{}").on_metric_error, POLICY_FAIL);
    assert_int_equal(view(arena, "{}").on_unreachable, POLICY_WAIT);
    assert_int_equal(view(arena, "{'onMetricError':'fail'}").on_unreachable, POLICY_FAIL);
}

CASE(test_webhooks)
{
    struct canary_analysis a = view(
        arena, "{'webhooks':[{'name':'load','url':'http://loadtester.test/"
               "'},{'name':'gate','type':'confirm-rollout','url':'HTTPS://g/"
               "','timeout':'1m30s','retries':3.0,'muteAlert':true,'disableTLS':true,'metadata':{'"
               "cmd':'hey'}},{'name':'empty','type':'','url':'http://x','timeout':'5'}]}");
    assert_int_equal(a.n_webhooks, 3);
    assert_int_equal(a.webhooks[0].type, HOOK_ROLLOUT);
    assert_int_equal(a.webhooks[0].timeout_ms, 10000);
    assert_int_equal(a.webhooks[0].retries, 0);
    assert_null(a.webhooks[0].metadata);
    assert_false(a.webhooks[0].mute_alert || a.webhooks[0].disable_tls);
    assert_int_equal(a.webhooks[1].type, HOOK_CONFIRM_ROLLOUT);
    assert_string_equal(a.webhooks[1].url, "HTTPS://g/");
    assert_int_equal(a.webhooks[1].timeout_ms, 90000);
    assert_int_equal(a.webhooks[1].retries, 3);
    assert_true(a.webhooks[1].mute_alert && a.webhooks[1].disable_tls);
    assert_string_equal(json_str_at(a.webhooks[1].metadata, "cmd", NULL), "hey");
    assert_int_equal(a.webhooks[2].type, HOOK_ROLLOUT);
    assert_int_equal(a.webhooks[2].timeout_ms, 10000);
}

CASE(test_deadlines)
{
    struct canary_analysis a = view(
        arena, "{'webhooks':[{'name':'a','type':'confirm-rollout','url':'http://"
               "x'},{'name':'b','type':'confirm-promotion','url':'http://"
               "x','deadline':'30m'},{'name':'c','type':'confirm-traffic-increase','url':'http://"
               "x','deadline':'1h30m','onDeadline':'approve'},{'name':'d','type':'confirm-rollout',"
               "'url':'http://x','deadline':'1s','onDeadline':'rollback'}]}");
    assert_int_equal(a.webhooks[0].deadline_ms, 0);
    assert_int_equal(a.webhooks[1].deadline_ms, 30 * 60 * 1000);
    assert_false(a.webhooks[1].approve_at_deadline);
    assert_int_equal(a.webhooks[2].deadline_ms, 90 * 60 * 1000);
    assert_true(a.webhooks[2].approve_at_deadline);
    assert_int_equal(a.webhooks[3].deadline_ms, 1000);
    assert_false(a.webhooks[3].approve_at_deadline);
}

CASE(test_headers_from)
{
    struct canary_analysis a = view(
        arena, "{'webhooks':[{'name':'a','url':'http://x'},{'name':'b','url':'http://"
               "x','headersFrom':[{'secretRef':{'name':'one'}},{'secretRef':{'name':'two'}}]}]}");
    assert_int_equal(a.webhooks[0].n_headers_from, 0);
    assert_int_equal(a.webhooks[1].n_headers_from, 2);
    assert_string_equal(a.webhooks[1].headers_from[0], "one");
    assert_string_equal(a.webhooks[1].headers_from[1], "two");
}

CASE(test_ca_secret)
{
    struct canary_analysis a =
        view(arena, "{'webhooks':[{'name':'a','url':'https://x'},{'name':'b','url':'HTTPS://"
                    "x','caSecretRef':{'name':'ca'}},{'name':'c','url':'https://"
                    "x','caSecretRef':{'name':'ca','key':'root.pem'}}]}");
    assert_null(a.webhooks[0].ca_secret);
    assert_string_equal(a.webhooks[1].ca_secret, "ca");
    assert_null(a.webhooks[1].ca_key);
    assert_string_equal(a.webhooks[2].ca_secret, "ca");
    assert_string_equal(a.webhooks[2].ca_key, "root.pem");
}

CASE(test_every_hook_type)
{
    static const struct {
        const char *name;
        enum hook_type type;
    } cases[] = {
        {"rollout", HOOK_ROLLOUT},
        {"pre-rollout", HOOK_PRE_ROLLOUT},
        {"post-rollout", HOOK_POST_ROLLOUT},
        {"confirm-rollout", HOOK_CONFIRM_ROLLOUT},
        {"confirm-promotion", HOOK_CONFIRM_PROMOTION},
        {"confirm-traffic-increase", HOOK_CONFIRM_TRAFFIC_INCREASE},
        {"rollback", HOOK_ROLLBACK},
        {"event", HOOK_EVENT},
    };
    EACH_ROW (row, cases) {
        struct canary_analysis a = view(
            arena, arena_printf(arena, "{'webhooks':[{'name':'a','url':'http://x','type':'%s'}]}",
                                row->name));
        assert_int_equal(a.webhooks[0].type, row->type);
        assert_string_equal(hook_type_name(row->type), row->name);
    }
}

CASE(test_alerts)
{
    struct canary_analysis a =
        view(arena, "{'alerts':[{'name':'a','severity':'error','providerRef':{'name':'p'}},{'name':"
                    "'b','severity':'','providerRef':{'name':'p','namespace':'n'}},{'name':'c','"
                    "providerRef':{'name':'p'}}]}");
    assert_int_equal(a.n_alerts, 3);
    assert_string_equal(a.alerts[0].severity, "error");
    assert_null(a.alerts[0].provider.namespace_);
    assert_string_equal(a.alerts[1].severity, "info");
    assert_string_equal(a.alerts[1].provider.namespace_, "n");
    assert_string_equal(a.alerts[2].severity, "info");
}

#define METRIC(fields, text)                                                                       \
    {                                                                                              \
        "{'spec':{'analysis':{'metrics':[{" fields "}]}}}", "spec.analysis.metrics[0]" text        \
    }
#define HOOK(fields, text)                                                                         \
    {                                                                                              \
        "{'spec':{'analysis':{'webhooks':[{'name':'a','url':'http://x'},{" fields "}]}}}",         \
            "spec.analysis.webhooks[1]" text                                                       \
    }
#define ALERT(fields, text)                                                                        \
    {                                                                                              \
        "{'spec':{'analysis':{'alerts':[{" fields "}]}}}", "spec.analysis.alerts[0]" text          \
    }

CASE(test_mistakes_in_metrics)
{
    static const struct canary_testing_mistake cases[] = {
        {"{'spec':{'analysis':{'metrics':{}}}}",
         "spec.analysis.metrics: expected an array, found an object"},
        {"{'spec':{'analysis':{'metrics':[1]}}}",
         "spec.analysis.metrics[0]: expected an object, found 1"},
        METRIC("", ".name: required: expected a string"),
        METRIC("'name':1", ".name: expected a string, found 1"),
        METRIC("'name':'a','interval':60", ".interval: expected a string, found 60"),
        METRIC("'name':'a','threshold':'99'", ".threshold: expected a number, found \"99\""),
        METRIC("'name':'a','thresholdRange':99", ".thresholdRange: expected an object, found 99"),
        METRIC("'name':'a','thresholdRange':{'min':'1'}",
               ".thresholdRange.min: expected a number, found \"1\""),
        METRIC("'name':'a','thresholdRange':{'max':[]}",
               ".thresholdRange.max: expected a number, found an array"),
        METRIC("'name':'a','thresholdRange':{'min':2,'max':1.5}",
               ".thresholdRange: expected min not above max, found min 2 and max 1.5"),
        {"{'spec':{'analysis':{'onMetricError':'pass'}}}",
         "spec.analysis.onMetricError: expected fail or hold, found \"pass\""},
        METRIC("'name':'a','noData':'wait'",
               ".noData: expected fail, hold or pass, found \"wait\""),
        METRIC("'name':'a','query':{}", ".query: expected a string, found an object"),
        METRIC("'name':'a','templateRef':{}", ".templateRef.name: required: expected a string"),
        METRIC("'name':'a','templateVariables':{'v':1}",
               ".templateVariables.v: expected a string, found 1"),
    };
    canary_testing_mistakes(cases, sizeof cases / sizeof cases[0]);
}

CASE(test_mistakes_in_webhooks)
{
    static const struct canary_testing_mistake cases[] = {
        HOOK("'url':'http://x'", ".name: required: expected a string"),
        HOOK("'name':'b'", ".url: required: expected a string"),
        HOOK("'name':'b','url':'loadtester.test'",
             ".url: expected a URL such as http://flagger-loadtester.test/, "
             "found \"loadtester.test\""),
        HOOK(
            "'name':'b','url':'http:///gate'",
            ".url: expected a URL such as http://flagger-loadtester.test/, found \"http:///gate\""),
        HOOK("'name':'b','url':'ftp://x/'",
             ".url: expected a URL such as http://flagger-loadtester.test/, found \"ftp://x/\""),
        HOOK("'name':'b','url':'http://x','type':'before'",
             ".type: expected one of rollout, pre-rollout, post-rollout, confirm-rollout, "
             "confirm-promotion, confirm-traffic-increase, rollback, event, found \"before\""),
        HOOK("'name':'b','url':'http://x','headersFrom':{}",
             ".headersFrom: expected an array, found an object"),
        HOOK("'name':'b','url':'http://x','headersFrom':['a']",
             ".headersFrom[0]: expected an object, found \"a\""),
        HOOK("'name':'b','url':'http://x','headersFrom':[{}]",
             ".headersFrom[0].secretRef: required: expected an object"),
        HOOK("'name':'b','url':'http://x','headersFrom':[{'secretRef':{}}]",
             ".headersFrom[0].secretRef.name: required: expected a string"),
        HOOK("'name':'b','url':'http://"
             "x','headersFrom':[{'secretRef':{'name':'a','namespace':'b'}}]",
             ".headersFrom[0].secretRef.namespace: expected none, the Secret is one of the "
             "Canary's namespace"),
        HOOK("'name':'b','url':'http://x','headersFrom':[1,2,3,4,5,6,7,8,9]",
             ".headersFrom: expected at most 8 Secrets, found 9"),
        HOOK("'name':'b','url':'https://x','caSecretRef':'a'",
             ".caSecretRef: expected an object, found \"a\""),
        HOOK("'name':'b','url':'https://x','caSecretRef':{'key':'ca.crt'}",
             ".caSecretRef.name: required: expected a string"),
        HOOK("'name':'b','url':'https://x','caSecretRef':{'name':'a','namespace':'b'}",
             ".caSecretRef.namespace: expected none, the Secret is one of the Canary's namespace"),
        HOOK("'name':'b','url':'https://x','disableTLS':true,'caSecretRef':{'name':'a'}",
             ".caSecretRef: expected without disableTLS, which believes everybody"),
        HOOK("'name':'b','url':'http://x','caSecretRef':{'name':'a'}",
             ".caSecretRef: expected with a url that begins with https://"),
        HOOK("'name':'b','url':'http://x','type':'rollback','deadline':'1h'",
             ".deadline: expected on a webhook of type confirm-rollout, confirm-traffic-increase "
             "or confirm-promotion only, found on one of type rollback"),
        HOOK("'name':'b','url':'http://x','onDeadline':'approve'",
             ".onDeadline: expected on a webhook of type confirm-rollout, confirm-traffic-increase "
             "or confirm-promotion only, found on one of type rollout"),
        HOOK("'name':'b','url':'http://x','type':'confirm-rollout','onDeadline':'approve'",
             ".onDeadline: expected with a deadline, found none"),
        HOOK("'name':'b','url':'http://x','type':'confirm-rollout','deadline':'0s'",
             ".deadline: expected a duration above 0s, found \"0s\""),
        HOOK("'name':'b','url':'http://"
             "x','type':'confirm-rollout','deadline':'1h','onDeadline':'wait'",
             ".onDeadline: expected approve or rollback, found \"wait\""),
        HOOK("'name':'b','url':'http://x','timeout':'0s'",
             ".timeout: expected a duration above 0s, found \"0s\""),
        HOOK("'name':'b','url':'http://x','retries':-1",
             ".retries: expected a whole number from 0 to 2147483647, found -1"),
        HOOK("'name':'b','url':'http://x','muteAlert':'y'",
             ".muteAlert: expected true or false, found \"y\""),
        HOOK("'name':'b','url':'http://x','disableTLS':1",
             ".disableTLS: expected true or false, found 1"),
        HOOK("'name':'b','url':'http://x','metadata':{'logCmdOutput':true}",
             ".metadata.logCmdOutput: expected a string, found true"),
    };
    canary_testing_mistakes(cases, sizeof cases / sizeof cases[0]);
}

CASE(test_mistakes_in_alerts)
{
    static const struct canary_testing_mistake cases[] = {
        ALERT("'providerRef':{'name':'p'}", ".name: required: expected a string"),
        ALERT("'name':'a'", ".providerRef: required: expected an object"),
        ALERT("'name':'a','providerRef':{}", ".providerRef.name: required: expected a string"),
        ALERT("'name':'a','providerRef':{'name':'p'},'severity':'fatal'",
              ".severity: expected one of info, warn, error, found \"fatal\""),
    };
    canary_testing_mistakes(cases, sizeof cases / sizeof cases[0]);
}

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
    assert_int_equal(view(arena, "{}").on_no_requests, POLICY_HOLD);
    assert_int_equal(view(arena, "{'onNoRequests':'pass'}").on_no_requests, POLICY_PASS);
    assert_int_equal(view(arena, "{'onNoRequests':'fail'}").on_no_requests, POLICY_FAIL);
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

CASE(test_mistakes_in_metrics)
{
    canary_testing_mistakes(arena, "metrics");
}

CASE(test_mistakes_in_webhooks)
{
    canary_testing_mistakes(arena, "webhooks");
}

CASE(test_mistakes_in_alerts)
{
    canary_testing_mistakes(arena, "alerts");
}

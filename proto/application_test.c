#include "proto/application.h"

#include "test/rows.h"
#include "test/unit.h"

/* The fields of the design document as it prints them. */
static const char document[] =
    "{'apiVersion':'apps.kurator.dev/v1alpha1','kind':'Application','metadata':{'name':'shop',"
    "'namespace':'default'},'spec':{'destination':{'fleet':'quickstart'},'syncPolicies':[{'rollout'"
    ":{'testLoader':{'testLoader':true,'removeOnDelete':true},'trafficRoutingProvider':'istio',"
    "'workload':{'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo','namespace':'test'},"
    "'serviceName':'podinfo','port':9898,'primary':{'labels':{'a':'b'}},'preview':{'annotations':"
    "{'c':'d'}},'rolloutPolicy':{'trafficRouting':{'timeoutSeconds':50,'gateways':['istio-system/"
    "public'],'hosts':['app.example.com'],'retries':{'attempts':3,'perTryTimeout':'2s','retryOn':"
    "'gateway-error,connect-failure,refused-stream'},'headers':{'request':{'add':{'x-some-header':"
    "'value'}}},'corsPolicy':{'allowHeaders':['x-some-header'],'allowMethods':['GET'],"
    "'allowOrigin':['example.com'],'maxAge':'24h'},'canaryStrategy':{'maxWeight':50,'stepWeight':"
    "10,'stepWeightPromotion':20},'match':[{'headers':{'cookie':{'regex':'^(.*?;)?(type=insider)(;."
    "*)?$'}}}]},'trafficAnalysis':{'checkIntervalSeconds':90,'checkFailedTimes':2,'metrics':[{"
    "'name':'request-success-rate','intervalSeconds':30,'thresholdRange':{'min':'99'}},{'name':"
    "'latency','thresholdRange':{'max':500.5},'customMetric':{'provider':{'type':'prometheus',"
    "'address':'http://prometheus:9090'},'query':'up'}}],'webhooks':[{'timeoutSeconds':15,"
    "'commend':['hey -z 1m -q 10 -c 2 http://podinfo-canary.test:9898/']},{'command':['a','b']}],"
    "'sessionAffinity':{'cookieName':'flagger','maxAge':21600}},'rolloutTimeoutSeconds':300,"
    "'skipTrafficAnalysis':false,'revertOnDeletion':true,'suspend':true}}}]}}";

static const char smallest[] =
    "{'metadata':{'name':'a','namespace':'apps'},'spec':{'syncPolicies':[{'rollout':{'workload':"
    "{'name':'w'},'serviceName':'s','port':80,'rolloutPolicy':{'trafficRouting':{'analysisTimes':3}"
    "}}}]}}";

static struct application view(struct arena *arena, const char *text)
{
    struct application out;
    struct errinfo ei;
    if (application_view(arena, rows_json(arena, text), &out, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return out;
}

/* The smallest Application with a merge patch for its rollout. */
static enum err patched_by(struct arena *arena, struct json_object *patch, struct application *out,
                           struct errinfo *ei)
{
    struct json_object *root = rows_json(arena, smallest);
    struct json_object *policy = json_elem(json_at(root, "spec", "syncPolicies", NULL), 0);
    json_set(policy, "rollout", json_merge(arena, json_at(policy, "rollout", NULL), patch));
    return application_view(arena, root, out, ei);
}

static const struct rollout *rollout(struct arena *arena, const char *patch)
{
    struct application *out = ARENA_NEW(arena, struct application);
    struct errinfo ei;
    if (patched_by(arena, rows_json(arena, patch), out, &ei) != ERR_OK)
        fail_msg("%s: %s", patch, ei.text);
    return out->policies[0].rollout;
}

CASE(test_the_document)
{
    struct application app = view(arena, document);
    assert_int_equal(app.n_policies, 1);
    assert_string_equal(app.policies[0].name, "shop-0");
    assert_string_equal(app.policies[0].destination.fleet, "quickstart");
    assert_null(app.policies[0].destination.labels);
    const struct rollout *r = app.policies[0].rollout;
    assert_string_equal(r->provider->name, "istio");
    assert_string_equal(r->workload.namespace_, "test");
    assert_int_equal(r->port, 9898);
    assert_true(r->loader && !r->keep_loader && r->suspend && !r->skip_analysis);
    assert_int_equal(r->revert, REVERT_YES);
    assert_int_equal(r->deadline_s, 300);
    assert_string_equal(json_str_at(r->primary, "labels", "a", NULL), "b");
    assert_string_equal(json_str_at(r->preview, "annotations", "c", NULL), "d");
}

CASE(test_the_routing_of_the_document)
{
    const struct rollout *r = view(arena, document).policies[0].rollout;
    assert_int_equal(r->routing.timeout_s, 50);
    assert_int_equal(json_len(r->routing.gateways), 1);
    assert_int_equal(json_len(r->routing.hosts), 1);
    assert_int_equal(json_int_at(r->routing.retries, 0, "attempts", NULL), 3);
    assert_non_null(json_at(r->routing.headers, "request", "add", NULL));
    assert_string_equal(json_str_at(r->routing.cors_policy, "maxAge", NULL), "24h");
    assert_true(r->routing.weighted);
    assert_int_equal(r->routing.max_weight, 50);
    assert_int_equal(r->routing.step_weight, 10);
    assert_int_equal(r->routing.step_weight_promotion, 20);
    assert_null(r->routing.step_weights);
    assert_int_equal(json_len(r->routing.match), 1);
}

CASE(test_the_analysis_of_the_document)
{
    const struct rollout_analysis *a = &view(arena, document).policies[0].rollout->analysis;
    assert_int_equal(a->interval_s, 90);
    assert_int_equal(a->threshold, 2);
    assert_int_equal(a->n_metrics, 2);
    assert_true(rollout_metric_is_builtin(&a->metrics[0]) && a->metrics[0].custom == NULL);
    assert_true(a->metrics[0].has_min && a->metrics[0].min == 99 && !a->metrics[0].has_max);
    assert_int_equal(a->metrics[0].interval_s, 30);
    assert_true(a->metrics[1].has_max && a->metrics[1].max == 500.5 && !a->metrics[1].has_min);
    assert_int_equal(a->metrics[1].interval_s, 60);
    assert_string_equal(json_str_at(a->metrics[1].custom, "query", NULL), "up");
    assert_int_equal(a->n_commands, 3);
    assert_int_equal(a->commands[0].timeout_s, 15);
    assert_string_equal(a->commands[0].text,
                        "hey -z 1m -q 10 -c 2 http://podinfo-canary.test:9898/");
    assert_int_equal(a->commands[2].timeout_s, 60);
    assert_string_equal(a->commands[2].text, "b");
    assert_string_equal(a->cookie_name, "flagger");
    assert_int_equal(a->cookie_max_age_s, 21600);
}

CASE(test_defaults)
{
    const struct rollout *r = rollout(arena, "{}");
    assert_string_equal(r->provider->name, "istio");
    assert_string_equal(r->workload.api_version, "apps/v1");
    assert_string_equal(r->workload.kind, "Deployment");
    assert_string_equal(r->workload.namespace_, "apps");
    assert_false(r->loader || r->keep_loader || r->suspend || r->routing.weighted);
    assert_int_equal(r->revert, REVERT_UNSAID);
    assert_int_equal(r->routing.iterations, 3);
    assert_int_equal(r->analysis.interval_s, 60);
    assert_int_equal(r->analysis.threshold, 0);
    assert_int_equal(r->analysis.n_commands, 0);
}

CASE(test_both_spellings)
{
    assert_true(rollout(arena, "{'testLoader':true}")->loader);
    assert_false(rollout(arena, "{'testLoader':true}")->keep_loader);
    assert_false(rollout(arena, "{'testLoader':false}")->loader);
    assert_true(rollout(arena, "{'testLoader':{}}")->loader);
    assert_true(rollout(arena, "{'testLoader':{}}")->keep_loader);
    assert_false(rollout(arena, "{'testLoader':{'testLoader':false}}")->loader);
    const struct rollout_analysis *one =
        &rollout(arena, "{'rolloutPolicy':{'trafficAnalysis':{'webhooks':{'timeoutSeconds':5,"
                        "'command':['a','b']}}}}")
             ->analysis;
    assert_int_equal(one->n_commands, 2);
    assert_int_equal(one->commands[1].timeout_s, 5);
    const struct rollout_analysis *bounds =
        &rollout(arena, "{'rolloutPolicy':{'trafficAnalysis':{'metrics':[{'name':'a',"
                        "'thresholdRange':{'min':'-1.5e1','max':''}}]}}}")
             ->analysis;
    assert_true(bounds->metrics[0].min == -15 && !bounds->metrics[0].has_max);
    assert_int_equal(rollout(arena, "{'rolloutPolicy':{'revertOnDeletion':false}}")->revert,
                     REVERT_NO);
}

CASE(test_destinations)
{
    struct application app =
        view(arena, "{'metadata':{'name':'a'},'spec':{'destination':{'fleet':'f','clusterSelector':"
                    "{'matchLabels':{'env':'prod'}}},'syncPolicies':[{'name':'x'},{'destination':"
                    "{'fleet':'g'}}]}}");
    assert_string_equal(app.namespace_, "default");
    assert_string_equal(app.policies[0].name, "x");
    assert_string_equal(app.policies[0].destination.fleet, "f");
    assert_string_equal(json_str_at(app.policies[0].destination.labels, "env", NULL), "prod");
    assert_string_equal(app.policies[1].name, "a-1");
    assert_string_equal(app.policies[1].destination.fleet, "g");
    assert_null(app.policies[1].destination.labels);
    assert_null(app.policies[1].rollout);
    assert_null(view(arena, smallest).policies[0].destination.fleet);
}

CASE(test_mistakes)
{
    struct json_object *file = json_elem(rows_read(arena, "proto/mistakes.yaml"), 0);
    struct json_object *rows = json_at(file, "application", NULL);

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *patch = json_at(json_elem(rows, i), "patch", NULL);
        struct application out;
        struct errinfo ei = {0};
        if (patched_by(arena, patch, &out, &ei) != ERR_INVALID)
            fail_msg("%s: not refused", json_text(arena, patch));
        assert_string_equal(ei.text, json_str_at(json_elem(rows, i), "says", NULL));
    }
}

static const struct {
    const char *text, *message;
} other_mistakes[] = {
    {"[]", "expected an Application object, found []"},
    {"{'apiVersion':'argoproj.io/v1alpha1','kind':'Application','metadata':{'name':'a'},'spec':{}}",
     "apiVersion: expected apps.kurator.dev/v1alpha1, found \"argoproj.io/v1alpha1\""},
    {"{'metadata':{'name':'a'},'spec':{}}", "spec.syncPolicies: required: expected an array"},
    {"{'metadata':{'name':'a'},'spec':{'syncPolicies':[{'destination':{}}]}}",
     "spec.syncPolicies[0].destination.fleet: required: expected a string"},
    {"{'metadata':{'name':'a'},'spec':{'syncPolicies':[{'name':'b'},{'name':'b'}]}}",
     "spec.syncPolicies[1].name: expected another name than that of syncPolicies[0], found \"b\""},
};

CASE(test_mistakes_around_it)
{
    EACH_ROW (row, other_mistakes) {
        struct application out;
        struct errinfo ei = {0};
        assert_int_equal(application_view(arena, rows_json(arena, row->text), &out, &ei),
                         ERR_INVALID);
        assert_string_equal(ei.text, row->message);
    }
}

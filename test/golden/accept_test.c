/* What is refused, suspended or left alone: nothing is touched, and it is told once. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

static void test_suspend(void **state)
{
    struct world *w = world_new("{'spec':{'suspend':true}}");

    expect_tick(w, "status [Suspended=True]\n"
                   "event Normal : skipping canary run as object is suspended\n"
                   "again never\n");
    expect_tick(w, "again never\n");
    world_patch_canary(w, "{'spec':{'suspend':false}}");
    expect_tick(w, "create services test/podinfo-canary -> app=podinfo\n"
                   "create services test/podinfo-primary -> app=podinfo-primary\n"
                   "create deployments test/podinfo-primary\n"
                   "status phase=Initializing [Promoted=Unknown]\n"
                   "event Normal Initializing: all the metrics providers are available!\n"
                   "again now\n");
    world_free(w);
}

static void test_deleting(void **state)
{
    struct world *w = world_new("{'metadata':{'deletionTimestamp':'2023-11-14T22:13:20Z',"
                                "'finalizers':['another']}}");

    expect_tick(w, "again never\n");
    world_free(w);
}

#define TEST(match)                                                                                \
    "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':2,'match':" match "}}}"

static void test_refusals(void **state)
{
    static const struct {
        const char *patch, *sentence;
    } cases[] = {
        {"{'spec':{'provider':null}}",
         "--mesh-provider: \"istio\" is not served by this version, "
         "which has gatewayapi:v1*, gatewayapi:v1beta1*, knative, kubernetes"},
        {"{'spec':{'provider':'linkerd'}}",
         "spec.provider: \"linkerd\" is not served by this version, which has gatewayapi:v1*, "
         "gatewayapi:v1beta1*, knative, kubernetes"},
        {"{'spec':{'targetRef':{'kind':'StatefulSet'}}}",
         "spec.targetRef.kind: a StatefulSet cannot be released beside itself: its pods have names "
         "and volumes of their own, which a second set would not share, so that the canary would "
         "serve other data than the primary; release its stateless callers with a Canary, and the "
         "set itself by updateStrategy.rollingUpdate.partition"},
        {"{'spec':{'targetRef':{'kind':'DaemonSet'},'autoscalerRef':{'apiVersion':"
         "'autoscaling/v2','kind':'HorizontalPodAutoscaler','name':'podinfo'}}}",
         "spec.autoscalerRef: a DaemonSet has no replicas to scale; remove it"},
        {"{'spec':{'targetRef':{'kind':'Rollout'}}}",
         "spec.targetRef: Rollout of apps/v1 is not served by this version, which has DaemonSet, "
         "Deployment, Service of serving.knative.dev, Service"},
        {"{'spec':{'targetRef':{'apiVersion':'x.io/v1','kind':'Service'}}}",
         "spec.targetRef: Service of x.io/v1 is not served by this version, which has DaemonSet, "
         "Deployment, Service of serving.knative.dev, Service"},
        {"{'spec':{'targetRef':{'apiVersion':'serving.knative.dev/v1','kind':'Service'}}}",
         "spec.provider: a target Service of serving.knative.dev is released with provider "
         "knative, "
         "found \"gatewayapi:v1\""},
        {"{'spec':{'provider':'knative'}}",
         "spec.targetRef: provider knative releases a Service of serving.knative.dev/v1, found "
         "Deployment of apps/v1"},
        {"{'spec':{'provider':'knative','targetRef':{'apiVersion':'v1','kind':'Service'}}}",
         "spec.targetRef: provider knative releases a Service of serving.knative.dev/v1, found "
         "Service of v1"},
        {"{'spec':{'provider':'knative','targetRef':{'apiVersion':'serving.knative.dev/v1','kind':"
         "'Service'},'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':"
         "'HorizontalPodAutoscaler','name':'podinfo'}}}",
         "spec.autoscalerRef: a Service has no replicas to scale; remove it"},
        {"{'spec':{'targetRef':{'apiVersion':'core/v1','kind':'Service'},'service':{'name':'x'}}}",
         "spec.service.name: the Services of a Service target are podinfo, podinfo-primary and "
         "podinfo-canary; remove it"},
        {"{'spec':{'autoscalerRef':{'apiVersion':'x/v1','kind':'Scaler','name':'x'}}}",
         "spec.autoscalerRef.kind: Scaler is not served by this version, which has "
         "HorizontalPodAutoscaler, ScaledObject"},
        {"{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':'ScaledObject',"
         "'name':'x'}}}",
         "spec.autoscalerRef.apiVersion: expected keda.sh/v1alpha1 for a ScaledObject, found "
         "\"autoscaling/v2\""},
        {"{'spec':{'provider':'kubernetes','analysis':{'mirror':true}}}",
         "spec.analysis.mirror: mirroring is not possible with provider kubernetes"},
        {"{'spec':{'provider':'kubernetes','analysis':{'sessionAffinity':{'cookieName':'x'}}}}",
         "spec.analysis.sessionAffinity: not possible with provider kubernetes"},
        {TEST("[{'headers':{'x':{'exact':'1'}}}],'mirror':true"),
         "spec.analysis.mirror: an A/B test routes its requests to the canary at once and has none "
         "to copy; leave out mirror or match"},
        {TEST("[{'headers':{'x':{'suffix':'1'}}}]"),
         "spec.analysis.match[0].headers.x: the Gateway API matches exact or regex only"},
        {TEST("[{'headers':{'x':{'regex':'('}}}]"),
         "spec.analysis.match[0].headers.x.regex: missing closing parenthesis at character 2, in "
         "\"(\""},
        {TEST("[{'headers':{'x':{'exact':'1'}}},{}]"),
         "spec.analysis.match[1]: expected headers or queryParams"},
        {TEST("[{'headers':{'x':{'exact':'1'}},'sourceLabels':{'app':'x'}}]"),
         "spec.analysis.match[0].sourceLabels: the Gateway API cannot match labels of the client"},
        {"{'spec':{'analysis':{'alerts':[{'name':'x','severity':'info','providerRef':{'name':'x'}}]"
         "}}}",
         "spec.analysis.alerts: AlertProviders are not served by this version"},
        {"{'spec':{'analysis':{'stepWeight':0,'maxWeight':null}}}",
         "spec.analysis: an analysis with no step checks nothing; set stepWeight (1 to 100), "
         "stepWeights or iterations"},
        {"{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':0}}}",
         "spec.analysis: an analysis with no step checks nothing; set stepWeight (1 to 100), "
         "stepWeights or iterations"},
        {"{'spec':{'analysis':null,'canaryAnalysis':{'interval':'1m','threshold':5}}}",
         "spec.canaryAnalysis: an analysis with no step checks nothing; set stepWeight (1 to 100), "
         "stepWeights or iterations"},
        {"{'spec':{'service':{'gatewayRefs':null}}}",
         "spec.service.gatewayRefs: must be specified when using Gateway API as a provider"},
        {"{'spec':{'service':{'match':[{'headers':{'x':{'prefix':'1'}}}]}}}",
         "spec.service.match[0].headers.x: the Gateway API matches exact or regex only"},
        {"{'spec':{'analysis':{'metrics':[{'name':'x','templateRef':{'name':'t','namespace':'other'"
         "}}]}}}",
         "spec.analysis.metrics[0].templateRef.namespace: can't access MetricTemplate t.other, "
         "cross-namespace references are blocked"},
        {"{'spec':{'analysis':{'metrics':[{'name':'x','templateRef':{'name':'t'}}]}}}",
         "spec.analysis.metrics[0].templateRef: MetricTemplate t.test has provider datadog, which "
         "is not served by this version; it has prometheus"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = world_new(cases[i].patch);
        w->settings.no_cross_namespace_refs = true;
        world_put(w, "metrictemplates/t",
                  "{'metadata':{'name':'t'},'spec':{'provider':{'type':'datadog'}}}");
        expect_tick(w, arena_printf(w->arena,
                                    "status [Accepted=False]\n"
                                    "event Warning : %s\n"
                                    "again never\n",
                                    cases[i].sentence));
        expect_tick(w, "again never\n");
        world_free(w);
    }
}

/* What needs no step, or has one without saying so. */
static void test_no_step_is_needed(void **state)
{
    static const char *const patches[] = {
        "{'spec':{'skipAnalysis':true,'analysis':{'stepWeight':0,'maxWeight':null}}}",
        "{'spec':{'analysis':null}}",
        "{'spec':{'provider':'kubernetes','analysis':null,'canaryAnalysis':{'interval':'1m'}}}",
        "{'spec':{'provider':'kubernetes','analysis':{'stepWeight':0,'maxWeight':null}}}",
        "{'spec':{'analysis':null,'canaryAnalysis':{'stepWeight':5,'iterations':3}}}",
    };

    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        struct world *w = world_new(patches[i]);
        world_initialise(w);
        world_push(w, "podinfo:2");
        world_run(w);
        assert_string_equal(world_phase(w), "Succeeded");
        world_free(w);
    }
}

static void test_a_refusal_is_taken_back(void **state)
{
    struct world *w = world_new("{'spec':{'provider':'linkerd'}}");

    world_tick(w);
    world_patch_canary(w, "{'spec':{'provider':'gatewayapi:v1'}}");
    expect_tick(w, "create services test/podinfo-canary -> app=podinfo\n"
                   "create services test/podinfo-primary -> app=podinfo-primary\n"
                   "create deployments test/podinfo-primary\n"
                   "status phase=Initializing [Promoted=Unknown]\n"
                   "event Normal Initializing: all the metrics providers are available!\n"
                   "again now\n");
    world_free(w);
}

static void test_a_refusal_in_the_middle_guards(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    world_patch_canary(w, "{'spec':{'analysis':{'match':[{}]}}}");
    expect_tick(w, "status [Promoted=Unknown Accepted=False]\n"
                   "event Warning Progressing: spec.analysis.match[0]: expected headers or "
                   "queryParams\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "again interval, within 600 s, stepped\n");
    assert_string_equal(world_weights(w), "80/20");
    world_free(w);
}

static void test_unreadable_spec(void **state)
{
    struct world *w = world_new(NULL);
    struct json_object *patch = accept_refusal(w->arena, w->canary, "spec: bad", w->now_ms);

    assert_non_null(patch);
    w->canary = json_merge(w->arena, w->canary, patch);
    assert_null(accept_refusal(w->arena, w->canary, "spec: bad", w->now_ms));
    assert_non_null(accept_refusal(w->arena, w->canary, "spec: worse", w->now_ms));
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_suspend), cmocka_unit_test(test_deleting),
          cmocka_unit_test(test_refusals), cmocka_unit_test(test_no_step_is_needed),
          cmocka_unit_test(test_a_refusal_is_taken_back),
          cmocka_unit_test(test_a_refusal_in_the_middle_guards),
          cmocka_unit_test(test_unreadable_spec))

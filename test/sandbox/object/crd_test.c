/*
 * Our custom resource definitions, compiled and enforced as an API server does: what they accept,
 * and how they name what they refuse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>

#include "base/json.h"
#include "base/yaml.h"
#include "object/schema.h"
#include "object/try.h"

static const char manifests[] = "../shared/manifests";

static const struct {
    const char *kind, *path;
} definitions[] = {
    {"Canary", "proto/crd/canaries.yaml"},
    {"MetricTemplate", "proto/crd/metrictemplates.yaml"},
    {"AlertProvider", "proto/crd/alertproviders.yaml"},
};
enum { N_DEFINITIONS = sizeof definitions / sizeof definitions[0] };

static struct json_object *read_yaml(struct arena *arena, const char *path)
{
    struct json_object *docs;
    struct errinfo ei;
    if (yaml_parse_file(arena, path, 1024 * 1024, &docs, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return docs;
}

static struct schema *compile(struct arena *arena, const char *kind)
{
    for (size_t i = 0; i < N_DEFINITIONS; i++) {
        if (strcmp(definitions[i].kind, kind) != 0)
            continue;
        struct json_object *crd = json_elem(read_yaml(arena, definitions[i].path), 0);
        struct json_object *version = json_elem(json_at(crd, "spec", "versions", NULL), 0);
        struct schema *schema;
        struct errinfo ei;
        if (schema_compile(json_at(version, "schema", "openAPIV3Schema", NULL), &schema, &ei) !=
            ERR_OK)
            fail_msg("%s: %s", definitions[i].path, ei.text);
        return schema;
    }
    return NULL;
}

/* All that is wrong with obj, in one line; "" if it is accepted. A field that is not known counts
 * as wrong. */
static const char *judge(struct arena *arena, const char *kind, struct json_object *obj)
{
    struct schema *schema = compile(arena, kind);
    if (schema == NULL)
        return arena_printf(arena, "kind %s is not ours", kind);
    struct causes causes = {.arena = arena};
    struct schema_paths unknown = {0};
    schema_prune(schema, arena, obj, &unknown);
    for (size_t i = 0; i < unknown.count; i++)
        cause_add(&causes, CAUSE_INVALID, unknown.paths[i], "unknown field");
    schema_default(schema, obj);
    schema_validate(schema, obj, &causes);
    schema_free(schema);
    return cause_text(&causes);
}

static const char canary[] =
    "{'apiVersion':'flagger.app/"
    "v1beta1','kind':'Canary','metadata':{'name':'a'},'spec':{'targetRef':{'apiVersion':'apps/"
    "v1','kind':'Deployment','name':'a'},'service':{'port':80},'analysis':{'interval':'1m','"
    "threshold':5,'stepWeight':10}}}";
static const char metric_template[] =
    "{'apiVersion':'flagger.app/"
    "v1beta1','kind':'MetricTemplate','metadata':{'name':'a'},'spec':{'provider':{'type':'"
    "prometheus','address':'http://p'},'query':'up'}}";
static const char alert_provider[] = "{'apiVersion':'flagger.app/"
                                     "v1beta1','kind':'AlertProvider','metadata':{'name':'a'},'"
                                     "spec':{'type':'slack','address':'https://hooks/x'}}";

static const char *judge_patched(struct arena *arena, const char *base, const char *patch)
{
    struct json_object *obj = json_merge(arena, try_json(arena, base), try_json(arena, patch));
    return judge(arena, json_str_at(obj, "kind", NULL), obj);
}

#define SPEC(fields)     "{'spec':{" fields "}}"
#define ANALYSIS(fields) SPEC("'analysis':{" fields "}")
#define HOOK(fields)     ANALYSIS("'webhooks':[{'name':'a','url':'http://x/'," fields "}]")
#define METRIC(fields)   ANALYSIS("'metrics':[{'name':'a'," fields "}]")

static void test_accepted(void **state)
{
    static const struct {
        const char *base, *patch;
    } cases[] = {
        {canary, "{}"},
        {metric_template, "{}"},
        {alert_provider, "{}"},
        {canary, "{'apiVersion':'flagger.app/v1alpha3'}"},
        {canary, ANALYSIS("'stepWeight':10.0,'threshold':0")},
        {canary, ANALYSIS("'interval':'1h30m'")},
        {canary, ANALYSIS("'interval':'1.5m'")},
        {canary, ANALYSIS("'stepWeight':null,'stepWeights':[1,50,100]")},
        {canary, ANALYSIS("'stepWeight':null,'iterations':0")},
        {canary, ANALYSIS("'maxWeight':100,'mirrorWeight':0,'stepWeightPromotion':100")},
        {canary, SPEC("'analysis':null,'canaryAnalysis':{}")},
        {canary, SPEC("'analysis':null,'canaryAnalysis':{'iterations':3,'stepWeight':5}")},
        {canary, SPEC("'canaryAnalysis':{'threshold':1}")},
        {canary, SPEC("'service':null")},
        {canary, SPEC("'service':{'targetPort':'http'}")},
        {canary, SPEC("'service':{'targetPort':8080}")},
        {canary, SPEC("'provider':'smi:crossover'")},
        {canary, SPEC("'provider':'envoy:service'")},
        {canary, SPEC("'provider':'gloo:gloo-system'")},
        {canary, SPEC("'provider':'smi:v1alpha2:istio'")},
        {canary, SPEC("'provider':'supergloo:mesh.supergloo-system'")},
        {canary, HOOK("'type':''")},
        {canary, HOOK("'type':'confirm-traffic-increase','timeout':'90s','retries':3")},
        {canary, METRIC("'thresholdRange':{'min':0.5,'max':1}")},
        {canary, "{'status':{'phase':'','iterations':-1,'canaryWeight':0,'conditions':[{'type':'"
                 "Promoted','status':'True','reason':'Succeeded'}]}}"},
        {alert_provider, SPEC("'address':null,'secretRef':{'name':'s'}")},
        {metric_template, SPEC("'provider':{'headers':{'X-Scope':['a','b']}}")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *arena TRY_FREED = arena_new();
        const char *text = judge_patched(arena, cases[i].base, cases[i].patch);
        if (text[0] != '\0')
            fail_msg("%s: %s", cases[i].patch, text);
    }
}

struct mistake {
    const char *patch, *field, *text;
};

static void check_mistakes(const char *base, const struct mistake *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct arena *arena TRY_FREED = arena_new();
        const char *text = judge_patched(arena, base, cases[i].patch);
        if (strstr(text, cases[i].field) == NULL || strstr(text, cases[i].text) == NULL)
            fail_msg("%s: \"%s\", expected %s and \"%s\"", cases[i].patch, text, cases[i].field,
                     cases[i].text);
    }
}

static void test_mistakes_in_the_spec(void **state)
{
    static const struct mistake cases[] = {
        {SPEC("'provider':'istioo'"), "spec.provider", "\"istio\""},
        {SPEC("'provider':'supergloo:mesh'"), "spec.provider", "anyOf"},
        {SPEC("'metricsServer':1"), "spec.metricsServer", "string"},
        {SPEC("'progressDeadlineSeconds':-1"), "spec.progressDeadlineSeconds",
         "greater than or equal to 0"},
        {SPEC("'targetRef':null"), "spec.targetRef", "Required value"},
        {SPEC("'targetRef':{'kind':'StatefulSet'}"), "spec.targetRef.kind", "Deployment"},
        {SPEC("'targetRef':{'name':null}"), "spec.targetRef.name", "Required value"},
        {SPEC("'targetRef':{'apiVersion':null}"), "spec.targetRef.apiVersion", "Required value"},
        {SPEC("'autoscalerRef':{'apiVersion':'v','kind':'VPA','name':'a'}"),
         "spec.autoscalerRef.kind", "HorizontalPodAutoscaler"},
        {SPEC("'ingressRef':{'apiVersion':'v','kind':'Route','name':'a'}"), "spec.ingressRef.kind",
         "Ingress"},
        {SPEC("'routeRef':{'apiVersion':'v','kind':'Route','name':'a'}"), "spec.routeRef.kind",
         "ApisixRoute"},
        {SPEC("'upstreamRef':{'kind':'Upstream','name':'a'}"), "spec.upstreamRef.apiVersion",
         "Required value"},
        {SPEC("'service':{'port':null}"), "spec.service.port", "Required value"},
        {SPEC("'service':{'port':70000}"), "spec.service.port", "less than or equal to 65535"},
        {SPEC("'service':{'port':'http'}"), "spec.service.port", "integer"},
        {SPEC("'service':{'trafficDistribution':'Near'}"), "spec.service.trafficDistribution",
         "PreferClose"},
        {SPEC("'service':{'gatewayRefs':[{}]}"), "spec.service.gatewayRefs[0].name",
         "Required value"},
        {SPEC("'service':{'mirror':[{'backendRef':{}}]}"), "spec.service.mirror[0].backendRef.name",
         "Required value"},
        {SPEC("'service':{'match':[{'uri':{'exact':'/','prefix':'/'}}]}"),
         "spec.service.match[0].uri", "at most 1"},
        {SPEC("'service':{'apex':{'labels':{'a':1}}}"), "spec.service.apex.labels.a", "string"},
        {SPEC("'skipAnalysis':'no'"), "spec.skipAnalysis", "boolean"},
        {SPEC("'suspend':1"), "spec.suspend", "boolean"},
        {SPEC("'revertOnDeletion':''"), "spec.revertOnDeletion", "boolean"},
        {SPEC("'analysis':null"), "spec.analysis", "Required value"},
        {SPEC("'analysys':{}"), "spec.analysys", "unknown field"},
    };
    check_mistakes(canary, cases, sizeof cases / sizeof cases[0]);
}

static void test_mistakes_in_the_analysis(void **state)
{
    static const struct mistake cases[] = {
        {ANALYSIS("'interval':null"), "spec.analysis.interval", "Required value"},
        {ANALYSIS("'threshold':null"), "spec.analysis.threshold", "Required value"},
        {ANALYSIS("'stepWeight':null"), "spec.analysis", "oneOf"},
        {ANALYSIS("'iterations':3"), "spec.analysis", "oneOf"},
        {ANALYSIS("'interval':'5mfoo'"), "spec.analysis.interval", "5mfoo"},
        {ANALYSIS("'interval':'10'"), "spec.analysis.interval", "ns|us|ms|s|m|h"},
        {ANALYSIS("'threshold':-1"), "spec.analysis.threshold", "greater than or equal to 0"},
        {ANALYSIS("'stepWeight':null,'iterations':-1"), "spec.analysis.iterations",
         "greater than or equal to 0"},
        {ANALYSIS("'stepWeight':101"), "spec.analysis.stepWeight", "less than or equal to 100"},
        {ANALYSIS("'stepWeight':10.5"), "spec.analysis.stepWeight", "integer"},
        {ANALYSIS("'maxWeight':150"), "spec.analysis.maxWeight", "less than or equal to 100"},
        {ANALYSIS("'mirrorWeight':-1"), "spec.analysis.mirrorWeight", "greater than or equal to 0"},
        {ANALYSIS("'stepWeightPromotion':101"), "spec.analysis.stepWeightPromotion",
         "less than or equal to 100"},
        {ANALYSIS("'primaryReadyThreshold':101"), "spec.analysis.primaryReadyThreshold",
         "less than or equal to 100"},
        {ANALYSIS("'canaryReadyThreshold':-1"), "spec.analysis.canaryReadyThreshold",
         "greater than or equal to 0"},
        {ANALYSIS("'stepWeight':null,'stepWeights':[]"), "spec.analysis.stepWeights", "at least 1"},
        {ANALYSIS("'stepWeight':null,'stepWeights':[10,0]"), "spec.analysis.stepWeights[1]",
         "greater than or equal to 1"},
        {ANALYSIS("'match':[{'headers':{'x':{}}}]"), "spec.analysis.match[0].headers.x",
         "at least 1"},
        {ANALYSIS("'sessionAffinity':{}"), "spec.analysis.sessionAffinity.cookieName",
         "Required value"},
        {ANALYSIS("'sessionAffinity':{'cookieName':'a','sameSite':'no'}"),
         "spec.analysis.sessionAffinity.sameSite", "Strict"},
        {ANALYSIS("'metrics':[{}]"), "spec.analysis.metrics[0].name", "Required value"},
        {METRIC("'interval':'1x'"), "spec.analysis.metrics[0].interval", "1x"},
        {METRIC("'threshold':'9'"), "spec.analysis.metrics[0].threshold", "number"},
        {METRIC("'templateRef':{}"), "spec.analysis.metrics[0].templateRef.name", "Required value"},
        {METRIC("'templateVariables':{'a':1}"), "spec.analysis.metrics[0].templateVariables.a",
         "string"},
        {HOOK("'type':'before'"), "spec.analysis.webhooks[0].type", "confirm-rollout"},
        {ANALYSIS("'webhooks':[{'name':'a','url':'loadtester'}]"), "spec.analysis.webhooks[0].url",
         "loadtester"},
        {HOOK("'timeout':'5'"), "spec.analysis.webhooks[0].timeout", "ns|us|ms|s|m|h"},
        {HOOK("'retries':-1"), "spec.analysis.webhooks[0].retries", "greater than or equal to 0"},
        {HOOK("'metadata':{'a':true}"), "spec.analysis.webhooks[0].metadata.a", "string"},
        {ANALYSIS("'alerts':[{'name':'a'}]"), "spec.analysis.alerts[0].providerRef",
         "Required value"},
        {ANALYSIS("'alerts':[{'name':'a','severity':'x','providerRef':{'name':'p'}}]"),
         "spec.analysis.alerts[0].severity", "warn"},
    };
    check_mistakes(canary, cases, sizeof cases / sizeof cases[0]);
}

static void test_mistakes_in_the_others(void **state)
{
    static const struct mistake templates[] = {
        {SPEC("'query':null"), "spec.query", "Required value"},
        {SPEC("'provider':null"), "spec.provider", "Required value"},
        {SPEC("'provider':{'type':'graphit'}"), "spec.provider.type", "graphite"},
        {SPEC("'provider':{'headers':{'a':'b'}}"), "spec.provider.headers.a", "array"},
        {SPEC("'provider':{'secretRef':{}}"), "spec.provider.secretRef.name", "Required value"},
    };
    static const struct mistake providers[] = {
        {SPEC("'type':'irc'"), "spec.type", "slack"},
        {SPEC("'type':null"), "spec.type", "Required value"},
        {SPEC("'address':null"), "spec", "oneOf"},
        {SPEC("'secretRef':{'name':'a'}"), "spec", "oneOf"},
    };
    check_mistakes(metric_template, templates, sizeof templates / sizeof templates[0]);
    check_mistakes(alert_provider, providers, sizeof providers / sizeof providers[0]);
}

static void test_defaults(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *obj =
        json_merge(arena, try_json(arena, canary),
                   try_json(arena, "{'spec':{'service':{'gatewayRefs':[{'name':'g'}]},'analysis':{'"
                                   "sessionAffinity':{'cookieName':'c'}}}}"));
    assert_string_equal(judge(arena, "Canary", obj), "");
    struct json_object *ref = json_elem(json_at(obj, "spec", "service", "gatewayRefs", NULL), 0);
    assert_string_equal(json_str_at(ref, "group", NULL), "gateway.networking.k8s.io");
    assert_string_equal(json_str_at(ref, "kind", NULL), "Gateway");
    assert_int_equal(json_int_at(obj, 0, "spec", "analysis", "sessionAffinity", "maxAge", NULL),
                     86400);
}

/* One of them, an AlertProvider with both an address and a Secret, is refused by its own schema
 * too. */
static void judge_file(const char *path, int *accepted, int *refused)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *docs = read_yaml(arena, path);
    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *obj = json_elem(docs, i);
        const char *kind = json_str_at(obj, "kind", NULL);
        const char *text = judge(arena, kind, obj);
        if (text[0] == '\0')
            (*accepted)++;
        else if (strcmp(kind, "AlertProvider") == 0)
            (*refused)++;
        else
            fail_msg("%s: document %zu: %s", path, i + 1, text);
    }
}

static void test_published_manifests(void **state)
{
    DIR *dir = opendir(manifests);
    if (dir == NULL)
        skip();
    int accepted = 0, refused = 0;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        char path[512];
        size_t len = strlen(entry->d_name);
        if (len < 5 || strcmp(entry->d_name + len - 5, ".yaml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", manifests, entry->d_name);
        judge_file(path, &accepted, &refused);
    }
    closedir(dir);
    assert_int_equal(accepted, 92);
    assert_int_equal(refused, 1);
}

UNIT_MAIN(cmocka_unit_test(test_accepted), cmocka_unit_test(test_mistakes_in_the_spec),
          cmocka_unit_test(test_mistakes_in_the_analysis),
          cmocka_unit_test(test_mistakes_in_the_others), cmocka_unit_test(test_defaults),
          cmocka_unit_test(test_published_manifests))

/* The scenarios, one row each. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "scenario.h"

static const char base_canary[] =
    "{'apiVersion':'flagger.app/v1beta1','kind':'Canary','metadata':{'name':'podinfo',"
    "'namespace':'test','uid':'c-1','generation':1},'spec':{"
    "'provider':'gatewayapi:v1',"
    "'targetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'},"
    "'service':{'port':9898,'gatewayRefs':[{'name':'gateway','namespace':'infra'}]},"
    "'analysis':{'interval':'1m','threshold':2,'stepWeight':50,'maxWeight':50,'metrics':["
    "{'name':'request-success-rate','thresholdRange':{'min':99},'interval':'1m'}]}}}";

#define HOOK(name)     "{'name':'" name "','type':'" name "','url':'http://x'}"
#define AND_HOOK(name) "," HOOK(name)
#define BLUE_GREEN     "'stepWeight':null,'maxWeight':null,'iterations':1"
#define LIMITED(name, action)                                                                      \
    "{'name':'" name "','type':'" name "','url':'http://x','deadline':'30m','onDeadline':'" action \
    "'}"
#define AB_TEST                                                                                    \
    "'stepWeight':null,'maxWeight':null,'iterations':2,'match':[{'headers':{'x-canary':{'exact':"  \
    "'insider'}}}]"
#define GUARDS                                                                                     \
    "'webhooks':[" HOOK("confirm-promotion") AND_HOOK("confirm-traffic-increase")                  \
        AND_HOOK("rollback") "]"
#define SERVICE "'targetRef':{'apiVersion':'v1','kind':'Service'}"
#define KNATIVE                                                                                    \
    "'provider':'knative','targetRef':{'apiVersion':'serving.knative.dev/v1','kind':'Service'}"
#define REVISION(n)                                                                                \
    {                                                                                              \
        "revisions/podinfo-" #n, "{'apiVersion':'serving.knative.dev/v1','kind':'Revision',"       \
                                 "'metadata':{'name':'podinfo-" #n "','namespace':'test'},"        \
                                 "'status':{'conditions':[{'type':'Ready','status':'True'}]}}"     \
    }
#define HPA_REF "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','name':'podinfo'}"
#define HPA                                                                                        \
    "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'name':"          \
    "'podinfo','namespace':'test'},'spec':{'minReplicas':1,'maxReplicas':2,'scaleTargetRef':{"     \
    "'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'}}}"
#define CONFIG                                                                                     \
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings','namespace':'test'},"     \
    "'data':{'color':'red'}}"
#define OTHER                                                                                      \
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'other','namespace':'test',"   \
    "'uid':'d-2','generation':1,'labels':{'app':'other'}},'spec':{'replicas':1,'selector':{"       \
    "'matchLabels':{'app':'other'}},'template':{'metadata':{'labels':{'app':'other'}},'spec':{"    \
    "'containers':[{'name':'podinfo','image':'podinfo:1'}]}}}}"
#define OLD_SERVICE                                                                                \
    "{'apiVersion':'v1','kind':'Service','metadata':{'name':'old','namespace':'test'},'spec':{"    \
    "'selector':{'app':'podinfo'}}}"
/* Another Canary. Of the same second, the one with the smaller uid is the older. */
#define RIVAL(target, status)                                                                      \
    "{'apiVersion':'flagger.app/v1beta1','kind':'Canary','metadata':{'name':'rival','namespace':"  \
    "'test','uid':'c-2','generation':1},'spec':{'targetRef':{'apiVersion':'apps/v1','kind':"       \
    "'Deployment','name':'" target "'},'service':{'port':9898}}" status "}"
#define WITH_CONFIG                                                                                \
    "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{'name':'settings'}}]}}}}"
#define ROUTE(primary, canary)                                                                     \
    "{'spec':{'rules':[{'matches':[{'path':{'type':'PathPrefix','value':'/'}}],'backendRefs':["    \
    "{'group':'','kind':'Service','name':'podinfo-primary','port':9898,'weight':" #primary "},"    \
    "{'group':'','kind':'Service','name':'podinfo-canary','port':9898,'weight':" #canary "}]}]}}"
enum { FAILURES = WORLD_CANARY_FAILS | WORLD_PRIMARY_FAILS };

/* A row; what all rows have stands first. */
#define SCENARIO(name_, ...)                                                                       \
    {                                                                                              \
        .name = (name_), __VA_ARGS__                                                               \
    }

const struct scenario scenarios[] = {
    SCENARIO(
        "initialise", .revisions = 2, .limit = 50000,
        .world = FAILURES | WORLD_GATEWAY_LAGS | FROM_SCRATCH | RACES,
        .objects = {{"services/podinfo",
                     "{'apiVersion':'v1','kind':'Service','metadata':{'name':'podinfo','namespace':"
                     "'test'},'spec':{'selector':{'app':'podinfo'},'ports':[{'name':'http',"
                     "'protocol':'TCP','port':9898,'targetPort':9898}]}}"}}),
    SCENARIO("canary", .revisions = 3, .world = WORLD_CANARY_FAILS | RACES),
    SCENARIO("canary and failing primary", .revisions = 2, .world = FAILURES,
             .limit = 50000), /* there is an end, but far away */
    SCENARIO("canary in steps",
             .canary =
                 "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'stepWeights':[10,100],"
                 "'stepWeightPromotion':50}}}",
             .revisions = 2, .limit = 50000, .world = FAILURES),
    SCENARIO("canary on a slow gateway", .revisions = 2,
             .world = WORLD_CANARY_FAILS | WORLD_GATEWAY_LAGS | RACES),
    SCENARIO("gates",
             .canary = "{'spec':{'analysis':{'webhooks':[" HOOK("confirm-rollout")
                 AND_HOOK("confirm-traffic-increase") AND_HOOK("confirm-promotion") "]}}}",
             .revisions = 2, .world = WORLD_CANARY_FAILS | RACES),
    SCENARIO("hooks",
             .canary = "{'spec':{'analysis':{'webhooks':[" HOOK("pre-rollout") AND_HOOK("rollout")
                 AND_HOOK("rollback") AND_HOOK("confirm-rollout") "]}}}",
             .revisions = 2, .world = WORLD_CANARY_FAILS | RACES),
    SCENARIO("blue/green", .canary = "{'spec':{'analysis':{" BLUE_GREEN "}}}", .revisions = 2,
             .limit = 50000, .world = FAILURES, .passes = 2),
    SCENARIO("blue/green on Services",
             .canary = "{'spec':{'provider':'kubernetes','analysis':{" BLUE_GREEN "}}}",
             .revisions = 2, .limit = 50000, .world = FAILURES | RACES, .passes = 2),
    SCENARIO("what the spec no longer says", .canary = "{'spec':{'autoscalerRef':" HPA_REF "}}",
             .revisions = 1,
             .deeds = {{"somebody labels the Services", "canaries/podinfo",
                        "{'spec':{'service':{'apex':{'labels':{'team':'a'}}}}}"},
                       {"somebody takes the labels back", "canaries/podinfo",
                        "{'spec':{'service':{'apex':null}}}"},
                       {"somebody takes the autoscaler out", "canaries/podinfo",
                        "{'spec':{'autoscalerRef':null}}"}},
             .objects = {{"horizontalpodautoscalers/podinfo", HPA}}),
    SCENARIO("skip the analysis", .revisions = 2, .world = WORLD_CANARY_FAILS,
             .deeds = {{"somebody skips the analysis", "canaries/podinfo",
                        "{'spec':{'skipAnalysis':true}}"},
                       {"somebody wants the analysis", "canaries/podinfo",
                        "{'spec':{'skipAnalysis':false}}"}}),
    SCENARIO("A/B test", .canary = "{'spec':{'analysis':{" AB_TEST "}}}", .revisions = 2,
             .limit = 50000, .world = FAILURES, .passes = 2),
    SCENARIO("mirror", .canary = "{'spec':{'analysis':{'mirror':true}}}", .revisions = 2,
             .world = WORLD_CANARY_FAILS | RACES),
    SCENARIO("blue/green with mirror",
             .canary = "{'spec':{'analysis':{" BLUE_GREEN ",'mirror':true}}}", .revisions = 2,
             .world = WORLD_CANARY_FAILS, .passes = 2),
    SCENARIO("session affinity",
             .canary = "{'spec':{'analysis':{'sessionAffinity':{'cookieName':'flagger-cookie'}}}}",
             .revisions = 2, .world = WORLD_CANARY_FAILS,
             .limit = 25000), /* each release has a cookie of its own */
    SCENARIO("DaemonSet", .canary = "{'spec':{'targetRef':{'kind':'DaemonSet'}}}",
             .kind = "DaemonSet", .revisions = 2, .limit = 30000,
             .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES),
    SCENARIO("Service", .canary = "{'spec':{" SERVICE "}}", .kind = "Service", .revisions = 3,
             .world = RACES),
    SCENARIO("Service on a slow gateway",
             .canary = "{'spec':{" SERVICE ",'analysis':{'webhooks':[" HOOK("rollback") "]}}}",
             .kind = "Service", .revisions = 2, .world = WORLD_GATEWAY_LAGS | RACES),
    SCENARIO("Service, blue/green", .canary = "{'spec':{" SERVICE ",'analysis':{" BLUE_GREEN "}}}",
             .kind = "Service", .revisions = 2, .world = RACES, .passes = 2),
    SCENARIO("deletion with a Service", .canary = "{'spec':{" SERVICE "}}", .kind = "Service",
             .revisions = 2, .world = WORLD_TIME_PASSES,
             .deeds = {{"somebody deletes the Canary", "canaries/podinfo", NULL}}),
    SCENARIO("Knative", .canary = "{'spec':{" KNATIVE "}}", .kind = "Knative", .revisions = 3,
             .world = WORLD_CANARY_FAILS | WORLD_GATEWAY_LAGS,
             .limit = 40000, /* there is an end, but far away */
             .objects = {REVISION(1), REVISION(2), REVISION(3)}),
    SCENARIO("Knative with races",
             .canary = "{'spec':{" KNATIVE ",'analysis':{'webhooks':[" HOOK("rollback")
                 AND_HOOK("confirm-promotion") "]}}}",
             .kind = "Knative", .revisions = 2, .limit = 50000,
             .world = WORLD_CANARY_FAILS | WORLD_GATEWAY_LAGS | RACES,
             .objects = {REVISION(1), REVISION(2)}),
    SCENARIO("Knative, blue/green", .canary = "{'spec':{" KNATIVE ",'analysis':{" BLUE_GREEN "}}}",
             .kind = "Knative", .revisions = 2, .limit = 50000,
             .world = WORLD_CANARY_FAILS | WORLD_GATEWAY_LAGS, .passes = 2,
             .objects = {REVISION(1), REVISION(2)}),
    SCENARIO("initialise Knative", .canary = "{'spec':{" KNATIVE "}}", .kind = "Knative",
             .revisions = 2, .limit = 50000,
             .world = WORLD_CANARY_FAILS | WORLD_GATEWAY_LAGS | FROM_SCRATCH | RACES,
             .objects = {REVISION(1), REVISION(2)}),
    SCENARIO("deletion with Knative", .canary = "{'spec':{" KNATIVE "}}", .kind = "Knative",
             .revisions = 2, .world = WORLD_CANARY_FAILS | WORLD_GATEWAY_LAGS | WORLD_TIME_PASSES,
             .limit = 40000, /* there is an end, but far away */
             .deeds = {{"somebody deletes the Canary", "canaries/podinfo", NULL}},
             .objects = {REVISION(1), REVISION(2)}),
    SCENARIO("autoscaler", .canary = "{'spec':{'autoscalerRef':" HPA_REF "}}", .revisions = 2,
             .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES,
             .limit = 25000, /* there is an end, but far away */
             .deeds = {{"the primary's autoscaler takes a pod away", "deployments/podinfo-primary",
                        "{'spec':{'replicas':1}}"}},
             .objects = {{"horizontalpodautoscalers/podinfo", HPA}}),
    SCENARIO(
        "configs", .revisions = 2, .limit = 50000, .world = WORLD_CANARY_FAILS,
        .deeds = {{"the config becomes blue", "configmaps/settings", "{'data':{'color':'blue'}}"},
                  {"the config becomes red", "configmaps/settings", "{'data':{'color':'red'}}"}},
        .objects = {{"configmaps/settings", CONFIG}, {"deployments/podinfo", WITH_CONFIG}}),
    SCENARIO("deletion", .revisions = 2, .limit = 50000,
             .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES,
             .deeds = {{"somebody deletes the Canary", "canaries/podinfo", NULL}}),
    SCENARIO("deletion without routes",
             .canary = "{'spec':{'provider':'kubernetes','analysis':{" BLUE_GREEN "}}}",
             .revisions = 2, .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES,
             .limit = 40000, /* there is an end, but far away */
             .passes = 2, .deeds = {{"somebody deletes the Canary", "canaries/podinfo", NULL}}),
    SCENARIO("deletion after another provider", .canary = "{'spec':{'analysis':{" BLUE_GREEN "}}}",
             .revisions = 2, .world = WORLD_TIME_PASSES, .limit = 12000, .passes = 2,
             .deeds = {{"the provider becomes kubernetes", "canaries/podinfo",
                        "{'spec':{'provider':'kubernetes'}}"},
                       {"somebody deletes the Canary", "canaries/podinfo", NULL}}),
    SCENARIO("deadlines of gates",
             .canary = "{'spec':{'analysis':{'webhooks':[" LIMITED(
                 "confirm-rollout", "approve") "," LIMITED("confirm-promotion", "rollback") "]}}}",
             .revisions = 2, .limit = 40000, /* there is an end, but far away */
             .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES),
    SCENARIO("metrics that hold",
             .canary =
                 "{'spec':{'analysis':{'onMetricError':'hold','metrics':[{'name':"
                 "'request-success-rate','thresholdRange':{'min':99},'interval':'1m','noData':"
                 "'hold'}]}}}",
             .revisions = 2, .limit = 40000, /* there is an end, but far away */
             .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES),
    SCENARIO("lost objects", .revisions = 2, .world = WORLD_CANARY_FAILS,
             .deeds = {{"the route is deleted", "httproutes/podinfo", NULL},
                       {"a Service is deleted", "services/podinfo-primary", NULL}}),
    SCENARIO("lost primary", .revisions = 2, .world = WORLD_CANARY_FAILS,
             .limit = 12000, /* there is an end, but far away */
             .deeds = {{"the primary is deleted", "deployments/podinfo-primary", NULL}}),
    SCENARIO("lost target", .revisions = 2, .limit = 12000, /* there is an end, but far away */
             .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES,
             .deeds = {{"the target is deleted", "deployments/podinfo", NULL},
                       {"the spec asks for what is not served", "canaries/podinfo",
                        "{'spec':{'analysis':{'alerts':[{'name':'a'}]}}}"}}),
    SCENARIO(
        "refusals", .canary = "{'spec':{'analysis':{'webhooks':[" HOOK("rollback") "]}}}",
        .revisions = 2, .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES, .limit = 12000,
        .deeds = {{"the spec asks for what is not served", "canaries/podinfo",
                   "{'spec':{'analysis':{'alerts':[{'name':'a','providerRef':{'name':'x'}}]}}}"},
                  {"the spec asks for it no more", "canaries/podinfo",
                   "{'spec':{'analysis':{'alerts':null}}}"},
                  {"the spec cannot be read", "canaries/podinfo",
                   "{'spec':{'analysis':{'interval':'soon'}}}"},
                  {"the spec can be read again", "canaries/podinfo",
                   "{'spec':{'analysis':{'interval':'1m'}}}"},
                  {"the spec has no step", "canaries/podinfo",
                   "{'spec':{'analysis':{'stepWeight':0}}}"},
                  {"the spec has a step again", "canaries/podinfo",
                   "{'spec':{'analysis':{'stepWeight':50}}}"}}),
    SCENARIO("beside another Service", .revisions = 2,
             .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES, .limit = 20000,
             .deeds = {{"the other Service is deleted", "services/old", NULL},
                       {"a person takes the target to zero", "deployments/podinfo",
                        "{'spec':{'replicas':0}}"}},
             .objects = {{"services/old", OLD_SERVICE}}),
    SCENARIO("another target", .canary = "{'spec':{'service':{'name':'podinfo'}}}", .revisions = 2,
             .limit = 5000,
             .deeds = {{"the target is another one", "canaries/podinfo",
                        "{'spec':{'targetRef':{'name':'other'}}}"},
                       {"the target is one that does not exist", "canaries/podinfo",
                        "{'spec':{'targetRef':{'name':'nobody'}}}"},
                       {"the target is the first one again", "canaries/podinfo",
                        "{'spec':{'targetRef':{'name':'podinfo'}}}"}},
             .objects = {{"deployments/other", OTHER}}),
    SCENARIO("zero replicas", .revisions = 2, .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES,
             .limit = 15000,
             .deeds = {{"somebody scales the primary to zero", "deployments/podinfo-primary",
                        "{'spec':{'replicas':0}}"},
                       {"somebody scales the primary up", "deployments/podinfo-primary",
                        "{'spec':{'replicas':1}}"},
                       {"somebody scales the target to zero", "deployments/podinfo",
                        "{'spec':{'replicas':0}}"}}),
    SCENARIO("edits in the middle", .revisions = 2,
             .limit = 40000, /* there is an end, but far away */
             .world = WORLD_CANARY_FAILS, .passes = 0,
             .deeds = {{"maxWeight becomes 100", "canaries/podinfo",
                        "{'spec':{'analysis':{'maxWeight':100}}}"},
                       {"maxWeight becomes 50", "canaries/podinfo",
                        "{'spec':{'analysis':{'maxWeight':50}}}"},
                       {"stepWeightPromotion becomes 50", "canaries/podinfo",
                        "{'spec':{'analysis':{'stepWeightPromotion':50}}}"}}),
    SCENARIO(
        "behind another Canary", .revisions = 2, .world = FROM_SCRATCH, .limit = 6000,
        .deeds = {{"the other Canary is deleted", "canaries/rival", NULL}},
        .objects = {{"canaries/rival", RIVAL("podinfo", ",'status':{'phase':'Initialized'}")}}),
    SCENARIO("another Canary goes on", .revisions = 2,
             .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES, .limit = 10000,
             .deeds = {{"another Canary names the target", "canaries/rival",
                        "{'spec':{'targetRef':{'name':'podinfo'}}}"},
                       {"somebody deletes the Canary", "canaries/podinfo", NULL}},
             .objects = {{"canaries/rival", RIVAL("nobody", "")}}),
    SCENARIO("edited ports", .revisions = 2, .world = WORLD_CANARY_FAILS, .limit = 6000,
             .deeds = {{"the Service gets port 80", "canaries/podinfo",
                        "{'spec':{'service':{'port':80,'targetPort':9898}}}"},
                       {"the Service gets port 9898", "canaries/podinfo",
                        "{'spec':{'service':{'port':9898,'targetPort':null}}}"}}),
    SCENARIO(
        "edited checks", .canary = "{'spec':{'analysis':{" GUARDS "}}}",
        .revisions = 2, .limit = 6000,
        .deeds =
            {{"the webhooks are taken out", "canaries/podinfo",
              "{'spec':{'analysis':{'webhooks':null}}}"},
             {"the webhooks are put back", "canaries/podinfo",
              "{'spec':{'analysis':{" GUARDS "}}}"},
             {"another metric is asked for", "canaries/podinfo",
              "{'spec':{'analysis':{'metrics':[{'name':'errors','query':'up','thresholdRange':{"
              "'min':99}}]}}}"}}),
    SCENARIO("edited autoscaler", .canary = "{'spec':{'autoscalerRef':" HPA_REF "}}",
             .revisions = 2, .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES, .limit = 6000,
             .deeds = {{"the autoscaler is taken out", "canaries/podinfo",
                        "{'spec':{'autoscalerRef':null}}"},
                       {"the autoscaler is put back", "canaries/podinfo",
                        "{'spec':{'autoscalerRef':" HPA_REF "}}"}},
             .objects = {{"horizontalpodautoscalers/podinfo", HPA}}),
    SCENARIO("edited provider", .canary = "{'spec':{'analysis':{" BLUE_GREEN "}}}", .revisions = 2,
             .world = WORLD_CANARY_FAILS | WORLD_TIME_PASSES, .limit = 6000, .passes = 2,
             .deeds = {{"the provider becomes kubernetes", "canaries/podinfo",
                        "{'spec':{'provider':'kubernetes'}}"},
                       {"the provider becomes the Gateway API", "canaries/podinfo",
                        "{'spec':{'provider':'gatewayapi:v1'}}"}}),
    SCENARIO("edited affinity", .revisions = 2, .world = WORLD_CANARY_FAILS, .limit = 6000,
             .deeds = {{"clients get a cookie", "canaries/podinfo",
                        "{'spec':{'analysis':{'sessionAffinity':{'cookieName':'c'}}}}"},
                       {"clients get no cookie", "canaries/podinfo",
                        "{'spec':{'analysis':{'sessionAffinity':null}}}"}}),
    SCENARIO(
        "moved weights", .revisions = 2, .world = WORLD_CANARY_FAILS,
        .deeds = {{"somebody routes 30 % to the canary", "httproutes/podinfo", ROUTE(70, 30)}}),
    SCENARIO("suspend", .revisions = 2, .world = WORLD_CANARY_FAILS,
             .deeds = {{"somebody suspends", "canaries/podinfo", "{'spec':{'suspend':true}}"},
                       {"somebody resumes", "canaries/podinfo", "{'spec':{'suspend':false}}"}}),
};
const int n_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);

const struct scenario *scenario_find(const char *name)
{
    for (int i = 0; i < n_scenarios; i++) {
        if (strcmp(scenarios[i].name, name) == 0)
            return &scenarios[i];
    }
    return NULL;
}

struct json_object *scenario_json(struct arena *arena, const char *quoted)
{
    char *text = arena_strdup(arena, quoted);
    struct json_object *object = NULL;
    struct errinfo ei;

    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    enum err err = json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &object, &ei);
    assert(err == ERR_OK);
    return object;
}

bool scenario_has(const struct scenario *scenario, const char *hook)
{
    char quoted[40];

    snprintf(quoted, sizeof(quoted), "'type':'%s'", hook);
    return scenario->canary && strstr(scenario->canary, quoted);
}

struct json_object *scenario_canary(struct arena *arena, const struct scenario *scenario)
{
    struct json_object *canary = scenario_json(arena, base_canary);

    return scenario->canary ? json_merge(arena, canary, scenario_json(arena, scenario->canary))
                            : canary;
}

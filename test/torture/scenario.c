#include "torture/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char base_target[] =
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'podinfo','namespace':'test',"
    "'labels':{'app':'podinfo'}},'spec':{'replicas':2,'selector':{'matchLabels':{'app':'podinfo'}},"
    "'template':{'metadata':{'labels':{'app':'podinfo'}},'spec':{'containers':[{'name':'podinfo',"
    "'image':'podinfo:1','ports':[{'containerPort':9898,'name':'http'}],'envFrom':[{'configMapRef':"
    "{'name':'podinfo-config'}}]}]}}}}";

static const char base_config[] =
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'podinfo-config',"
    "'namespace':'test'},'data':{'color':'blue'}}";

static const char base_canary[] =
    "{'apiVersion':'flagger.app/v1beta1','kind':'Canary','metadata':{'name':'podinfo',"
    "'namespace':'test'},'spec':{'provider':'gatewayapi:v1',"
    "'targetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'},"
    "'service':{'port':9898,'gatewayRefs':[{'name':'gateway','namespace':'infra'}]},"
    "'analysis':{'interval':'20ms','threshold':2,'stepWeight':20,'maxWeight':40,'metrics':["
    "{'name':'request-success-rate','thresholdRange':{'min':99},'interval':'1m'}]}}}";

static const char daemonset[] =
    "{'apiVersion':'apps/v1','kind':'DaemonSet','metadata':{'name':'podinfo','namespace':'test',"
    "'labels':{'app':'podinfo'}},'spec':{'selector':{'matchLabels':{'app':'podinfo'}},"
    "'template':{'metadata':{'labels':{'app':'podinfo'}},'spec':{'containers':[{'name':'podinfo',"
    "'image':'podinfo:1','ports':[{'containerPort':9898,'name':'http'}],'envFrom':[{'configMapRef':"
    "{'name':'podinfo-config'}}]}]}}}}";

#define HPA                                                                                        \
    "[{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'name':"         \
    "'podinfo','namespace':'test'},'spec':{'scaleTargetRef':{'apiVersion':'apps/v1','kind':"       \
    "'Deployment','name':'podinfo'},'minReplicas':2,'maxReplicas':4,'metrics':[{'type':"           \
    "'Resource','resource':{'name':'cpu','target':{'type':'Utilization','averageUtilization':"     \
    "99}}}]}}]"
#define WITH_HPA                                                                                   \
    "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler',"    \
    "'name':'podinfo'}}}"
#define KEDA                                                                                       \
    "[{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject','metadata':{'name':'podinfo',"        \
    "'namespace':'test'},'spec':{'scaleTargetRef':{'name':'podinfo'},'minReplicaCount':2,"         \
    "'maxReplicaCount':4,'triggers':[{'type':'cron','metadata':{'timezone':'UTC'}}]}}]"
#define WITH_KEDA                                                                                  \
    "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject','name':"      \
    "'podinfo'}}}"
#define WITH_DAEMONSET "{'spec':{'targetRef':{'kind':'DaemonSet'}}}"
#define ITERATIONS     "'stepWeight':null,'maxWeight':null,'iterations':2"
#define AB_TEST        ITERATIONS ",'match':[{'headers':{'x-canary':{'exact':'insider'}}}]"
#define AFFINITY       "'sessionAffinity':{'cookieName':'flagger','primaryCookieName':'flagger-primary'}"
/* Time for somebody to meddle between two steps. */
#define UNHURRIED "{'spec':{'analysis':{'interval':'100ms'}}}"
#define HOOK(name, type)                                                                           \
    "{'name':'" name "','type':'" type "','url':'http://127.0.0.1:1/hook/" name "'}"
#define AND_HOOK(name, type) "," HOOK(name, type)
#define DEPLOYMENT           "apps", "deployments", "podinfo"
#define DAEMONSET            "apps", "daemonsets", "podinfo"
#define CANARY               "flagger.app", "canaries", "podinfo"
#define CONFIG               "", "configmaps", "podinfo-config"
#define IMAGE(version)                                                                             \
    "{'spec':{'template':{'spec':{'containers':[{'name':'podinfo','image':'podinfo:" version       \
    "','ports':[{'containerPort':9898,'name':'http'}],'envFrom':[{'configMapRef':{'name':"         \
    "'podinfo-config'}}]}]}}}}"
#define NEW_IMAGE                                                                                  \
    {                                                                                              \
        DEPLOYMENT, IMAGE("2")                                                                     \
    }

/* A row; what all rows have stands first. */
#define SCENARIO(name_, phase_, image_, ...)                                                       \
    {                                                                                              \
        .name = (name_), .phase = (phase_), .image = (image_), __VA_ARGS__                         \
    }

const struct scenario scenarios[] = {
    SCENARIO("initialisation", "Initialized", "podinfo:1"),
    SCENARIO("canary promoted", "Succeeded", "podinfo:2", .change = {NEW_IMAGE}, .calls = true),
    SCENARIO("canary rolled back", "Failed", "podinfo:1", .change = {NEW_IMAGE}, .bad_from = 40,
             .calls = true),
    SCENARIO("canary with gates and hooks", "Succeeded", "podinfo:2",
             .canary = "{'spec':{'analysis':{'webhooks':[" HOOK("start", "confirm-rollout")
                 AND_HOOK("smoke", "pre-rollout") AND_HOOK("load", "rollout") AND_HOOK(
                     "more", "confirm-traffic-increase") AND_HOOK("promote", "confirm-promotion")
                     AND_HOOK("back", "rollback") AND_HOOK("bye", "post-rollout") "]}}}",
             .change = {NEW_IMAGE}, .calls = true),
    SCENARIO("gates that open late", "Succeeded", "podinfo:2",
             .canary = "{'spec':{'analysis':{'webhooks':[" HOOK("late-start", "confirm-rollout")
                 AND_HOOK("late-more", "confirm-traffic-increase")
                     AND_HOOK("late-promote", "confirm-promotion") "]}}}",
             .change = {NEW_IMAGE}, .calls = true),
    SCENARIO("canary rolled back by its hook", "Failed", "podinfo:1",
             .canary = "{'spec':{'analysis':{'webhooks':[" HOOK("back", "rollback") "]}}}",
             .change = {NEW_IMAGE}, .back_from = 20),
    SCENARIO("canary that never gets ready", "Failed", "podinfo:1",
             .change = {{DEPLOYMENT, IMAGE("2-stuck")}}),
    SCENARIO("step weights, promoted in steps", "Succeeded", "podinfo:2",
             .canary =
                 "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'stepWeights':[1,30,100],"
                 "'stepWeightPromotion':50}}}",
             .change = {NEW_IMAGE}),
    SCENARIO("HPA and configs", "Succeeded", "podinfo:2", .canary = WITH_HPA, .objects = HPA,
             .change = {NEW_IMAGE, {CONFIG, "{'data':{'color':'green'}}"}}),
    SCENARIO("HPA and configs, rolled back", "Failed", "podinfo:1", .canary = WITH_HPA,
             .objects = HPA, .change = {NEW_IMAGE, {CONFIG, "{'data':{'color':'green'}}"}},
             .bad_from = 20),
    SCENARIO("blue/green through a gateway", "Succeeded", "podinfo:2",
             .canary = "{'spec':{'analysis':{" ITERATIONS "}}}", .change = {NEW_IMAGE}),
    SCENARIO("blue/green through a gateway, rolled back", "Failed", "podinfo:1",
             .canary = "{'spec':{'analysis':{" ITERATIONS "}}}", .change = {NEW_IMAGE},
             .bad_from = 1),
    SCENARIO("blue/green of Services only", "Succeeded", "podinfo:2",
             .canary =
                 "{'spec':{'provider':'kubernetes','service':{'gatewayRefs':null},'analysis':{"
                 "" ITERATIONS "}}}",
             .change = {NEW_IMAGE}),
    SCENARIO("blue/green of Services only, rolled back", "Failed", "podinfo:1",
             .canary =
                 "{'spec':{'provider':'kubernetes','service':{'gatewayRefs':null},'analysis':{"
                 "'stepWeight':null,'maxWeight':null,'iterations':2,'webhooks':[" HOOK(
                     "back", "rollback") "]}}}",
             .change = {NEW_IMAGE}, .back_from = 1),
    SCENARIO("analysis skipped", "Succeeded", "podinfo:2",
             .canary = "{'spec':{'skipAnalysis':true}}", .change = {NEW_IMAGE}),
    SCENARIO("analysis skipped in the middle", "Succeeded", "podinfo:2", .canary = UNHURRIED,
             .change = {NEW_IMAGE}, .meanwhile = {{CANARY, "{'spec':{'skipAnalysis':true}}"}}),
    SCENARIO("another revision in the middle", "Succeeded", "podinfo:3", .canary = UNHURRIED,
             .change = {NEW_IMAGE}, .meanwhile = {{DEPLOYMENT, IMAGE("3")}}),
    SCENARIO("the old revision again in the middle", "Succeeded", "podinfo:1", .canary = UNHURRIED,
             .change = {NEW_IMAGE}, .meanwhile = {{DEPLOYMENT, IMAGE("1")}}),
    SCENARIO("A/B test", "Succeeded", "podinfo:2", .canary = "{'spec':{'analysis':{" AB_TEST "}}}",
             .change = {NEW_IMAGE}),
    SCENARIO("A/B test, rolled back", "Failed", "podinfo:1",
             .canary = "{'spec':{'analysis':{" AB_TEST "}}}", .change = {NEW_IMAGE}, .bad_from = 1),
    SCENARIO("canary with mirroring", "Succeeded", "podinfo:2",
             .canary = "{'spec':{'analysis':{'mirror':true,'mirrorWeight':50}}}",
             .change = {NEW_IMAGE}),
    SCENARIO("canary with mirroring, rolled back", "Failed", "podinfo:1",
             .canary = "{'spec':{'analysis':{'mirror':true}}}", .change = {NEW_IMAGE},
             .bad_from = 20),
    SCENARIO("blue/green with mirroring", "Succeeded", "podinfo:2",
             .canary = "{'spec':{'analysis':{" ITERATIONS ",'mirror':true}}}",
             .change = {NEW_IMAGE}),
    SCENARIO("blue/green with mirroring, rolled back", "Failed", "podinfo:1",
             .canary = "{'spec':{'analysis':{" ITERATIONS ",'mirror':true}}}",
             .change = {NEW_IMAGE}, .bad_from = 1),
    SCENARIO("session affinity", "Succeeded", "podinfo:2",
             .canary = "{'spec':{'analysis':{" AFFINITY "}}}", .change = {NEW_IMAGE}),
    SCENARIO("session affinity, rolled back", "Failed", "podinfo:1",
             .canary = "{'spec':{'analysis':{" AFFINITY "}}}", .change = {NEW_IMAGE},
             .bad_from = 40),
    SCENARIO("DaemonSet", "Succeeded", "podinfo:2", .canary = WITH_DAEMONSET, .target = daemonset,
             .change = {{DAEMONSET, IMAGE("2")}}),
    SCENARIO("DaemonSet, rolled back", "Failed", "podinfo:1", .canary = WITH_DAEMONSET,
             .target = daemonset, .change = {{DAEMONSET, IMAGE("2")}}, .bad_from = 40),
    SCENARIO("KEDA", "Succeeded", "podinfo:2", .canary = WITH_KEDA, .objects = KEDA,
             .change = {NEW_IMAGE}),
    SCENARIO("KEDA, rolled back", "Failed", "podinfo:1", .canary = WITH_KEDA, .objects = KEDA,
             .change = {NEW_IMAGE}, .bad_from = 40),
    {.name = "deleted when at rest",
     .canary = "{'spec':{'revertOnDeletion':true}}",
     .change = {{CANARY, NULL}},
     .phase = NULL},
    {.name = "deleted in the middle",
     .canary = "{'spec':{'revertOnDeletion':true,'analysis':{'interval':'100ms'}}}",
     .change = {NEW_IMAGE},
     .meanwhile = {{CANARY, NULL}},
     .phase = NULL},
    {.name = "deleted, with KEDA",
     .canary = "{'spec':{'revertOnDeletion':true,'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1',"
               "'kind':'ScaledObject','name':'podinfo'}}}",
     .objects = KEDA,
     .change = {{CANARY, NULL}}},
    {.name = "deleted, a DaemonSet",
     .canary = "{'spec':{'revertOnDeletion':true,'targetRef':{'kind':'DaemonSet'}}}",
     .target = daemonset,
     .change = {{CANARY, NULL}}},
    {.name = "deleted, Services only",
     .canary = "{'spec':{'revertOnDeletion':true,'provider':'kubernetes','service':{'gatewayRefs':"
               "null},'analysis':{" ITERATIONS "}}}",
     .change = {{CANARY, NULL}}},
    SCENARIO("promotion that fails", "Failed", "podinfo:2-canary-only",
             .change = {{DEPLOYMENT, IMAGE("2-canary-only")}}),
    SCENARIO("pods that take their time", "Succeeded", "podinfo:2", .change = {NEW_IMAGE},
             .slow_ms = 60),
    SCENARIO("pods that take their time, rolled back", "Failed", "podinfo:1", .change = {NEW_IMAGE},
             .slow_ms = 60, .bad_from = 40),
    SCENARIO("killed twice, promoted", "Succeeded", "podinfo:2", .change = {NEW_IMAGE},
             .twice = true),
    SCENARIO("killed twice, rolled back", "Failed", "podinfo:1", .change = {NEW_IMAGE},
             .twice = true, .bad_from = 40),
    SCENARIO("canary promoted, with leader election", "Succeeded", "podinfo:2",
             .change = {NEW_IMAGE}, .elects = true),
    {0},
};

struct json_object *scenario_json(struct arena *arena, const char *quoted)
{
    char *text = arena_strdup(arena, quoted);
    struct json_object *object = NULL;
    struct errinfo ei;

    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    if (json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &object, &ei) != ERR_OK) {
        fprintf(stderr, "%s in %s\n", ei.text, text);
        exit(2);
    }
    return object;
}

struct json_object *scenario_objects(struct arena *arena, const struct scenario *scenario)
{
    struct json_object *list = json_own(arena, json_object_new_array());
    struct json_object *canary = scenario_json(arena, base_canary);
    struct json_object *more = scenario->objects ? scenario_json(arena, scenario->objects) : NULL;
    const char *target = scenario->target ? scenario->target : base_target;

    if (scenario->canary)
        canary = json_merge(arena, canary, scenario_json(arena, scenario->canary));
    json_object_array_add(list, json_object_get(scenario_json(arena, base_config)));
    json_object_array_add(list, json_object_get(scenario_json(arena, target)));
    for (size_t i = 0; i < json_len(more); i++)
        json_object_array_add(list, json_object_get(json_elem(more, i)));
    json_object_array_add(list, json_object_get(canary));
    return list;
}

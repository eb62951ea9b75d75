/* The table of edits. */
#include "edits/edit.h"

/* A patch of the Canary's spec. */
#define SPEC(patch)                                                                                \
    .kind = EDIT_PATCH, .resource = &user_canaries, .object = "NAME", .text = "{'spec':" patch "}"
#define ANALYSIS(patch) SPEC("{'analysis':" patch "}")
#define SERVICE(patch)  SPEC("{'service':" patch "}")
#define ON(res, name)   .resource = (res), .object = (name)
#define BAD_RATE        "{'name':'request-success-rate','thresholdRange':{'min':99},'interval':'3s'}"

/* Another Canary that wants what the first one has. */
#define TWIN(target, service)                                                                      \
    "{'apiVersion':'flagger.app/v1beta1','kind':'Canary','metadata':{'name':'NAME-twin',"          \
    "'namespace':'test'},'spec':{'provider':'kubernetes','targetRef':{'apiVersion':'apps/v1',"     \
    "'kind':'Deployment','name':'" target "'},'progressDeadlineSeconds':15,"                       \
    "'service':{'name':'" service "','port':8080,'targetPort':9898},"                              \
    "'analysis':{'interval':'1s','threshold':2,'iterations':2}}}"

/* A row; what all rows have stands first. */
#define EDIT(name_, weight_, ...)                                                                  \
    {                                                                                              \
        .name = (name_), .weight = (weight_), __VA_ARGS__                                          \
    }

const struct edit edits[] = {
    EDIT("push", 300, .kind = EDIT_PUSH, ON(&kube_deployments, "NAME")),
    EDIT("restore", 110, .kind = EDIT_RESTORE, ON(&user_canaries, "NAME")),

    /* --- the Canary: what is released, and how it is reached */
    EDIT("target-other", 10, SPEC("{'targetRef':{'name':'NAME-two'}}")),
    EDIT("target-missing", 10, SPEC("{'targetRef':{'name':'nobody'}}")),
    EDIT("target-kind", 4, SPEC("{'targetRef':{'kind':'DaemonSet'}}")),
    EDIT("service-name", 10, SERVICE("{'name':'NAME-apex'}")),
    EDIT("service-name-taken", 4, SERVICE("{'name':'bystander'}")),
    EDIT("port", 8, SERVICE("{'port':8081}")),
    EDIT("port-name", 6, SERVICE("{'portName':'http-web'}")),
    EDIT("target-port-name", 6, SERVICE("{'targetPort':'http'}")),
    EDIT("app-protocol", 3, SERVICE("{'appProtocol':'http'}")),
    EDIT("port-discovery", 4, SERVICE("{'portDiscovery':true}")),
    EDIT("provider-kubernetes", 10, .needs = EDIT_GATEWAY, SPEC("{'provider':'kubernetes'}")),
    EDIT("provider-beta", 3, .needs = EDIT_GATEWAY, SPEC("{'provider':'gatewayapi:v1beta1'}")),
    EDIT("provider-istio", 5, SPEC("{'provider':'istio'}")),
    EDIT("provider-none", 5, SPEC("{'provider':null}")),
    EDIT("hosts-more", 4, .needs = EDIT_GATEWAY,
         SERVICE("{'hosts':['NAME.example.com','NAME.example.org']}")),
    EDIT("headers", 4, .needs = EDIT_GATEWAY,
         SERVICE("{'headers':{'request':{'add':{'x-one':'1'}},'response':{'set':{'x-two':'2'}}}}")),
    EDIT("headers-none", 3, .needs = EDIT_GATEWAY, SERVICE("{'headers':null}")),
    EDIT("cors", 4, .needs = EDIT_GATEWAY,
         SERVICE("{'corsPolicy':{'allowOrigin':['https://example.com'],'allowCredentials':true,"
                 "'maxAge':'1h'}}")),
    EDIT("cors-less", 3, .needs = EDIT_GATEWAY,
         SERVICE("{'corsPolicy':{'allowCredentials':null}}")),
    EDIT("service-timeout", 3, .needs = EDIT_GATEWAY, SERVICE("{'timeout':'20s'}")),
    EDIT(
        "apex-metadata", 5,
        SERVICE("{'apex':{'labels':{'team':'one'},'annotations':{'note':'two'}},"
                "'primary':{'labels':{'team':'three'}},'canary':{'annotations':{'note':'four'}}}")),
    EDIT("apex-metadata-none", 3, SERVICE("{'apex':null,'primary':null,'canary':null}")),
    EDIT("match-path", 3, .needs = EDIT_GATEWAY, SERVICE("{'match':[{'uri':{'prefix':'/'}}]}")),
    EDIT("autoscaler-missing", 5,
         SPEC("{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler',"
              "'name':'nobody'}}")),
    EDIT("autoscaler-none", 10, .needs = EDIT_SCALER, SPEC("{'autoscalerRef':null}")),
    EDIT("scaler-bounds", 4, .needs = EDIT_SCALER,
         SPEC("{'autoscalerRef':{'primaryScalerReplicas':{'minReplicas':1,'maxReplicas':4}}}")),

    /* --- the Canary: the analysis */
    EDIT("step-zero", 6, ANALYSIS("{'stepWeight':0,'iterations':0}")),
    EDIT("step-none", 4, ANALYSIS("{'stepWeight':null,'iterations':null}")),
    EDIT("step-large", 5, .unjudged = true, ANALYSIS("{'stepWeight':40,'maxWeight':80}")),
    EDIT("step-list", 5, .unjudged = true, ANALYSIS("{'stepWeights':[10,30,60]}")),
    EDIT("step-promotion", 5, ANALYSIS("{'stepWeightPromotion':30}")),
    EDIT("max-less", 4, .unjudged = true, ANALYSIS("{'maxWeight':10}")),
    EDIT("iterations", 6, .unjudged = true, ANALYSIS("{'iterations':2}")),
    EDIT("mirror", 4, .needs = EDIT_GATEWAY, ANALYSIS("{'mirror':true}")),
    EDIT("affinity", 6, .needs = EDIT_GATEWAY,
         ANALYSIS("{'sessionAffinity':{'cookieName':'another','maxAge':100}}")),
    EDIT("affinity-both", 3, .needs = EDIT_GATEWAY,
         ANALYSIS("{'sessionAffinity':{'cookieName':'another','primaryCookieName':'first'}}")),
    EDIT("affinity-none", 4, ANALYSIS("{'sessionAffinity':null}")),
    EDIT("ab-match", 4, .needs = EDIT_GATEWAY, .unjudged = true,
         ANALYSIS("{'iterations':3,'match':[{'headers':{'x-group':{'exact':'insider'}}}]}")),
    EDIT("interval-slow", 4, ANALYSIS("{'interval':'3s'}")),
    EDIT("threshold-one", 5, ANALYSIS("{'threshold':1}")),
    EDIT("metrics-none", 4, .unjudged = true, ANALYSIS("{'metrics':null}")),
    EDIT("metrics-nothing", 5, .unjudged = true,
         ANALYSIS("{'metrics':[{'name':'unheard-of','interval':'3s'}]}")),
    EDIT("metrics-template-missing", 5, .unjudged = true,
         ANALYSIS("{'metrics':[{'name':'own','templateRef':{'name':'nobody'},'interval':'3s'}]}")),
    EDIT("metrics-too-good", 4,
         ANALYSIS("{'metrics':[" BAD_RATE
                  ",{'name':'request-duration','thresholdRange':{'max':0.001},"
                  "'interval':'3s'}]}")),
    EDIT("hooks-none", 4, ANALYSIS("{'webhooks':null}")),
    EDIT("hook-nowhere", 5,
         ANALYSIS("{'webhooks':[{'name':'gone','type':'rollout','url':'http://127.0.0.1:1/'}]}")),
    EDIT(
        "hook-gate", 4,
        ANALYSIS("{'webhooks':[{'name':'gate','type':'confirm-traffic-increase',"
                 "'url':'HOOKS/increase'},{'name':'back','type':'rollback','url':'HOOKS/back'}]}")),
    EDIT("suspend", 6, SPEC("{'suspend':true}")),
    EDIT("resume", 12, SPEC("{'suspend':false}")),
    EDIT("skip", 6, .unjudged = true, SPEC("{'skipAnalysis':true}")),
    EDIT("skip-not", 5, SPEC("{'skipAnalysis':false}")),
    EDIT("deadline-short", 4, SPEC("{'progressDeadlineSeconds':5}")),
    EDIT("revert-asked", 2, SPEC("{'revertOnDeletion':true}")),
    EDIT("nonsense-interval", 5, ANALYSIS("{'interval':'soon'}")),
    EDIT("nonsense-weights", 5, ANALYSIS("{'stepWeights':[50,20,300]}")),
    EDIT("nonsense-regex", 4, .needs = EDIT_GATEWAY,
         SERVICE("{'match':[{'uri':{'prefix':'/'}},{'headers':{'x-a':{'regex':'('}}}]}")),
    EDIT("nonsense-cookie", 4, ANALYSIS("{'sessionAffinity':{'cookieName':'a b;c'}}")),
    EDIT("nonsense-autoscaler", 3,
         SPEC("{'autoscalerRef':{'apiVersion':'v1','kind':'Pod','name':'x'}}")),
    EDIT("canary-recreate", 8, .kind = EDIT_RECREATE, .unjudged = true, ON(&user_canaries, "NAME")),
    EDIT("canary-delete", 6, .kind = EDIT_DELETE, .unjudged = true, ON(&user_canaries, "NAME")),

    EDIT("twin-of-target", 5, .kind = EDIT_CREATE, ON(&user_canaries, "NAME-twin"),
         .text = TWIN("NAME", "NAME-twin")),
    EDIT("twin-of-service", 5, .kind = EDIT_CREATE, ON(&user_canaries, "NAME-twin"),
         .text = TWIN("NAME-two", "NAME")),
    EDIT("twin-delete", 10, .kind = EDIT_DELETE, ON(&user_canaries, "NAME-twin")),

    /* --- the target, its configs and its scaler */
    EDIT("replicas-two", 6, .kind = EDIT_PATCH, ON(&kube_deployments, "NAME"),
         .text = "{'spec':{'replicas':2}}"),
    EDIT("replicas-none", 5, .kind = EDIT_PATCH, ON(&kube_deployments, "NAME"), .mid = true,
         .harm = "a canary that serves loses all of its pods at once",
         .text = "{'spec':{'replicas':0}}"),
    EDIT("template-note", 6, .kind = EDIT_PATCH, ON(&kube_deployments, "NAME"),
         .text = "{'spec':{'template':{'metadata':{'annotations':{'note':'again'}}}}}"),
    EDIT("target-label", 3, .kind = EDIT_PATCH, ON(&kube_deployments, "NAME"),
         .text = "{'metadata':{'labels':{'team':'five'}}}"),
    EDIT("template-label", 4, .kind = EDIT_PATCH, ON(&kube_deployments, "NAME"),
         .text = "{'spec':{'template':{'metadata':{'labels':{'team':'six'}}}}}"),
    EDIT("target-reselected", 3, .kind = EDIT_RECREATE, ON(&kube_deployments, "NAME"), .mid = true,
         .harm = "a canary that serves loses all of its pods at once",
         .text =
             "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'NAME',"
             "'namespace':'test','labels':{'name':'NAME'}},'spec':{'replicas':1,"
             "'selector':{'matchLabels':{'name':'NAME'}},'template':{'metadata':{'labels':{"
             "'name':'NAME'}},'spec':{'containers':[{'name':'app','image':'demo-app:v1','ports':[{"
             "'name':'http','containerPort':9898}],'readinessProbe':{'httpGet':{"
             "'path':'/readyz','port':9898},'periodSeconds':1}}]}}}}"),
    EDIT("target-delete", 4, .kind = EDIT_DELETE, ON(&kube_deployments, "NAME"), .mid = true,
         .harm = "a canary that serves loses all of its pods at once"),
    EDIT("target-recreate", 8, .kind = EDIT_RECREATE, ON(&kube_deployments, "NAME"), .mid = true,
         .harm = "a canary that serves loses all of its pods at once"),
    EDIT("target-create", 8, .kind = EDIT_CREATE, ON(&kube_deployments, "NAME")),
    EDIT("config-data", 30, .needs = EDIT_CONFIGS, .kind = EDIT_PATCH,
         ON(&kube_configmaps, "NAME-settings"), .text = "{'data':{'DEMO_MESSAGE':'hello again'}}"),
    EDIT("config-binary", 15, .needs = EDIT_CONFIGS, .kind = EDIT_PATCH,
         ON(&kube_configmaps, "NAME-settings"), .text = "{'binaryData':{'blob':'AAEC'}}"),
    EDIT("config-delete", 15, .needs = EDIT_CONFIGS, .kind = EDIT_DELETE,
         ON(&kube_configmaps, "NAME-settings")),
    EDIT("config-create", 30, .needs = EDIT_CONFIGS, .kind = EDIT_CREATE,
         ON(&kube_configmaps, "NAME-settings")),
    EDIT("secret-data", 15, .needs = EDIT_CONFIGS, .kind = EDIT_PATCH,
         ON(&kube_secrets, "NAME-keys"), .text = "{'data':{'KEY':'dHdv'}}"),
    EDIT("secret-recreate", 15, .needs = EDIT_CONFIGS, .kind = EDIT_RECREATE,
         ON(&kube_secrets, "NAME-keys")),
    EDIT("config-copy-delete", 8, .needs = EDIT_CONFIGS, .kind = EDIT_DELETE,
         ON(&kube_configmaps, "NAME-settings-primary")),
    EDIT("scaler-range", 20, .needs = EDIT_SCALER, .kind = EDIT_PATCH, ON(&kube_hpas, "NAME"),
         .text = "{'spec':{'minReplicas':1,'maxReplicas':4}}"),
    EDIT("scaler-delete", 15, .needs = EDIT_SCALER, .kind = EDIT_DELETE, ON(&kube_hpas, "NAME")),
    EDIT("scaler-create", 20, .needs = EDIT_SCALER, .kind = EDIT_CREATE, ON(&kube_hpas, "NAME")),
    EDIT("scaler-copy-delete", 10, .needs = EDIT_SCALER, .kind = EDIT_DELETE,
         ON(&kube_hpas, "NAME-primary")),

    /* --- what the controller has made */
    EDIT("apex-delete", 5, .kind = EDIT_DELETE, ON(&kube_services, "NAME"),
         .harm = "the address that clients use is gone"),
    EDIT("apex-selector", 5, .kind = EDIT_PATCH, ON(&kube_services, "NAME"),
         .harm = "the address that clients use leads nowhere",
         .text = "{'spec':{'selector':{'app':'nobody'}}}"),
    EDIT("apex-ports", 4, .kind = EDIT_PATCH, ON(&kube_services, "NAME"),
         .harm = "the address that clients use leads nowhere",
         .text = "{'spec':{'ports':[{'name':'http','port':8080,'targetPort':1}]}}"),
    EDIT("apex-label", 4, .kind = EDIT_PATCH, ON(&kube_services, "NAME"),
         .text = "{'metadata':{'labels':{'owner':'somebody'},'annotations':{'by':'hand'}}}"),
    EDIT("primary-service-delete", 4, .kind = EDIT_DELETE, ON(&kube_services, "NAME-primary"),
         .harm = "the route leads to it"),
    EDIT("primary-service-selector", 4, .kind = EDIT_PATCH, ON(&kube_services, "NAME-primary"),
         .harm = "the route leads to it", .text = "{'spec':{'selector':{'app':'nobody'}}}"),
    EDIT("canary-service-delete", 4, .kind = EDIT_DELETE, ON(&kube_services, "NAME-canary"),
         .mid = true, .harm = "the route leads to it"),
    EDIT("route-weights", 5, .needs = EDIT_GATEWAY, .kind = EDIT_JSON_PATCH,
         ON(&user_routes, "NAME"), .harm = "requests go to a canary without pods",
         .text = "[{'op':'replace','path':'/spec/rules/0/backendRefs/0/weight','value':50},"
                 "{'op':'replace','path':'/spec/rules/0/backendRefs/1/weight','value':50}]"),
    EDIT("route-note", 4, .needs = EDIT_GATEWAY, .kind = EDIT_PATCH, ON(&user_routes, "NAME"),
         .text = "{'metadata':{'annotations':{'by':'hand'},'labels':{'owner':'somebody'}}}"),
    EDIT("route-delete", 5, .needs = EDIT_GATEWAY, .kind = EDIT_DELETE, ON(&user_routes, "NAME"),
         .harm = "nothing leads to the app"),
    EDIT("primary-none", 4, .kind = EDIT_PATCH, ON(&kube_deployments, "NAME-primary"),
         .harm = "who serves loses all of its pods at once", .text = "{'spec':{'replicas':0}}"),
    EDIT("primary-delete", 4, .kind = EDIT_DELETE, ON(&kube_deployments, "NAME-primary"),
         .harm = "who serves loses all of its pods at once"),
    EDIT("primary-image", 4, .kind = EDIT_PATCH, ON(&kube_deployments, "NAME-primary"),
         .unjudged = true,
         .text = "{'spec':{'template':{'metadata':{'annotations':{'by':'hand'}}}}}"),

    /* --- hooks and the controller */
    EDIT("hooks-closed", 8, .kind = EDIT_HOOKS, .text = "promote=403"),
    EDIT("hooks-start-closed", 5, .kind = EDIT_HOOKS, .text = "start=403"),
    EDIT("hooks-failing", 5, .kind = EDIT_HOOKS, .text = "check=500"),
    EDIT("hooks-back", 5, .kind = EDIT_HOOKS, .text = "back=200"),
    EDIT("hooks-fine", 14, .kind = EDIT_HOOKS, .text = "fine"),
    EDIT("kill", 10, .needs = EDIT_CONTROLLER, .kind = EDIT_KILL, .text = "0"),
    EDIT("away", 4, .needs = EDIT_CONTROLLER, .kind = EDIT_KILL, .text = "2500"),
    {0},
};

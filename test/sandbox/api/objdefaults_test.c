#include "api/objdefaults.h"
#include "object/try.h"

typedef void (*defaults_fn)(struct json_object *obj, struct json_object *old);

/* What is looked for in the defaulted object: a path and the JSON found there ("" : nothing). */
static void test_fields(void **state)
{
    static const struct {
        defaults_fn fn;
        const char *obj, *at[5], *wanted;
    } cases[] = {
        {objdefaults_deployment, "{}", {"spec", "replicas"}, "1"},
        {objdefaults_deployment, "{'spec':{'replicas':0}}", {"spec", "replicas"}, "0"},
        {objdefaults_deployment,
         "{}",
         {"spec", "strategy"},
         "{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':'25%','maxSurge':'25%'}}"},
        {objdefaults_deployment,
         "{'spec':{'strategy':{'type':'Recreate'}}}",
         {"spec", "strategy"},
         "{'type':'Recreate'}"},
        {objdefaults_deployment, "{}", {"spec", "progressDeadlineSeconds"}, "600"},
        {objdefaults_deployment,
         "{}",
         {"spec", "template", "spec", "dnsPolicy"},
         "\"ClusterFirst\""},
        {objdefaults_deployment,
         "{'spec':{'template':{'spec':{'serviceAccountName':'x'}}}}",
         {"spec", "template", "spec", "serviceAccount"},
         "\"x\""},
        {objdefaults_daemonset,
         "{}",
         {"spec", "updateStrategy", "rollingUpdate"},
         "{'maxUnavailable':1,'maxSurge':0}"},
        {objdefaults_replicaset, "{}", {"status"}, "{'replicas':0}"},
        {objdefaults_pod, "{}", {"status"}, "{'phase':'Pending','qosClass':'BestEffort'}"},
        {objdefaults_pod, "{}", {"spec", "serviceAccountName"}, "\"default\""},
        {objdefaults_service,
         "{'spec':{'ports':[{'port':80}]}}",
         {"spec", "ports"},
         "[{'port':80,'protocol':'TCP','targetPort':80}]"},
        {objdefaults_service,
         "{'spec':{'ports':[{'port':80,'targetPort':'http'}]}}",
         {"spec", "ports"},
         "[{'port':80,'protocol':'TCP','targetPort':'http'}]"},
        {objdefaults_service,
         "{'spec':{'type':'ExternalName'}}",
         {"spec", "internalTrafficPolicy"},
         ""},
        {objdefaults_secret, "{'stringData':{'a':'b'}}", {"data"}, "{'a':'Yg=='}"},
        {objdefaults_secret, "{'stringData':{'a':'b'}}", {"stringData"}, ""},
        {objdefaults_hpa,
         "{'spec':{'metrics':[{'type':'Pods'}]}}",
         {"spec", "metrics"},
         "[{'type':'Pods'}]"},
        {objdefaults_hpa, "{}", {"spec", "minReplicas"}, "1"},
        {objdefaults_namespace,
         "{'metadata':{'name':'n'}}",
         {"metadata", "labels"},
         "{'kubernetes.io/metadata.name':'n'}"},
        {objdefaults_crd,
         "{'spec':{'names':{'kind':'BigToy'}}}",
         {"spec", "names"},
         "{'kind':'BigToy','listKind':'BigToyList','singular':'bigtoy'}"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *obj = try_json(arena, cases[i].obj);
        cases[i].fn(obj, NULL);
        for (size_t k = 0; k < 5 && cases[i].at[k] && obj; k++)
            obj = json_at(obj, cases[i].at[k], NULL);
        if (*cases[i].wanted)
            try_same(arena, obj, cases[i].wanted);
        else
            assert_null(obj);
    }
}

static struct json_object *defaulted_container(struct arena *arena, const char *container)
{
    struct json_object *obj =
        try_json(arena, arena_printf(arena, "{'spec':{'containers':[%s]}}", container));
    objdefaults_pod(obj, NULL);
    return json_elem(json_at(obj, "spec", "containers", NULL), 0);
}

static void test_pull_policy(void **state)
{
    static const struct {
        const char *image, *policy;
    } cases[] = {
        {"x", "Always"},
        {"x:latest", "Always"},
        {"x:1", "IfNotPresent"},
        {"host:5000/x", "Always"},
        {"host:5000/x:1", "IfNotPresent"},
        {"x@sha256:00", "IfNotPresent"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *container = defaulted_container(
            arena, arena_printf(arena, "{'name':'c','image':'%s'}", cases[i].image));
        assert_string_equal(json_str_at(container, "imagePullPolicy", NULL), cases[i].policy);
    }
}

static void test_container(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *container = defaulted_container(
        arena, "{'name':'c','image':'i:1','resources':{'limits':{'cpu':'1000m'}},'readinessProbe':{"
               "'httpGet':{'port':1}},'ports':[{'containerPort':1}],'env':[{'name':'A','valueFrom':"
               "{'fieldRef':{'fieldPath':'metadata.name'}}}]}");
    try_same(
        arena, container,
        "{'name':'c','image':'i:1','imagePullPolicy':'IfNotPresent','terminationMessagePath':'/dev/"
        "termination-log','terminationMessagePolicy':'File','resources':{'limits':{'cpu':'1'},'"
        "requests':{'cpu':'1'}},'readinessProbe':{'httpGet':{'port':1,'path':'/"
        "','scheme':'HTTP'},'timeoutSeconds':1,'periodSeconds':10,'successThreshold':1,'"
        "failureThreshold':3},'ports':[{'containerPort':1,'protocol':'TCP'}],'env':[{'name':'A','"
        "valueFrom':{'fieldRef':{'fieldPath':'metadata.name','apiVersion':'v1'}}}]}");
}

/* Defaulting runs before validation: whatever shape was sent, it must survive it. */
static void test_odd_shapes(void **state)
{
    static const defaults_fn fns[] = {
        objdefaults_pod,        objdefaults_deployment, objdefaults_daemonset,
        objdefaults_replicaset, objdefaults_service,    objdefaults_secret,
        objdefaults_hpa,        objdefaults_crd,        objdefaults_namespace};
    static const char *const objs[] = {
        "{'spec':{'containers':'x','volumes':{},'ports':7,'names':[],'metrics':1,'strategy':1}}",
        ("{'spec':{'containers':[1,null],'volumes':[1,null,{}],'ports':[1,null],'template':{'spec':"
         "[]}}}"),
        "{'spec':{'containers':[{'env':[1],'ports':[2],'resources':{'limits':[]},'image':3}]}}",
        "{'stringData':[],'data':3,'metadata':{'labels':1}}",
    };
    for (size_t f = 0; f < TRY_COUNT(fns); f++) {
        for (size_t i = 0; i < TRY_COUNT(objs); i++) {
            struct arena *arena TRY_FREED = arena_new();
            fns[f](try_json(arena, objs[i]), NULL);
        }
    }
}

static void test_service_keeps_its_address(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *obj = try_json(arena, "{'spec':{}}");
    objdefaults_service(obj, try_json(arena, "{'spec':{'clusterIP':'127.1.0.1'}}"));
    assert_string_equal(json_str_at(obj, "spec", "clusterIP", NULL), "127.1.0.1");
}

UNIT_MAIN(cmocka_unit_test(test_fields), cmocka_unit_test(test_pull_policy),
          cmocka_unit_test(test_container), cmocka_unit_test(test_odd_shapes),
          cmocka_unit_test(test_service_keeps_its_address))

/* What the store makes of objects of the built-in kinds, or why it refuses them. */
#include "api/trystore.h"

#define CONTAINERS "'containers':[{'name':'c','image':'i'}]"
#define TEMPLATE   "'template':{'metadata':{'labels':{'app':'x'}},'spec':{" CONTAINERS "}}"
#define SELECTOR   "'selector':{'matchLabels':{'app':'x'}}"
#define VERSION(stored)                                                                            \
    "{'name':'v1','served':true,'storage':" stored                                                 \
    ",'schema':{'openAPIV3Schema':{'type':'object'}}}"
#define CRD(name, versions)                                                                        \
    "{'metadata':{'name':'" name "'},'spec':{'group':'g.io','scope':'Cluster','names':{'plural':'" \
    "ts','kind':'BigT'},'versions':[" versions "]}}"
#define CRDS "apiextensions.k8s.io", "customresourcedefinitions"

/* What is found in the created object at a path; "" is nothing. */
static void test_defaults(void **state)
{
    static const struct {
        const char *group, *plural, *obj, *at[5], *wanted;
    } cases[] = {
        {"apps", "deployments", "{'spec':{" SELECTOR "," TEMPLATE "}}", {"spec", "replicas"}, "1"},
        {"apps",
         "deployments",
         "{'spec':{'replicas':0," SELECTOR "," TEMPLATE "}}",
         {"spec", "replicas"},
         "0"},
        {"apps",
         "deployments",
         "{'spec':{" SELECTOR "," TEMPLATE "}}",
         {"spec", "strategy"},
         "{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':'25%','maxSurge':'25%'}}"},
        {"apps",
         "deployments",
         "{'spec':{'strategy':{'type':'Recreate'}," SELECTOR "," TEMPLATE "}}",
         {"spec", "strategy"},
         "{'type':'Recreate'}"},
        {"apps",
         "deployments",
         "{'spec':{" SELECTOR "," TEMPLATE "}}",
         {"spec", "template", "spec"},
         "{'containers':[{'name':'c','image':'i','imagePullPolicy':'IfNotPresent','resources':{},'"
         "terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'File'}],'"
         "dnsPolicy':'ClusterFirst','restartPolicy':'Always','schedulerName':'default-scheduler','"
         "securityContext':{},'terminationGracePeriodSeconds':30}"},
        {"apps",
         "daemonsets",
         "{'spec':{" SELECTOR "," TEMPLATE "}}",
         {"spec", "updateStrategy", "rollingUpdate"},
         "{'maxUnavailable':1,'maxSurge':0}"},
        {"", "pods", "{'spec':{" CONTAINERS "}}", {"spec", "restartPolicy"}, "\"Always\""},
        {"",
         "services",
         "{'spec':{'ports':[{'port':80}]}}",
         {"spec", "ports"},
         "[{'port':80,'protocol':'TCP','targetPort':80}]"},
        {"",
         "services",
         "{'spec':{'ports':[{'port':80,'targetPort':'http'}]}}",
         {"spec", "ports"},
         "[{'port':80,'protocol':'TCP','targetPort':'http'}]"},
        {"", "secrets", "{'stringData':{'a':'b'}}", {"data"}, "{'a':'Yg=='}"},
        {"", "secrets", "{'stringData':{'a':'b'}}", {"stringData"}, ""},
        {"", "namespaces", "{}", {"spec"}, "{'finalizers':['kubernetes']}"},
        {"autoscaling",
         "horizontalpodautoscalers",
         "{'spec':{'maxReplicas':2,'scaleTargetRef':{'kind':'D','name':'x'}}}",
         {"spec", "metrics"},
         "[{'type':'Resource','resource':{'name':'cpu','target':{'type':'Utilization','"
         "averageUtilization':80}}}]"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct trystore t TRY_CLOSED = try_open();
        const struct objkind *kind = try_kind(&t, cases[i].group, cases[i].plural);
        struct json_object *obj = try_json(t.arena, cases[i].obj);
        json_set_str(json_sub(obj, "metadata"), "name", "x");
        obj = try_create(&t, kind, objkind_namespaced(kind) ? "default" : NULL,
                         json_text(t.arena, obj));
        for (size_t k = 0; k < 5 && cases[i].at[k] && obj; k++)
            obj = json_at(obj, cases[i].at[k], NULL);
        if (*cases[i].wanted)
            try_same(t.arena, obj, cases[i].wanted);
        else
            assert_null(obj);
    }
}

/* The beginning of why an object is refused; NULL: it is accepted. */
static void test_refused(void **state)
{
    static const struct {
        const char *group, *plural, *obj, *wanted;
    } cases[] = {
        {"apps", "deployments", "{'spec':{" TEMPLATE "}}", "spec.selector: Required value"},
        {"apps", "deployments", "{'spec':{'selector':{}," TEMPLATE "}}", "spec.selector: Invalid"},
        {"apps", "deployments", "{'spec':{'selector':7," TEMPLATE "}}", "[spec.selector: Invalid"},
        {"apps", "deployments", "{'spec':{'selector':{'matchLabels':{'app':'y'}}," TEMPLATE "}}",
         "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not "
         "match"},
        {"apps", "deployments", "{'spec':{'replicas':-1," SELECTOR "," TEMPLATE "}}",
         "spec.replicas: Invalid value: -1"},
        {"apps", "deployments", "{'spec':{'replicas':'2'," SELECTOR "," TEMPLATE "}}",
         "spec.replicas: Invalid value"},
        {"apps", "deployments", "{'spec':{'strategy':{'type':'Magic'}," SELECTOR "," TEMPLATE "}}",
         "spec.strategy.type: Unsupported value: \"Magic\""},
        {"apps", "deployments",
         "{'spec':{" SELECTOR ",'template':{'metadata':{'labels':{'app':'x'}},'spec':{'containers':"
         "[]}}}}",
         "spec.template.spec.containers: Invalid value"},
        {"apps", "deployments",
         "{'spec':{" SELECTOR ",'template':{'metadata':{'labels':{'app':'x'}},'spec':{'containers':"
         "[{'name':'c','image':'i','volumeMounts':[{'name':'v','mountPath':'/v'}]}]}}}}",
         "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
        {"", "pods", "{'spec':{'containers':[{'name':'c'}]}}",
         "spec.containers[0].image: Required value"},
        {"", "services", "{'spec':{'type':'ClusterIP'}}", "spec.ports: Required value"},
        {"", "services", "{'spec':{'type':'ExternalName'}}", "spec.externalName: Required value"},
        {"", "services", "{'spec':{'ports':[{'port':0}]}}", "spec.ports[0].port: Invalid value: 0"},
        {"", "services", "{'spec':{'ports':[{'port':1,'name':'a'},{'port':2,'name':'a'}]}}",
         "spec.ports[1]: Duplicate value"},
        {"", "services", "{'spec':{'ports':[{'port':1,'name':'a'},{'port':2}]}}",
         "spec.ports[1].name: Required value"},
        {"", "services", "{'metadata':{'name':'1s'},'spec':{'ports':[{'port':1}]}}",
         "metadata.name: Invalid value"},
        {"", "configmaps", "{'data':{'a':1}}", "data.a: Invalid value"},
        {"", "events", "{'involvedObject':{'namespace':'b'}}",
         "involvedObject.namespace: Invalid value: \"b\": does not match event.namespace"},
        {"", "events", "{'involvedObject':{}}", NULL},
        {"coordination.k8s.io", "leases", "{'spec':{'leaseDurationSeconds':0}}",
         "spec.leaseDurationSeconds: Invalid"},
        {"autoscaling", "horizontalpodautoscalers",
         "{'spec':{'scaleTargetRef':{'kind':'D','name':'x'},'minReplicas':3,'maxReplicas':2}}",
         "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`"},
        {"autoscaling", "horizontalpodautoscalers", "{'spec':{'maxReplicas':2}}",
         "spec.scaleTargetRef: Required value"},
        {"networking.k8s.io", "ingresses", "{'spec':{}}", "[spec: Invalid value"},
        {"", "namespaces", "{'metadata':{'name':'a.b'}}", "metadata.name: Invalid value"},
        {CRDS, CRD("ts.g.io", VERSION("true")), NULL},
        {CRDS, CRD("x.g.io", VERSION("true")), "metadata.name: Invalid value: \"x.g.io\": must be"},
        {CRDS, CRD("ts.g.io", VERSION("false")), "spec.versions: Invalid value: must have exactly"},
        {CRDS, CRD("ts.g.io", "{'name':'v1','storage':true}"),
         "[spec.versions[0].schema: Required value"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct trystore t TRY_CLOSED = try_open();
        const struct objkind *kind = try_kind(&t, cases[i].group, cases[i].plural);
        struct json_object *obj = try_json(t.arena, cases[i].obj);
        struct objcall call = try_call(&t);
        if (!json_str_at(obj, "metadata", "name", NULL))
            json_set_str(json_sub(obj, "metadata"), "name", "x");
        enum err err = objstore_create(t.store, &call, kind,
                                       objkind_namespaced(kind) ? "default" : NULL, obj, NULL);
        const char *found = err == ERR_OK ? "" : cause_text(&call.fail.causes);
        if (strncmp(found, cases[i].wanted ?: "", strlen(cases[i].wanted ?: "")) != 0 ||
            !*found != !cases[i].wanted)
            fail_msg("%s: \"%s\" instead of \"%s\"", cases[i].obj, found, cases[i].wanted);
    }
}

/* No shape that a client sends may make the checks read past what is there. */
static void test_odd_shapes(void **state)
{
    static const char *const objs[] = {
        "{}",
        "{'spec':{'containers':7,'ports':{},'rules':'x','versions':{},'strategy':1}}",
        "{'spec':{'containers':[1,null,[]],'ports':[1,null],'rules':[1,{'http':{'paths':[1]}}],'"
        "versions':[1,null],'selector':[],'template':[],'strategy':[],'names':1}}",
        "{'data':[],'stringData':[],'spec':{'selector':{},'template':{'spec':{'volumes':[1,null,{"
        "}],'containers':[{'volumeMounts':[1],'env':[2],'ports':[3]}]}}}}",
    };
    for (const struct objkind *kind = objkind_builtin(); kind->kind; kind++) {
        struct trystore t TRY_CLOSED = try_open();
        for (size_t i = 0; i < TRY_COUNT(objs); i++) {
            struct json_object *obj = try_json(t.arena, objs[i]);
            struct objcall call = try_call(&t);
            json_set_str(json_sub(obj, "metadata"), "name", "odd");
            (void)!objstore_create(t.store, &call, kind,
                                   objkind_namespaced(kind) ? "default" : NULL, obj, NULL);
        }
    }
}

static void test_kept(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *kind = try_kind(&t, "", "services");
    try_create(&t, kind, "default",
               "{'metadata':{'name':'s'},'spec':{'clusterIP':'127.1.0.1','ports':[{'port':1}]}}");
    struct objcall call = try_call(&t);
    struct json_object *out;
    assert_int_equal(
        objstore_update(
            t.store, &call, kind, "default", OBJSUB_NONE,
            try_json(t.arena, "{'metadata':{'name':'s'},'spec':{'ports':[{'port':1}]}}"), &out),
        ERR_OK);
    assert_string_equal(json_str_at(out, "spec", "clusterIP", NULL), "127.1.0.1");
    assert_int_equal(objstore_merge(t.store, &call, kind, "default", "s", OBJSUB_NONE,
                                    try_json(t.arena, "{'spec':{'clusterIP':'127.1.0.2'}}"), NULL),
                     ERR_INVALID);
}

UNIT_MAIN(cmocka_unit_test(test_defaults), cmocka_unit_test(test_refused),
          cmocka_unit_test(test_odd_shapes), cmocka_unit_test(test_kept))

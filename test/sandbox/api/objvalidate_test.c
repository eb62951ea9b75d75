#include "api/objvalidate.h"
#include "object/try.h"

typedef void (*validate_fn)(struct objfail *fail, struct json_object *obj, struct json_object *old);

#define CONTAINERS "'spec':{'containers':[{'name':'c','image':'i'}]}"
#define TEMPLATE   "'template':{'metadata':{'labels':{'app':'x'}}," CONTAINERS "}"
#define SELECTOR   "'selector':{'matchLabels':{'app':'x'}}"
#define VERSION(stored)                                                                            \
    "{'name':'v1','served':true,'storage':" stored                                                 \
    ",'schema':{'openAPIV3Schema':{'type':'object'}}}"
#define CRD(name, versions)                                                                        \
    "{'metadata':{'name':'" name "'},'spec':{'group':'g.io','scope':'Cluster','names':{'plural':'" \
    "ts','kind':'T'},'versions':[" versions "]}}"

/* The first cause, "field: message" (or its beginning); NULL: the object is accepted. */
static void test_causes(void **state)
{
    static const struct {
        validate_fn fn;
        const char *obj, *old, *wanted;
    } cases[] = {
        {objvalidate_workload, "{'spec':{" SELECTOR "," TEMPLATE "}}", NULL, NULL},
        {objvalidate_workload, "{'spec':{" TEMPLATE "}}", NULL, "spec.selector: Required value"},
        {objvalidate_workload, "{'spec':{'selector':{}," TEMPLATE "}}", NULL,
         "spec.selector: Invalid value: {}"},
        {objvalidate_workload, "{'spec':{'selector':7," TEMPLATE "}}", NULL,
         "spec.selector: Invalid value: 7"},
        {objvalidate_workload, "{'spec':{'selector':{'matchLabels':{'app':'y'}}," TEMPLATE "}}",
         NULL,
         "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not match "
         "template `labels`"},
        {objvalidate_workload, "{'spec':{" SELECTOR "," TEMPLATE "}}",
         "{'spec':{'selector':{'matchLabels':{'app':'z'}}}}",
         "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"x\"}}: field is immutable"},
        {objvalidate_workload, "{'spec':{'replicas':-1," SELECTOR "," TEMPLATE "}}", NULL,
         "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
        {objvalidate_workload, "{'spec':{'replicas':'2'," SELECTOR "," TEMPLATE "}}", NULL,
         "spec.replicas: Invalid value: \"2\": must be an integer"},
        {objvalidate_workload, "{'spec':{'strategy':{'type':'Magic'}," SELECTOR "," TEMPLATE "}}",
         NULL, "spec.strategy.type: Unsupported value: \"Magic\""},
        {objvalidate_workload,
         "{'spec':{'progressDeadlineSeconds':5,'minReadySeconds':5," SELECTOR "," TEMPLATE "}}",
         NULL, "spec.progressDeadlineSeconds: Invalid value: 5"},
        {objvalidate_pod, "{" CONTAINERS "}", NULL, NULL},
        {objvalidate_pod, "{" CONTAINERS "}",
         "{'spec':{'containers':[{'name':'c','image':'other'}]}}", NULL},
        {objvalidate_pod, "{" CONTAINERS "}", "{'spec':{'containers':[{'name':'d','image':'i'}]}}",
         "spec: Forbidden: pod updates may not change fields"},
        {objvalidate_service, "{'metadata':{'name':'s'},'spec':{'type':'ClusterIP'}}", NULL,
         "spec.ports: Required value"},
        {objvalidate_service,
         "{'metadata':{'name':'1s'},'spec':{'type':'ExternalName','externalName':'x'}}", NULL,
         "metadata.name: Invalid value: \"1s\": a DNS-1035 label"},
        {objvalidate_service,
         "{'metadata':{'name':'s'},'spec':{'type':'ClusterIP','ports':[{'port':0,'protocol':'TCP'}]"
         "}}",
         NULL, "spec.ports[0].port: Invalid value: 0"},
        {objvalidate_service,
         "{'metadata':{'name':'s'},'spec':{'type':'ClusterIP','clusterIP':'b','ports':[{'port':1,'"
         "protocol':'TCP'}]}}",
         "{'spec':{'clusterIP':'a'}}", "spec.clusterIP: Invalid value: \"b\": field is immutable"},
        {objvalidate_configmap, "{'data':{'a b':'x'}}", NULL, "data[a b]: Invalid value: \"a b\""},
        {objvalidate_configmap, "{'data':{'a':1}}", NULL,
         "data[a]: Invalid value: 1: must be a string"},
        {objvalidate_configmap, "{'data':{'a':'2'}}", "{'immutable':true,'data':{'a':'1'}}",
         "data: Forbidden: field is immutable when `immutable` is set"},
        {objvalidate_secret, "{'type':'a'}", "{'type':'b'}",
         "type: Invalid value: \"a\": field is immutable"},
        {objvalidate_event, "{'metadata':{'namespace':'a'},'involvedObject':{'namespace':'b'}}",
         NULL, "involvedObject.namespace: Invalid value: \"b\": does not match event.namespace"},
        {objvalidate_event, "{'metadata':{'namespace':'default'},'involvedObject':{}}", NULL, NULL},
        {objvalidate_lease, "{'spec':{'leaseDurationSeconds':0}}", NULL,
         "spec.leaseDurationSeconds: Invalid"},
        {objvalidate_hpa,
         "{'spec':{'scaleTargetRef':{'kind':'D','name':'x'},'minReplicas':3,'maxReplicas':2}}",
         NULL,
         "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`"},
        {objvalidate_hpa, "{'spec':{'maxReplicas':2}}", NULL,
         "spec.scaleTargetRef.kind: Required value"},
        {objvalidate_ingress, "{'spec':{}}", NULL, "spec: Invalid value: []: either"},
        {objvalidate_ingress, "{'spec':{'rules':[{'http':{'paths':[{}]}}]}}", NULL,
         "spec.rules[0].http.paths[0].pathType: Required value"},
        {objvalidate_namespace, "{'metadata':{'name':'a.b'}}", NULL,
         "metadata.name: Invalid value"},
        {objvalidate_crd, CRD("ts.g.io", VERSION("true")), NULL, NULL},
        {objvalidate_crd, CRD("x.g.io", VERSION("true")), NULL,
         "metadata.name: Invalid value: \"x.g.io\": must be"},
        {objvalidate_crd, CRD("ts.g.io", VERSION("false")), NULL,
         "spec.versions: Invalid value: must have exactly"},
        {objvalidate_crd, CRD("ts.g.io", "{'name':'v1','storage':true}"), NULL,
         "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct objfail fail = {.arena = arena};
        cases[i].fn(&fail, try_json(arena, cases[i].obj), try_json(arena, cases[i].old));
        const struct cause *cause = fail.causes.first;
        const char *found =
            cause ? arena_printf(arena, "%s: %s", cause->field, cause->message) : NULL;
        if (!cases[i].wanted
                ? found != NULL
                : !found || strncmp(found, cases[i].wanted, strlen(cases[i].wanted)) != 0) {
            fail_msg("%s: found %s, wanted %s", cases[i].obj, found ? found : "nothing",
                     cases[i].wanted ? cases[i].wanted : "nothing");
        }
    }
}

/* Validation sees what clients send: no shape may make it read past what is there. */
static void test_odd_shapes(void **state)
{
    static const validate_fn fns[] = {
        objvalidate_namespace, objvalidate_pod,     objvalidate_service, objvalidate_configmap,
        objvalidate_secret,    objvalidate_event,   objvalidate_lease,   objvalidate_workload,
        objvalidate_hpa,       objvalidate_ingress, objvalidate_crd};
    static const char *const objs[] = {
        "{}",
        "{'metadata':{'name':1},'spec':{'containers':7,'ports':{},'rules':'x','versions':{}}}",
        "{'spec':{'containers':[1,null,[]],'ports':[1,null],'rules':[1,{'http':{'paths':[1]}}],'"
        "versions':[1,null],'selector':[],'template':[],'strategy':[],'names':1}}",
        "{'data':[],'binaryData':'x','spec':{'template':{'spec':{'containers':[{'volumeMounts':[1],"
        "'env':[2],'ports':[3]}]}}}}",
    };
    for (size_t f = 0; f < TRY_COUNT(fns); f++) {
        for (size_t i = 0; i < TRY_COUNT(objs); i++) {
            struct arena *arena TRY_FREED = arena_new();
            struct objfail fail = {.arena = arena};
            fns[f](&fail, try_json(arena, objs[i]), NULL);
            fns[f](&fail, try_json(arena, objs[i]),
                   try_json(arena, objs[(i + 1) % TRY_COUNT(objs)]));
        }
    }
}

UNIT_MAIN(cmocka_unit_test(test_causes), cmocka_unit_test(test_odd_shapes))

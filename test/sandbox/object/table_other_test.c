#include "object/table_try.h"

#define META "'metadata':{'name':'n'," TRY_CREATED "}"

static void test_network(void **state)
{
    static const struct try_table cases[] = {
        {"", "Service",
         "{" META ",'spec':{'clusterIP':'10.0.0.1','selector':{'b':'2','a':'1'},'ports':[{'port':"
         "80},{'port':53,'protocol':'UDP','nodePort':30053}]}}",
         "\"n\",\"ClusterIP\",\"10.0.0.1\",\"<none>\",\"80/TCP,53:30053/UDP\",\"5m\",\"a=1,b=2\""},
        {"", "Service", "{" META ",'spec':{'type':'LoadBalancer'}}",
         "\"n\",\"LoadBalancer\",\"<none>\",\"<pending>\",\"<none>\",\"5m\",\"<none>\""},
        {"", "Service",
         "{" META ",'spec':{'type':'LoadBalancer','externalIPs':['1.1.1.1']},'status':{'"
         "loadBalancer':{'ingress':[{'ip':'2.2.2.2'},{'hostname':'h'}]}}}",
         "\"n\",\"LoadBalancer\",\"<none>\",\"2.2.2.2,h,1.1.1.1\",\"<none>\",\"5m\",\"<none>\""},
        {"", "Service", "{" META ",'spec':{'type':'ExternalName','externalName':'x.y'}}",
         "\"n\",\"ExternalName\",\"<none>\",\"x.y\",\"<none>\",\"5m\",\"<none>\""},
        {"", "Endpoints",
         "{" META
         ",'subsets':[{'addresses':[{'ip':'a'},{'ip':'b'}],'ports':[{'port':80},{'port':81}]}]}",
         "\"n\",\"a:80,b:80,a:81 + 1 more...\",\"5m\""},
        {"", "Endpoints", "{" META "}", "\"n\",\"<none>\",\"5m\""},
        {"discovery.k8s.io", "EndpointSlice",
         "{" META ",'addressType':'IPv4','ports':[{'port':80}],'endpoints':[{'addresses':['a']}]}",
         "\"n\",\"IPv4\",\"80\",\"a\",\"5m\""},
        {"networking.k8s.io", "Ingress",
         "{" META ",'spec':{'ingressClassName':'nginx','rules':[{'host':'a'},{'host':'b'}],'tls':[{"
         "}]},'status':{'loadBalancer':{'ingress':[{'ip':'1'}]}}}",
         "\"n\",\"nginx\",\"a,b\",\"1\",\"80, 443\",\"5m\""},
        {"networking.k8s.io", "Ingress", "{" META "}", "\"n\",\"<none>\",\"*\",\"\",\"80\",\"5m\""},
    };
    try_tables(cases, TRY_COUNT(cases));
}

static void test_plain(void **state)
{
    static const struct try_table cases[] = {
        {"", "ConfigMap", "{" META ",'data':{'a':''},'binaryData':{'b':''}}", "\"n\",2,\"5m\""},
        {"", "Secret", "{" META ",'type':'t'}", "\"n\",\"t\",0,\"5m\""},
        {"", "ServiceAccount", "{" META ",'secrets':[{}]}", "\"n\",1,\"5m\""},
        {"", "Namespace", "{" META ",'status':{'phase':'Terminating'}}",
         "\"n\",\"Terminating\",\"5m\""},
        {"coordination.k8s.io", "Lease", "{" META ",'spec':{'holderIdentity':'me'}}",
         "\"n\",\"me\",\"5m\""},
        {"apiextensions.k8s.io", "CustomResourceDefinition", "{" META "}",
         "\"n\",\"2026-01-01T00:00:00Z\""},
        {"", "Node",
         "{'metadata':{'name':'n'," TRY_CREATED ",'labels':{'node-role.kubernetes.io/"
         "cp':''}},'spec':{'unschedulable':true},'status':{'conditions':[{'type':'Ready','status':'"
         "True'}],'nodeInfo':{'kubeletVersion':'v1.30.0'},'addresses':[{'type':'InternalIP','"
         "address':'1.2.3.4'}]}}",
         "\"n\",\"Ready,SchedulingDisabled\",\"cp\",\"5m\",\"v1.30.0\",\"1.2.3.4\""},
        {"example.com", "Pod", "{" META "}", "\"n\",\"5m\""},
        {"", "Unheard", "{}", "null,\"<unknown>\""},
    };
    try_tables(cases, TRY_COUNT(cases));
}

static void test_events_and_autoscalers(void **state)
{
    static const struct try_table cases[] = {
        {"", "Event",
         "{" META ",'type':'Normal','reason':'Synced','message':'New "
         "revision!\\n','involvedObject':{'kind':'Canary','name':'podinfo'},'source':{'"
         "component':'flagger'},'firstTimestamp':'2026-01-01T00:00:00Z','lastTimestamp':'"
         "2026-01-01T00:04:50Z','count':3}",
         "\"10s\",\"Normal\",\"Synced\",\"canary/podinfo\",\"\",\"flagger\",\"New revision!\","
         "\"5m\",3,\"n\""},
        {"", "Event",
         "{" META
         ",'eventTime':'2026-01-01T00:04:00.000000Z','reportingComponent':'c','reportingInstance':'"
         "i','series':{'count':7,'lastObservedTime':'2026-01-01T00:04:59.5Z'}}",
         "\"0s\",null,null,\"\",\"\",\"c, i\",\"\",\"60s\",7,\"n\""},
        {"autoscaling", "HorizontalPodAutoscaler",
         "{" META
         ",'spec':{'scaleTargetRef':{'kind':'Deployment','name':'d'},'minReplicas':2,'maxReplicas':"
         "4,'metrics':[{'type':'Resource','resource':{'name':'cpu','target':{'type':'Utilization','"
         "averageUtilization':80}}},{'type':'Pods','pods':{'metric':{'name':'rps'},'target':{'"
         "averageValue':'10'}}},{'type':'Object'}]},'status':{'currentReplicas':3,'currentMetrics':"
         "[{'type':'Resource','resource':{'name':'cpu','current':{'averageUtilization':12}}}]}}",
         "\"n\",\"Deployment/d\",\"cpu: 12%/80%, <unknown>/10 (avg) + 1 "
         "more...\",\"2\",4,3,\"5m\""},
        {"autoscaling", "HorizontalPodAutoscaler", "{" META "}",
         "\"n\",\"/\",\"<none>\",\"<unset>\",0,0,\"5m\""},
    };
    try_tables(cases, TRY_COUNT(cases));
}

UNIT_MAIN(cmocka_unit_test(test_network), cmocka_unit_test(test_plain),
          cmocka_unit_test(test_events_and_autoscalers))

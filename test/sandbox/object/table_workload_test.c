#include "object/table_try.h"

#define META "'metadata':{'name':'p'," TRY_CREATED "}"
#define POD(status)                                                                                \
    "{" META ",'spec':{'containers':[{},{}],'initContainers':[{}]},'status':{" status "}}"
#define TAIL ",\"<none>\",\"<none>\",\"<none>\",\"<none>\""

static void test_pods(void **state)
{
    static const struct try_table cases[] = {
        {"", "Pod", "{}", "null,\"0/0\",\"Unknown\",\"0\",\"<unknown>\"" TAIL},
        {"", "Pod", POD("'phase':'Pending'"), "\"p\",\"0/2\",\"Pending\",\"0\",\"5m\"" TAIL},
        {"", "Pod",
         "{" META ",'spec':{'containers':[{}],'nodeName':'n','readinessGates':[{'conditionType':'g'"
         "},{'conditionType':'h'}]},'status':{'phase':'Running','podIP':'10.0.0.1','"
         "nominatedNodeName':'m','conditions':[{'type':'g','status':'True'}],'"
         "containerStatuses':[{'ready':true,'restartCount':2,'state':{'running':{}},'"
         "lastState':{'terminated':{'finishedAt':'2026-01-01T00:04:00Z'}}}]}}",
         "\"p\",\"1/1\",\"Running\",\"2 (60s ago)\",\"5m\",\"10.0.0.1\",\"n\",\"m\",\"1/2\""},
        {"", "Pod",
         POD("'phase':'Running','containerStatuses':[{'restartCount':3,'state':{'waiting':{'reason'"
             ":'CrashLoopBackOff'}}},{'ready':true,'state':{'running':{}}}]"),
         "\"p\",\"1/2\",\"CrashLoopBackOff\",\"3\",\"5m\"" TAIL},
        {"", "Pod",
         POD("'phase':'Failed','containerStatuses':[{'state':{'terminated':{'exitCode':3}}}]"),
         "\"p\",\"0/2\",\"ExitCode:3\",\"0\",\"5m\"" TAIL},
        {"", "Pod",
         POD("'phase':'Failed','containerStatuses':[{'state':{'terminated':{'signal':9}}}]"),
         "\"p\",\"0/2\",\"Signal:9\",\"0\",\"5m\"" TAIL},
        {"", "Pod",
         POD("'phase':'Running','containerStatuses':[{'state':{'terminated':{'reason':'Completed'}}"
             "},{'ready':true,'state':{'running':{}}}]"),
         "\"p\",\"1/2\",\"NotReady\",\"0\",\"5m\"" TAIL},
        {"", "Pod", POD("'phase':'Pending','initContainerStatuses':[{'state':{'running':{}}}]"),
         "\"p\",\"0/2\",\"Init:0/1\",\"0\",\"5m\"" TAIL},
        {"", "Pod",
         POD("'phase':'Pending','initContainerStatuses':[{'state':{'terminated':{'exitCode':0}}},{'"
             "state':{'waiting':{'reason':'ErrImagePull'}}}]"),
         "\"p\",\"0/2\",\"Init:ErrImagePull\",\"0\",\"5m\"" TAIL},
        {"", "Pod", POD("'phase':'Failed','reason':'Evicted'"),
         "\"p\",\"0/2\",\"Evicted\",\"0\",\"5m\"" TAIL},
        {"", "Pod",
         "{'metadata':{'name':'p','deletionTimestamp':'2026-01-01T00:00:00Z'},'status':{'phase':'"
         "Running'}}",
         "\"p\",\"0/0\",\"Terminating\",\"0\",\"<unknown>\"" TAIL},
    };
    try_tables(cases, TRY_COUNT(cases));
}

#define TEMPLATE                                                                                   \
    "'template':{'spec':{'containers':[{'name':'a','image':'i:1'},{'name':'b','image':'j:2'}]}},'" \
    "selector':{'matchLabels':{'app':'x'}}"
#define WIDE ",\"5m\",\"a,b\",\"i:1,j:2\",\"app=x\""

static void test_controllers(void **state)
{
    static const struct try_table cases[] = {
        {"apps", "Deployment",
         "{" META ",'spec':{'replicas':3," TEMPLATE
         "},'status':{'readyReplicas':2,'updatedReplicas':1,'availableReplicas':2}}",
         "\"p\",\"2/3\",1,2" WIDE},
        {"apps", "Deployment", "{" META ",'spec':{" TEMPLATE "}}", "\"p\",\"0/1\",0,0" WIDE},
        {"apps", "ReplicaSet",
         "{" META ",'spec':{'replicas':3," TEMPLATE "},'status':{'replicas':2,'readyReplicas':1}}",
         "\"p\",3,2,1" WIDE},
        {"apps", "DaemonSet",
         "{" META ",'spec':{" TEMPLATE
         "},'status':{'desiredNumberScheduled':5,'currentNumberScheduled':4,'numberReady':3,'"
         "updatedNumberScheduled':2,'numberAvailable':1}}",
         "\"p\",5,4,3,2,1,\"<none>\"" WIDE},
    };
    try_tables(cases, TRY_COUNT(cases));
}

UNIT_MAIN(cmocka_unit_test(test_pods), cmocka_unit_test(test_controllers))

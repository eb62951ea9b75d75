#include "real/history.h"
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

#define LINE(revision, kind, gone, time, object)                                                   \
    "{\"revision\":" #revision ",\"kind\":\"" kind "\",\"gone\":" #gone ",\"time\":" #time         \
    ",\"object\":" object "}"
#define POD(revision, time, name, app, ready)                                                      \
    LINE(revision, "Pod", false, time,                                                             \
         "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"app\":\"" app                         \
         "\"}},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"" ready "\"}]}}")
#define SERVICE(revision, time, name, app)                                                         \
    LINE(revision, "Service", false, time,                                                         \
         "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"selector\":{\"app\":\"" app "\"}}}")
#define SLICE(revision, time, service, pod)                                                        \
    LINE(revision, "EndpointSlice", false, time,                                                   \
         "{\"metadata\":{\"name\":\"" service                                                      \
         "-1\",\"labels\":{\"kubernetes.io/service-name\":\"" service                              \
         "\"}},\"endpoints\":[{\"conditions\":{\"ready\":true},\"targetRef\":{\"name\":\"" pod     \
         "\"}}]}")
#define ROUTE(revision, time, primary, canary)                                                     \
    LINE(revision, "HTTPRoute", false, time,                                                       \
         "{\"metadata\":{\"name\":\"app\"},\"spec\":{\"rules\":[{\"backendRefs\":["                \
         "{\"name\":\"app-primary\",\"weight\":" #primary "},{\"name\":\"app-canary\","            \
         "\"weight\":" #canary "}]}]}}")
#define CANARY(revision, time, phase, weight)                                                      \
    LINE(revision, "Canary", false, time,                                                          \
         "{\"metadata\":{\"name\":\"app\"},\"spec\":{\"targetRef\":{\"name\":\"app\"}},"           \
         "\"status\":{\"phase\":\"" phase "\",\"canaryWeight\":" #weight "}}")

/* A release in a namespace: its Canary in a phase, its Services, and pods of a Deployment. */
#define SET_UP(phase, analysis)                                                                    \
    LINE(1, "Canary", false, 0,                                                                    \
         "{\"metadata\":{\"name\":\"app\"},\"spec\":{\"targetRef\":{\"kind\":\"Deployment\","      \
         "\"name\":"                                                                               \
         "\"app\"},\"analysis\":{" analysis "}},\"status\":{\"phase\":\"" phase                    \
         "\",\"canaryWeight\":0}}")                                                                \
    "," SERVICE(2, 0, "app-primary", "app-primary") "," SERVICE(3, 0, "app-canary", "app")
#define POD_OF(revision, time, name, app, owner)                                                   \
    LINE(revision, "Pod", false, time,                                                             \
         "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"app\":\"" app                         \
         "\",\"pod-template-hash\":\"77\"},\"ownerReferences\":[{\"kind\":\"ReplicaSet\","         \
         "\"name\":\"" owner                                                                       \
         "-77\"}]},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}")
#define STEP(revision, time, primary, canary, writer)                                              \
    LINE(revision, "HTTPRoute", false, time,                                                       \
         "{\"metadata\":{\"name\":\"app\",\"managedFields\":[{\"manager\":\"" writer               \
         "\",\"time\":\"" #revision "\"}]},\"spec\":{\"rules\":[{\"backendRefs\":["                \
         "{\"name\":\"app-primary\",\"weight\":" #primary "},{\"name\":\"app-canary\","            \
         "\"weight\":" #canary "}]}]}}")
#define TWO_PRIMARIES                                                                              \
    POD_OF(4, 1, "p1", "app-primary", "app-primary")                                               \
    "," POD_OF(5, 1, "p2", "app-primary", "app-primary") ","
#define REPLICAS(revision, time, count, writer)                                                    \
    LINE(revision, "Deployment", false, time,                                                      \
         "{\"metadata\":{\"name\":\"app-primary\",\"managedFields\":[{\"manager\":\"" writer       \
         "\",\"time\":\"" #revision "\"}]},\"spec\":{\"replicas\":" #count "}}")
#define SCALER(revision, time)                                                                     \
    LINE(revision, "HorizontalPodAutoscaler", false, time,                                         \
         "{\"metadata\":{\"name\":\"own\"},\"spec\":{\"minReplicas\":2,\"maxReplicas\":20,"        \
         "\"scaleTargetRef\":{\"name\":\"app-primary\"}}}")
#define HOOKS                                                                                      \
    "\"webhooks\":[{\"name\":\"start\",\"type\":\"confirm-rollout\"},{\"name\":\"test\","          \
    "\"type\":\"rollout\"}]"
#define HOOK(revision, hook, checksum, passes)                                                     \
    LINE(revision, "Hook", false, 1,                                                               \
         "{\"canary\":\"app\",\"hook\":\"" hook "\",\"checksum\":\"" checksum                      \
         "\",\"passes\":" #passes "}")
#define REFUSED(revision, time, count)                                                             \
    LINE(revision, "Event", false, time,                                                           \
         "{\"metadata\":{\"name\":\"app.1\"},\"type\":\"Warning\",\"count\":" #count               \
         ",\"involvedObject\":{\"name\":\"app\"},\"message\":\"The API server refuses a write, "   \
         "which is tried again: no\"}")

/* Lines, and the rules that they break, in the order in which that is found. */
static const struct {
    const char *lines, *broken;
} cases[] = {
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "False"), ""}, /* not up yet */
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "True"), ""},
    /* The later line came first: what counts is the revision. */
    {POD(4, 9, "b", "app", "True") "," SERVICE(1, 0, "app", "app") "," POD(
         2, 5, "a", "app", "True") "," POD(5, 9, "a", "app", "False"),
     ""},
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "True") "," POD(5, 9, "a", "app",
                                                                           "False"),
     "pods"},
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "True") "," SERVICE(
         3, 6, "app", "app-primary") "," POD(4, 8, "p", "app-primary", "True"),
     "pods"},
    /* Only who gets weight must have pods. */
    {SERVICE(1, 0, "app-canary", "app") "," POD(2, 5, "a", "app", "True") "," POD(3, 6, "a", "app",
                                                                                  "False"),
     ""},
    {SERVICE(1, 0, "app-canary", "app") "," ROUTE(2, 1, 50, 50) "," POD(
         3, 5, "a", "app", "True") "," POD(4, 6, "a", "app", "False"),
     "pods"},
    {SERVICE(1, 0, "app-canary", "app") "," ROUTE(2, 1, 50, 50) "," POD(
         3, 5, "a", "app", "True") "," ROUTE(4, 6, 100, 0) "," POD(5, 7, "a", "app", "False"),
     ""},
    {ROUTE(1, 0, 100, 0) "," ROUTE(2, 1, 100, 20) "," ROUTE(3, 2, 100, 30), "weights"},
    /* Endpoints may be late, but not for long. */
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "True") "," SLICE(
         3, 6, "app", "a") "," POD(4, 10, "b", "app",
                                   "True") "," POD(5, 11, "a", "app",
                                                   "False") "," SLICE(6, 500, "app", "b"),
     ""},
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "True") "," SLICE(
         3, 6, "app", "a") "," POD(4, 10, "b", "app",
                                   "True") "," POD(5, 11, "a", "app",
                                                   "False") "," SLICE(6, 2500, "app", "b"),
     "endpoints"},
    {CANARY(1, 0, "Succeeded", 0) "," ROUTE(2, 0, 100, 0), ""},
    {CANARY(1, 0, "Failed", 20) "," ROUTE(2, 0, 100, 0), "status"},
    {CANARY(1, 0, "Progressing", 20), "rest"},
    /* Whose pods a Service selects. */
    {SET_UP("Succeeded", "") "," TWO_PRIMARIES POD_OF(6, 2, "a", "app", "app"), ""},
    {SET_UP("Succeeded", "") "," POD_OF(4, 2, "a", "app", "worker"), "owner"},
    {SET_UP("Initializing", "") "," POD_OF(4, 2, "a", "app", "worker"), "rest"},
    /* A step leads to as many pods as its share; a person may write what he likes. */
    {SET_UP("Succeeded", "") "," STEP(4, 0, 100, 0, "x") "," TWO_PRIMARIES POD_OF(
         6, 2, "a", "app", "app") "," STEP(7, 9000, 50, 50, "flagger-controller"),
     "status"},
    {SET_UP("Succeeded", "") "," STEP(4, 0, 100, 0, "x") "," TWO_PRIMARIES POD_OF(
         6, 2, "a", "app", "app") "," STEP(7, 9000, 40, 60, "flagger-controller"),
     "capacity status"},
    {SET_UP("Succeeded", "") "," STEP(4, 0, 100, 0, "x") "," TWO_PRIMARIES POD_OF(
         6, 2, "a", "app", "app") "," STEP(7, 9000, 40, 60, "kubectl"),
     "status"},
    {SET_UP("Succeeded", "\"capacity\":\"any\"") "," STEP(4, 0, 100, 0, "x") "," TWO_PRIMARIES
         POD_OF(6, 2, "a", "app", "app") "," STEP(7, 9000, 40, 60, "flagger-controller"),
     "status"},
    /* Numbers that an autoscaler owns; at first the controller does not know it. */
    {SET_UP("Succeeded", "") "," SCALER(4, 0) "," REPLICAS(5, 1, 12, "x") "," REPLICAS(
         6, 9000, 4, "flagger-controller"),
     "number"},
    {SET_UP("Succeeded", "") "," SCALER(4, 0) "," REPLICAS(5, 1, 12, "x") "," REPLICAS(
         6, 1000, 4, "flagger-controller"),
     ""},
    {SET_UP("Succeeded", "") "," SCALER(4, 0) "," REPLICAS(5, 1, 12, "x") "," REPLICAS(6, 9000, 4,
                                                                                       "hpa"),
     ""},
    /* What the gate has let in. */
    {SET_UP("Succeeded", HOOKS) "," HOOK(4, "start", "a", true) "," HOOK(5, "test", "a", true), ""},
    {SET_UP("Succeeded", HOOKS) "," HOOK(4, "start", "a", true) "," HOOK(5, "test", "b", true),
     "gate"},
    {SET_UP("Succeeded", HOOKS) "," HOOK(4, "start", "a", false) "," HOOK(5, "test", "a", true),
     "gate"},
    {SET_UP("Succeeded", HOOKS) "," HOOK(4, "start", "a", true) "," HOOK(
         5, "start", "a", false) "," HOOK(6, "test", "a", true),
     ""},
    /* Told once, or now and then. */
    {SET_UP("Succeeded", "") "," REFUSED(4, 0, 1) "," REFUSED(5, 60000, 9), "told"},
    {SET_UP("Succeeded", "") "," REFUSED(4, 0, 1) "," REFUSED(5, 60000, 2) "," REFUSED(6, 120000,
                                                                                       3),
     ""},
    {SET_UP("Unheard", ""), "health rest"},
};

static void note(void *arg, const char *rule, const char *sentence)
{
    char *broken = arg;
    size_t len = strlen(broken);
    assert_true(sentence[0] != 0);
    snprintf(broken + len, 100 - len, "%s%s", len ? " " : "", rule);
}

CASE(every_rule_is_found_broken_and_kept)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct errinfo ei = {0};
        struct json_object *lines = NULL;
        char broken[100] = "";
        const char *text = arena_printf(arena, "[%s]", cases[i].lines);
        if (json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &lines, &ei) != ERR_OK)
            fail_msg("case %zu: %s", i, ei.text);
        history_sort(lines);
        size_t count = history_check(lines, note, broken);
        if (strcmp(broken, cases[i].broken) != 0)
            fail_msg("case %zu: broke \"%s\", not \"%s\"", i, broken, cases[i].broken);
        size_t rules = cases[i].broken[0] != 0;
        for (const char *at = cases[i].broken; *at; at++)
            rules += *at == ' ';
        assert_int_equal(count, rules);
    }
}

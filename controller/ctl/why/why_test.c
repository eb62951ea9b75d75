#include "ctl/why/why.h"

#include <string.h>

#include "test/unit.h"

/* 1970-01-01T00:10:00Z */
enum { NOW_MS = 600000 };

static struct json_object *parse(const char *text)
{
    struct json_object *out = NULL;
    struct errinfo ei = {0};

    if (!text)
        return NULL;
    if (json_parse(unit_arena, text, strlen(text), JSON_MAX_BYTES, &out, &ei) != ERR_OK)
        fail_msg("%s: %s", ei.text, text);
    return out;
}

#define SINCE "\"lastTransitionTime\": \"1970-01-01T00:05:00Z\""
#define CONDITION(type, status, reason)                                                            \
    "{\"status\": {\"phase\": \"Progressing\", \"failedChecks\": 2, \"lastAppliedSpec\": \"a\", "  \
    "\"conditions\": [{\"type\": \"" type "\", \"status\": \"" status "\", \"reason\": \"" reason  \
    "\", \"message\": \"it says so.\", " SINCE "}]}"
#define PHASE(phase)                                                                               \
    "{\"status\": {\"phase\": \"" phase "\", \"lastAppliedSpec\": \"a\", " SINCE "}"
#define WAITS(reason)                                                                              \
    "[{\"metadata\": {\"name\": \"p\", \"creationTimestamp\": \"1970-01-01T00:09:00Z\"}, "         \
    "\"status\": {\"containerStatuses\": [{\"name\": \"c\", \"image\": \"x:1\", "                  \
    "\"restartCount\": "                                                                           \
    "3, \"state\": {\"waiting\": {\"reason\": \"" reason "\", \"message\": \"m\"}}}]}}]"

static const struct {
    const char *situation;
    const char *canary; /* without its end: metadata and spec are added */
    const char *spec;   /* members, or NULL */
    const char *lease, *target, *pods, *gate, *live;
    const char *text, *next;
} rows[] = {
    {"labels-shared",
     "{\"status\": {\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\", \"conditions\": "
     "[{\"type\": \"PodsOwned\", \"status\": \"False\", \"reason\": "
     "\"PodsOfOthers\", \"message\": \"it says so.\", " SINCE "}]}",
     .text = "Nothing holds app up, but for 5m: it says so",
     .next = "kubectl -n shop get pods --show-labels"},
    {"labels-shared",
     "{\"status\": {\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\", \"conditions\": "
     "[{\"type\": \"PodsOwned\", \"status\": \"False\", \"reason\": "
     "\"PrimarySelectsOthers\", \"message\": \"it says so.\", " SINCE "}]}",
     .text = "Nothing holds app up, but for 5m: it says so",
     .next = "ctl renew-primary app -n shop"},
    {"companion-uncopied",
     "{\"status\": {\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\", \"conditions\": "
     "[{\"type\": \"CompanionsCopied\", \"status\": \"False\", \"reason\": \"SourceMissing\", "
     "\"message\": \"it says so.\", " SINCE "}]}",
     .text = "Nothing holds app up, but for 5m: it says so",
     .next = "kubectl -n shop edit canary app"},
    {"companions-unfit",
     "{\"status\": {\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\", \"conditions\": "
     "[{\"type\": "
     "\"CompanionsFit\", \"status\": \"False\", \"message\": \"it says so.\", " SINCE "}]}",
     .text = "Nothing holds app up, but for 5m: it says so"},
    {"at-rest", PHASE("Succeeded"), .text = "Nothing holds app: revision a is promoted, for 5m"},
    {"at-rest",
     "{\"status\": {\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\", \"history\": "
     "[{\"hooks\": "
     "[{\"name\": \"go\", \"type\": \"confirm-promotion\", \"passed\": true, \"said\": \"Approved "
     "by "
     "\\u001b[31malice: looks good\"}, {\"name\": \"b\", \"type\": \"confirm-rollout\", "
     "\"passed\": "
     "true, \"said\": \"Approved\"}]}]}",
     .text = "begins a release. At its gates: go: Approved by ?[31malice: looks good"},
    {"under-way", PHASE("Progressing"), .text = "goes on every 1m",
     .next = "ctl get app -n shop -w"},
    {"not-begun", PHASE("Succeeded"), .live = "b", .text = "has revision b"},
    {"failed", PHASE("Failed"), .text = "Revision a of app was rolled back 5m ago",
     .next = "ctl restart app -n shop"},
    {"no-controller", "{\"status\": {}", .text = "since it was made 10m ago"},
    {"lease-lost", PHASE("Succeeded"),
     .lease = "{\"metadata\": {\"namespace\": \"n\", \"name\": \"l\"}, \"spec\": {\"renewTime\": "
              "\"1970-01-01T00:08:00.000000Z\", \"holderIdentity\": \"h\"}}",
     .text = "its lease n/l was last renewed 2m ago by h"},
    {"at-rest", PHASE("Succeeded"),
     .lease = "{\"spec\": {\"renewTime\": \"1970-01-01T00:09:50.000000Z\"}}", .text = "Nothing"},
    {"suspended", PHASE("Succeeded"), "\"suspend\": true", .text = "spec.suspend is true",
     .next = "kubectl -n shop patch canary app --type merge -p '{\"spec\":{\"suspend\":false}}'"},
    {"spec-refused", CONDITION("Accepted", "False", "InvalidSpec"),
     .text = "refused for 5m: it says so. The release that runs",
     .next = "kubectl -n shop edit canary app"},
    {"judged-worse", CONDITION("ChecksPassed", "False", "Worse"),
     .text = "The canary of app is worse than its primary, and is being rolled back, for 5m: it "
             "says so"},
    {"judge-undecided", CONDITION("Judged", "False", "Undecided"),
     .text = "app waits until its canary has had enough requests to be judged, for 5m: it says so"},
    {"right-missing", CONDITION("ResourcesAllowed", "False", "Forbidden"), .text = "lacks a right"},
    {"crd-missing", CONDITION("ResourcesServed", "False", "NotServed"), .text = "it says so"},
    {"target-missing", CONDITION("TargetFound", "False", "TargetMissing"), .text = "it says so"},
    {"pods-of-others", CONDITION("PodsOwned", "False", "SelectsOthers"), .text = "it says so"},
    {"config-missing", CONDITION("Configured", "False", "ConfigMissing"), .text = "it says so"},
    {"primary-missing", CONDITION("PrimaryFound", "False", "ScaledToZero"), .text = "it says so"},
    {"scaler-missing", CONDITION("AutoscalerFound", "False", "AutoscalerMissing"),
     .text = "it says so"},
    {"queued", CONDITION("Admitted", "False", "Queued"), .text = "waits for its turn, for 5m"},
    {"gate-closed", CONDITION("Approved", "False", "WaitingForTrafficIncrease"),
     .text = "for 5m. The traffic stays as it is", .next = "ctl approve app -n shop"},
    {"gate-closed", PHASE("Waiting"), .text = "Nothing of the new revision runs before that"},
    {"frozen", CONDITION("Approved", "False", "WaitingForPromotion"),
     .gate =
         "{\"gates\": [{\"kind\": \"gate\", \"frozen\": {\"id\": 7, \"reason\": \"holidays\"}}]}",
     .text = "for 5m: holidays", .next = "curl -X DELETE http://gate/v1/freezes/7"},
    {"quorum-missing", PHASE("WaitingPromotion"),
     .gate = "{\"gates\": [{\"kind\": \"gate\", \"votes\": [{}], \"policy\": {\"quorum\": 2, "
             "\"approvers\": [\"a\", \"b\"]}}]}",
     .text = "1 of 2 approvals are there. Those who may: a, b"},
    {"image-missing", PHASE("Progressing"), .pods = WAITS("ImagePullBackOff"),
     .text = "the container c of the pod p has waited for x:1, for 1m: m",
     .next = "kubectl -n shop describe pod p"},
    {"crashing", PHASE("Progressing"), .pods = WAITS("CrashLoopBackOff"),
     .text = "is in CrashLoopBackOff, after it was started again 3 times: m",
     .next = "kubectl -n shop logs p -c c --previous"},
    {"crashing", PHASE("Progressing"),
     .pods = "[{\"metadata\": {\"name\": \"p\"}, \"status\": {\"containerStatuses\": [{\"name\": "
             "\"c\", \"restartCount\": 2, \"ready\": false, \"state\": {\"running\": {}}, "
             "\"lastState\": {\"terminated\": {\"exitCode\": 3}}}]}}]",
     .text = "container c of p has ended with exit code 3, and was started again 2 times",
     .next = "kubectl -n shop logs p -c c --previous"},
    {"quota", PHASE("Progressing"),
     .target =
         "{\"status\": {\"conditions\": [{\"type\": \"ReplicaFailure\", \"status\": \"True\", "
         "\"message\": \"exceeded quota: pods\", " SINCE "}]}}",
     .text = "Pods beyond a quota of app cannot be made, for 5m: exceeded quota: pods",
     .next = "kubectl -n shop describe resourcequota"},
    {"unschedulable", PHASE("Progressing"),
     .pods = "[{\"metadata\": {\"name\": \"p\"}, \"status\": {\"conditions\": [{\"type\": "
             "\"PodScheduled\", \"status\": \"False\", \"message\": \"0/3 nodes\", " SINCE "}]}}]",
     .text = "No node takes the pod p of app, for 5m: 0/3 nodes"},
    {"pods-not-ready", PHASE("Progressing"),
     .target = "{\"metadata\": {\"name\": \"app\"}, \"spec\": {\"replicas\": 4}, \"status\": "
               "{\"readyReplicas\": 1}}",
     .text = "of the canary app, 1 of 4 are ready"},
    {"pods-not-ready", PHASE("Progressing"),
     .target = "{\"metadata\": {\"name\": \"app\"}, \"spec\": {\"replicas\": 1}, \"status\": "
               "{\"replicas\": 2, \"updatedReplicas\": 1, \"readyReplicas\": 1}}",
     .text = "of the canary app, 0 of 1 are ready"},
    {"side-waits", CONDITION("PrimaryReady", "False", "Waiting"), .text = "it says so"},
    {"primary-unserved", CONDITION("TrafficServed", "False", "PrimaryNotServing"),
     .text = "The primary of app has lost all its pods, for 5m: it says so"},
    {"outrun", CONDITION("Outrun", "True", "ReplacedInARow"),
     .text = "no release of it has come to its end, for 5m: it says so"},
    {"superseded", CONDITION("Superseded", "True", "RevisionWaits"),
     .text = "What was pushed last for app waits, for 5m: it says so"},
    {"routes-pending", CONDITION("RoutesSettled", "False", "RoutesPending"),
     .text = "has not accepted the routes of app, for 5m: it says so"},
    {"stalled", CONDITION("Advancing", "False", "Stalled"),
     .text = "has stalled, for 5m: it says so"},
    {"metrics-held", CONDITION("Measured", "False", "Held"), .text = "it says so"},
    {"metrics-held", CONDITION("Measured", "False", "Unreachable"),
     .text = "until its metrics can be asked, for 5m: it says so"},
    {"hook-failing", CONDITION("ChecksPassed", "False", "HookFailed"), .text = "fails, for 5m"},
    {"no-metrics", CONDITION("ChecksPassed", "False", "NoValues"),
     "\"analysis\": {\"threshold\": 5}",
     .text = "2 of 5 failed checks are counted; at 5 it is rolled back"},
    {"metric-server-down", CONDITION("ChecksPassed", "False", "QueryFailed"), .text = "it says so"},
    {"metric-unusable", CONDITION("ChecksPassed", "False", "NotUsable"), .text = "it says so"},
    {"out-of-range", CONDITION("ChecksPassed", "False", "OutOfRange"), .text = "was bad, 5m ago"},
    {"primary-waits", CONDITION("PrimaryScaled", "False", "Promoting"), .text = "it says so"},
    {"share-waits", CONDITION("CanaryScaled", "False", "Waiting"), .text = "it says so"},
    {"target-idle",
     "{\"status\": {\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\", \"conditions\": "
     "[{\"type\": \"TargetIdle\", \"status\": \"False\", \"reason\": \"ScaledByHand\", "
     "\"message\": \"it says so\", " SINCE "}]}",
     .text = "Nothing is released, for 5m: it says so"},
    {"paused",
     "{\"status\": {\"phase\": \"Progressing\", \"paused\": {\"by\": \"eve\", \"why\": \"lunch\", "
     "\"since\": \"1970-01-01T00:05:00Z\"}}",
     .text = "eve has paused the release of app, 5m ago, saying lunch",
     .next = "ctl resume app -n shop"},
};

CASE(each_situation_has_its_sentence)
{
    for (size_t i = 0; unit_row("rows", i, sizeof(rows) / sizeof(rows[0])); i++) {
        struct why_answer answer;
        const struct facts facts = {
            .now_ms = NOW_MS,
            .canary = parse(
                arena_printf(arena,
                             "%s, \"metadata\": {\"name\": \"app\", \"namespace\": \"shop\", "
                             "\"creationTimestamp\": \"1970-01-01T00:00:00Z\"}, \"spec\": {%s}}",
                             rows[i].canary, rows[i].spec ? rows[i].spec : "")),
            .lease = parse(rows[i].lease),
            .target = parse(rows[i].target),
            .pods = parse(rows[i].pods),
            .gate = parse(rows[i].gate),
            .gate_url = "http://gate",
            .live = rows[i].live ? rows[i].live : "a"};
        why_of(arena, "ctl", &facts, &answer);
        assert_string_equal(answer.situation, rows[i].situation);
        if (!strstr(answer.text, rows[i].text))
            fail_msg("\"%s\" is not in \"%s\"", rows[i].text, answer.text);
        if (rows[i].next)
            assert_string_equal(answer.next, rows[i].next);
    }
}

CASE(what_objects_say_is_cleaned)
{
    struct why_answer answer;
    const struct facts facts = {
        .now_ms = NOW_MS,
        .canary = parse("{\"metadata\": {\"name\": \"app\"}, \"status\": {\"phase\": "
                        "\"Progressing\", \"conditions\": [{\"type\": \"Accepted\", \"status\": "
                        "\"False\", \"message\": \"\\u001b[31mred\"}]}}")};

    why_of(arena, "ctl", &facts, &answer);
    assert_null(strchr(answer.text, '\033'));
}

CASE(no_two_situations_have_one_name)
{
    const char *const *names = why_situations(arena);

    for (size_t i = 0; names[i]; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(names[i], names[k]);
}

#include "test/rows.h"
#include "test/unit.h"

#include <string.h>

#include "ctl/why/why.h"

/* 1970-01-01T00:10:00Z */
enum { NOW_MS = 600000 };

static const char *const phases[] = {
#define WAVES_PHASE(name) #name,
#include "fleet/waves_phase.def"
#undef WAVES_PHASE
};

static const char spec[] =
    "{'application':'shop','waves':[{'name':'first','soak':'10m','gate':{'url':"
    "'http://gate.flagger/gate/check'}},{'name':'second'}]}";

#define SINCE ",'lastTransitionTime':'1970-01-01T00:05:00Z'"

static const struct {
    const char *situation, *status, *text, *next;
} rows[] = {
    {"plan-not-seen", NULL, "since it was made 10m ago",
     "kubectl get pods -A -l app.kubernetes.io/name=flagger"},
    {"plan-pending", "{'phase':'Pending','message':'m'}", "m", NULL},
    {"plan-releases",
     "{'phase':'Releasing','message':'wave second: 1 of 5','waves':[{'name':'first','passed':true},"
     "{'name':'second'}],'clusters':[{'name':'a','wave':'first','says':'x'},{'name':'b','wave':"
     "'second','state':'Promoted','says':'has promoted revision "
     "r2'},{'name':'c','wave':'second','says':'waits'},"
     "{'name':'d','wave':'second','says':'waits too'},{'name':'e','wave':'second','says':'y'},"
     "{'name':'f','wave':'second','says':'z'},{'name':'g','wave':'second','says':'z'}]}",
     "wave second: 1 of 5; cluster c: waits; cluster d: waits too; cluster e: y; and 2 more. The "
     "plan goes on when each",
     NULL},
    {"plan-soaks",
     "{'phase':'Soaking','message':'m','waves':[{'name':'first','completed':"
     "'1970-01-01T00:05:00Z'}]}",
     "m until 1970-01-01T00:15:00Z, for 5m more. Then its gate is asked", NULL},
    {"plan-at-gate", "{'phase':'AtGate','message':'m','waves':[{'name':'first'}]}",
     "m. http://gate.flagger/gate/check is asked every ten seconds",
     "curl -d '{\"name\":\"shop\",\"namespace\":\"default\"}' http://gate.flagger/gate/open"},
    {"plan-closed", "{'phase':'Closed','message':'wave second: the next window begins at x'}",
     "begins at x. What was let go before goes on", NULL},
    {"plan-stopped",
     "{'phase':'Stopped','message':'m','revision':'r1','conditions':[{'type':'Stopped'" SINCE
     "}],'clusters':[{'name':'a','phase':'Succeeded','revision':'r1'},{'name':'b','phase':'Failed',"
     "'revision':'r2'}]}",
     "stands still, for 5m: m.",
     "kubectl -n default annotate releaseplan shop flagger.app/accept-failed=r2"},
    {"plan-at-rest",
     "{'phase':'Completed','message':'all is well','conditions':[{'type':'Ready'" SINCE "}]}",
     "Nothing holds shop: all is well, for 5m.", NULL},
    {"plan-given-back", "{'phase':'GivingBack','message':'m'}", "m", NULL},
    {"plan-pending",
     "{'phase':'Pending','message':'m','conditions':[{'type':'Late','status':'True'" SINCE "}]}",
     "m. The deadline of the wave has passed 5m ago", NULL},
    {"unknown", "{'phase':'Tomorrow','message':'m'}", "m", NULL},
};

static struct json_object *plan_with(struct arena *arena, const char *status)
{
    struct json_object *plan =
        rows_json(arena, "{'metadata':{'name':'shop','namespace':'default','creationTimestamp':"
                         "'1970-01-01T00:00:00Z'}}");

    json_set(plan, "spec", rows_json(arena, spec));
    if (status)
        json_set(plan, "status", rows_json(arena, status));
    return plan;
}

CASE(each_phase_of_a_plan_has_its_sentence)
{
    EACH_ROW (row, rows) {
        struct why_answer answer;
        why_release_plan(arena, "ctl", plan_with(arena, row->status), NOW_MS, &answer);
        assert_string_equal(answer.situation, row->situation);
        if (!strstr(answer.text, row->text))
            fail_msg("\"%s\" is not in \"%s\"", row->text, answer.text);
        if (row->next)
            assert_string_equal(answer.next, row->next);
        else
            assert_null(answer.next);
    }
}

CASE(no_phase_is_forgotten)
{
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        struct why_answer answer;
        why_release_plan(arena, "ctl",
                         plan_with(arena, arena_printf(arena, "{'phase':'%s'}", phases[i])), NOW_MS,
                         &answer);
        if (strcmp(answer.situation, "unknown") == 0)
            fail_msg("%s", phases[i]);
    }
}

CASE(a_canary_that_a_plan_holds)
{
    struct why_answer answer;
    const struct facts facts = {
        .now_ms = NOW_MS,
        .canary = rows_json(
            arena, "{'metadata':{'name':'app','namespace':'test','annotations':{'flagger.app/"
                   "held-by':'fleet/shop'}},'spec':{'suspend':true},'status':{'phase':"
                   "'Succeeded','conditions':[{'type':'Suspended','status':'True'}]}}")};

    why_of(arena, "ctl", &facts, &answer);
    assert_string_equal(answer.situation, "held-by-plan");
    assert_string_equal(answer.next, "ctl why plan/shop -n fleet");
    assert_non_null(strstr(answer.text, "app is held by the ReleasePlan fleet/shop"));
}

#include "fleet/rules/record.h"

#include "test/rows.h"
#include "test/unit.h"

static const struct report_row rows[] = {
    {.policy = "shop-0",
     .cluster = "one",
     .namespace_ = "test",
     .name = "podinfo",
     .state = REPORT_Ready,
     .seen = true,
     .phase = PHASE_Progressing,
     .weight = 20,
     .failed_checks = 1,
     .iterations = 2,
     .applied = "5d4f8b",
     .promoted = "77c1aa",
     .transition = "2026-11-25T09:00:00Z",
     .contact_ms = 1000},
    {.policy = "shop-0",
     .cluster = "two",
     .namespace_ = "test",
     .name = "podinfo",
     .state = REPORT_Unreachable,
     .says = "GET /version: connection refused",
     .contact_ms = 60000,
     .seen = true,
     .phase = PHASE_Failed,
     .applied = "5d4f8b",
     .promoted = "",
     .transition = ""},
    {.policy = "shop-0",
     .cluster = "three",
     .namespace_ = "test",
     .name = "podinfo",
     .state = REPORT_Working,
     .applied = "",
     .promoted = "",
     .transition = ""},
    {.policy = "old",
     .cluster = "one",
     .state = REPORT_Leaving,
     .applied = "",
     .promoted = "",
     .transition = ""},
};

static const char whole[] =
    "{'observedGeneration':3,'conditions':[{'type':'Accepted','status':'True','reason':'Accepted',"
    "'message':'','lastTransitionTime':'2026-01-01T00:00:00Z'},{'type':'Ready','status':'False',"
    "'reason':'NotReady','message':'1 of 4 are as they are to be; shop-0 on two is Unreachable: "
    "GET "
    "/version: connection refused','lastTransitionTime':'1970-01-01T00:02:00Z'}],'summary':{"
    "'clusters':4,'pending':0,'working':1,'ready':1,'waiting':0,'refused':0,'failing':0,"
    "'unreachable':1,'leaving':1,'releasesUnderWay':1,'releasesFailed':1},'syncStatus':[{'name':"
    "'shop-0','rolloutStatus':{'clusterName':'one','rolloutNameInCluster':'podinfo',"
    "'rolloutStatusInCluster':{'phase':'Progressing','failedChecks':1,'canaryWeight':20,"
    "'iterations':2,'lastAppliedSpec':'5d4f8b','lastPromotedSpec':'77c1aa','lastTransitionTime':"
    "'2026-11-25T09:00:00Z'}}},{'name':'shop-0','rolloutStatus':{'clusterName':'two',"
    "'rolloutNameInCluster':'podinfo','rolloutStatusInCluster':{'phase':'Failed','failedChecks':0,"
    "'canaryWeight':0,'iterations':0,'lastAppliedSpec':'5d4f8b'}}},{'name':'shop-0',"
    "'rolloutStatus':{'clusterName':'three','rolloutNameInCluster':'podinfo'}}],'clusters':[{"
    "'policy':'shop-0','cluster':'one','state':'Ready','canary':'test/podinfo','phase':"
    "'Progressing','weight':20,'revision':'5d4f8b','promoted':'77c1aa'},{'policy':'shop-0',"
    "'cluster':'two','state':'Unreachable','message':'GET /version: connection refused','canary':"
    "'test/podinfo','lastContact':'1970-01-01T00:01:00Z','phase':'Failed','weight':0,'revision':"
    "'5d4f8b'},{'policy':'shop-0','cluster':'three','state':'Working','canary':'test/podinfo'},{"
    "'policy':'old','cluster':'one','state':'Leaving'}]}";

CASE(all_of_a_status)
{
    const struct report report = {.generation = 3, .rows = rows, .count = 4, .now_ms = 120000};
    struct json_object *old = rows_json(
        arena, "{'conditions':[{'type':'Accepted','status':'True','lastTransitionTime':"
               "'2026-01-01T00:00:00Z'},{'type':'Ready','status':'True','lastTransitionTime':"
               "'2026-01-01T00:00:00Z'}]}");

    struct json_object *found = report_json(arena, &report, old);
    if (!json_same(found, rows_json(arena, whole)))
        fail_msg("found %s", json_text(arena, found));
}

CASE(what_is_ready_or_not_ours)
{
    static const struct {
        struct report report;
        const char *conditions;
    } cases[] = {
        {{.rows = rows, .count = 1},
         "Accepted:True:Accepted: Ready:True:AllReady:1 of 1 are as they are to be "},
        {{.mistake = "spec: bad", .rows = rows, .count = 1},
         "Accepted:False:Invalid:spec: bad Ready:False:NotReady:spec: bad "},
        {{.trouble = "no fleet", .rows = rows, .count = 1},
         "Accepted:True:Accepted: Ready:False:NotReady:no fleet "},
        {{.keeper = "Kurator does"},
         "Accepted:False:OtherController:Kurator does Ready:False:NotReady:Kurator does "},
    };

    EACH_ROW (row, cases) {
        struct json_object *status = report_json(arena, &row->report, NULL);
        struct json_object *conditions = json_at(status, "conditions", NULL);
        const char *text = "";
        for (size_t i = 0; i < json_len(conditions); i++) {
            struct json_object *one = json_elem(conditions, i);
            text = arena_printf(arena, "%s%s:%s:%s:%s ", text, json_str_at(one, "type", NULL),
                                json_str_at(one, "status", NULL), json_str_at(one, "reason", NULL),
                                json_str_at(one, "message", NULL));
        }
        assert_string_equal(text, row->conditions);
        assert_int_equal(json_at(status, "syncStatus", NULL) != NULL, row->report.keeper == NULL);
    }
    assert_string_equal(report_state_name(REPORT_Leaving), "Leaving");
}

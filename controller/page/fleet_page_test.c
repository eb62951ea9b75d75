#include "page/page.h"
#include "test/rows.h"
#include "test/unit.h"

static const char plans[] =
    "[{'metadata':{'namespace':'a','name':'new'}},"
    "{'metadata':{'namespace':'b','name':'shop'},'status':{'phase':'Stopped','message':'m',"
    "'revision':'r2','conditions':[{'type':'Ready','status':'False','reason':'Stopped',"
    "'message':'m','lastTransitionTime':'2026-01-01T00:00:00Z'}],"
    "'waves':[{'name':'first','canaries':1,'promoted':1,'passed':true},"
    "{'name':'rest','canaries':3,'failed':1,'underWay':1,'held':2,'began':'2026-01-01T00:00:01Z'}],"
    "'clusters':[{'name':'one','wave':'first','says':'x','phase':'Succeeded','revision':'r2'},"
    "{'name':'two','wave':'rest','state':'Unreachable','says':'y','weight':20,'lastContact':'2026-"
    "01-01T00:00:00Z'},"
    "{'name':'three','says':'z'}]}}]";

CASE(a_plan_in_short)
{
    struct json_object *all = rows_json(arena, plans);

    assert_string_equal(json_text(arena, plan_json_brief(arena, json_elem(all, 1))),
                        "{\"namespace\":\"b\",\"name\":\"shop\",\"phase\":\"Stopped\",\"message\":"
                        "\"m\",\"revision\":\"r2\",\"since\":\"2026-01-01T00:00:00Z\","
                        "\"canaries\":4,\"promoted\":1,\"underWay\":1,\"failed\":1,\"held\":2}");
    assert_string_equal(json_text(arena, plan_json_brief(arena, json_elem(all, 0))),
                        "{\"namespace\":\"a\",\"name\":\"new\",\"canaries\":0,\"promoted\":0,"
                        "\"underWay\":0,\"failed\":0,\"held\":0}");
}

CASE(a_plan_with_its_waves)
{
    struct json_object *all = rows_json(arena, plans);
    struct json_object *out = plan_json(arena, json_elem(all, 1));
    struct json_object *waves = json_at(out, "waves", NULL);

    assert_int_equal(json_len(waves), 2);
    assert_string_equal(json_text(arena, json_at(json_elem(waves, 1), "clusters", NULL)),
                        "[{\"name\":\"two\",\"state\":\"Unreachable\",\"lastContact\":\"2026-01-"
                        "01T00:00:00Z\",\"says\":"
                        "\"y\",\"weight\":20}]");
    assert_true(json_bool_at(json_elem(waves, 0), false, "passed", NULL));
    assert_string_equal(json_text(arena, json_at(out, "outside", NULL)),
                        "[{\"name\":\"three\",\"says\":\"z\",\"weight\":0}]");
    assert_string_equal(json_text(arena, json_at(out, "conditions", NULL)),
                        "[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"Stopped\","
                        "\"message\":\"m\",\"since\":\"2026-01-01T00:00:00Z\"}]");
    /* A new plan without a status. */
    out = plan_json(arena, json_elem(all, 0));
    assert_int_equal(json_len(json_at(out, "waves", NULL)), 0);
    assert_int_equal(json_len(json_at(out, "outside", NULL)), 0);
}

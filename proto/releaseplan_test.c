#include "proto/releaseplan.h"

#include "base/clock.h"
#include "test/rows.h"
#include "test/unit.h"

static const char whole[] =
    "{'apiVersion':'flagger.app/v1alpha1','kind':'ReleasePlan','metadata':{'name':'shop',"
    "'namespace':'default','generation':3,'annotations':{'flagger.app/accept-failed':'6f5c'}},"
    "'spec':{'canaries':{'namespace':'test','selector':{'matchLabels':{'app':'shop'}}},"
    "'destination':{'fleet':'eu','clusterSelector':{'matchLabels':{'env':'prod'}}},"
    "'waves':[{'name':'first','clusterSelector':{'matchLabels':{'wave':'1'}},'soak':'10m',"
    "'gate':{'url':'http://gate/gate/check','timeout':'5s','metadata':{'a':'b'}}},"
    "{'name':'rest','maxConcurrent':5,'maxFailed':2,'deadline':'4h'}],"
    "'windows':[{'days':['Mon','Fri'],'from':'09:00','until':'16:30','zone':'+02:00'},"
    "{'from':'00:00','until':'24:00','zone':'UTC','days':['Sun']}],"
    "'freezes':[{'from':'2026-12-24T18:00:00+01:00','until':'2026-12-27T06:00:00Z',"
    "'reason':'holidays'}],'budget':{'maxConcurrent':7,'maxReplicasPercent':20}}}";

static const char smallest[] = "{'metadata':{'name':'shop'},'spec':{'application':'shop','waves':["
                               "{'name':'first'},{'name':'rest'}]}}";

static struct releaseplan view(struct arena *arena, const char *text)
{
    struct releaseplan out;
    struct errinfo ei;
    if (releaseplan_view(arena, rows_json(arena, text), &out, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return out;
}

CASE(test_a_whole_plan)
{
    struct releaseplan plan = view(arena, whole);
    assert_string_equal(plan.accept, "6f5c");
    assert_int_equal(plan.generation, 3);
    assert_null(plan.application);
    assert_string_equal(plan.canaries_namespace, "test");
    assert_string_equal(json_str_at(plan.canaries_labels, "app", NULL), "shop");
    assert_string_equal(plan.destination.fleet, "eu");
    assert_int_equal(plan.n_waves, 2);
    assert_int_equal(plan.waves[0].soak_ms, 600000);
    assert_int_equal(plan.waves[0].gate->timeout_ms, 5000);
    assert_string_equal(json_str_at(plan.waves[0].gate->metadata, "a", NULL), "b");
    assert_null(plan.waves[1].labels);
    assert_int_equal(plan.waves[1].max_concurrent, 5);
    assert_int_equal(plan.waves[1].max_failed, 2);
    assert_int_equal(plan.waves[1].deadline_ms, 4 * 3600000);
    assert_int_equal(plan.max_concurrent, 7);
    assert_int_equal(plan.max_replicas_percent, 20);
    assert_true(plan.windows[0].days[0] && plan.windows[0].days[4] && !plan.windows[0].days[1]);
    assert_int_equal(plan.windows[0].until, 990);
    assert_int_equal(plan.windows[0].offset_min, 120);
}

CASE(test_the_smallest_plan)
{
    struct releaseplan plan = view(arena, smallest);
    assert_string_equal(plan.application, "shop");
    assert_string_equal(plan.namespace_, "default");
    assert_null(plan.accept);
    assert_int_equal(plan.n_windows + plan.n_freezes + plan.max_concurrent, 0);
    assert_int_equal(plan.max_replicas_percent + plan.n_train, 0);
    int64_t until;
    const char *why;
    assert_true(releaseplan_is_open(arena, &plan, 0, &until, &why));
}

CASE(test_a_train)
{
    struct releaseplan plan = view(arena, "{'metadata':{'name':'shop'},'spec':{'train':['api',"
                                          "'web'],'waves':[{'name':'first'},{'name':'rest'}]}}");
    assert_int_equal(plan.n_train, 2);
    assert_string_equal(plan.train[0], "api");
    assert_string_equal(plan.train[1], "web");
    assert_null(plan.application);
}

static const struct {
    const char *now;
    const char *until; /* NULL if open */
    const char *why;
} times[] = {
    {"2026-11-23T07:00:00Z", NULL, NULL}, /* a Monday, 09:00 in the zone */
    {"2026-11-23T06:59:00Z", "2026-11-23T07:00:00Z",
     "the next window begins at "
     "2026-11-23T07:00:00Z"},
    {"2026-11-23T14:29:59Z", NULL, NULL},
    {"2026-11-23T14:30:00Z", "2026-11-27T07:00:00Z",
     "the next window begins at "
     "2026-11-27T07:00:00Z"},
    {"2026-11-27T14:30:00Z", "2026-11-29T00:00:00Z",
     "the next window begins at "
     "2026-11-29T00:00:00Z"},
    {"2026-11-29T23:59:59Z", NULL, NULL},
    {"2026-12-24T17:00:00Z", "2026-12-27T06:00:00Z",
     "nothing is let go before "
     "2026-12-27T06:00:00Z: holidays"},
    {"2026-12-27T06:00:00Z", NULL, NULL},
};

CASE(test_windows_and_freezes)
{
    struct releaseplan plan = view(arena, whole);
    EACH_ROW (row, times) {
        int64_t now, until = 0, want = 0;
        const char *why = NULL;
        assert_int_equal(clock_parse(row->now, &now, NULL), ERR_OK);
        if (releaseplan_is_open(arena, &plan, now, &until, &why) != (row->until == NULL))
            fail_msg("%s", row->now);
        if (row->until == NULL)
            continue;
        assert_int_equal(clock_parse(row->until, &want, NULL), ERR_OK);
        assert_int_equal(until, want);
        assert_string_equal(why, row->why);
    }
}

CASE(test_mistakes)
{
    struct json_object *file = json_elem(rows_read(arena, "proto/mistakes.yaml"), 0);
    struct json_object *rows = json_at(file, "releaseplan", NULL);

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *patch = json_at(json_elem(rows, i), "patch", NULL);
        struct json_object *root = rows_json(arena, smallest);
        struct releaseplan out;
        struct errinfo ei = {0};
        json_set(root, "spec", json_merge(arena, json_at(root, "spec", NULL), patch));
        if (releaseplan_view(arena, root, &out, &ei) != ERR_INVALID)
            fail_msg("%s: not refused", json_text(arena, patch));
        assert_string_equal(ei.text, json_str_at(json_elem(rows, i), "says", NULL));
    }
}

CASE(test_what_is_no_plan)
{
    struct releaseplan out;
    struct errinfo ei = {0};
    assert_int_equal(releaseplan_view(arena, rows_json(arena, "[]"), &out, &ei), ERR_INVALID);
    assert_string_equal(ei.text, "expected a ReleasePlan object, found []");
    assert_int_equal(
        releaseplan_view(arena, rows_json(arena, "{'apiVersion':'flagger.app/v1'}"), &out, &ei),
        ERR_INVALID);
    assert_string_equal(ei.text, "apiVersion: expected flagger.app/v1alpha1, found "
                                 "\"flagger.app/v1\"");
}

#include "tick/knative_object.h"

#include "tick/fixture_test.h"

static struct json_object *service_of(struct fixture *f, const char *quoted)
{
    struct json_object *service = fixture_json(f->arena, quoted);

    json_set_str(json_sub(service, "metadata"), "name", "podinfo");
    json_set_str(json_sub(service, "metadata"), "namespace", "test");
    json_set_str(json_sub(service, "metadata"), "resourceVersion", "9");
    return service;
}

CASE(test_share)
{
    static const struct {
        const char *traffic;
        int share;
        const char *named;
    } cases[] = {
        {"[]", 100, NULL},
        {"[{'latestRevision':true,'percent':100}]", 100, NULL},
        {"[{'percent':100}]", 100, NULL}, /* latest by default */
        {"[{'latestRevision':true,'percent':30},{'revisionName':'a-1','percent':70}]", 30, "a-1"},
        {"[{'revisionName':'a-1','percent':70,'latestRevision':false},{'latestRevision':true,"
         "'percent':30}]",
         30, "a-1"},
        {"[{'latestRevision':true},{'revisionName':'a-1','percent':100}]", 0, "a-1"},
        /* of the status: the latest one has its name as well */
        {"[{'latestRevision':true,'revisionName':'a-2','percent':40},{'revisionName':'a-2','"
         "percent':"
         "60,'latestRevision':false}]",
         40, "a-2"},
        {"[{'latestRevision':true,'percent':0},{'revisionName':'p-1','tag':'preview'},{"
         "'revisionName':'a-1','percent':100}]",
         0, "a-1"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(NULL);
        struct json_object *traffic = fixture_json(f.arena, row->traffic);
        const char *named = knative_named(traffic);
        assert_int_equal(knative_share(traffic), row->share);
        assert_string_equal(named ? named : "", row->named ? row->named : "");
    }
}

/* The Service, and the patch that routes 20 % to the latest beside a-1; NULL if none is planned. */
CASE(test_route)
{
    static const struct {
        const char *service, *patch;
    } cases[] = {
        {"{'spec':{'template':{}}}",
         "{'metadata':{'annotations':{'flagger.app/primary-revision':'a-1'},'resourceVersion':'9'},"
         "'spec':{'traffic':[{'latestRevision':true,'percent':20},{'percent':80,'revisionName':"
         "'a-1'}]}}"},
        {"{'metadata':{'annotations':{'flagger.app/primary-revision':'a-1'}},'spec':{'traffic':[{"
         "'latestRevision':true,'percent':20},{'latestRevision':false,'revisionName':'a-1','"
         "percent':"
         "80}]}}",
         NULL},
        {"{'metadata':{'annotations':{'flagger.app/primary-revision':'a-0','b':'1'}},'spec':{"
         "'traffic':[{'latestRevision':true,'percent':20,'tag':'next'},{'revisionName':'a-0',"
         "'percent':70},{'revisionName':'p-1','tag':'preview','percent':10}]}}",
         "{'metadata':{'annotations':{'flagger.app/primary-revision':'a-1'},'resourceVersion':'9'},"
         "'spec':{'traffic':[{'latestRevision':true,'percent':20,'tag':'next'},{'percent':80,"
         "'revisionName':'a-1'},{'revisionName':'p-1','tag':'preview'}]}}"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(NULL);
        f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
        knative_route(f.tick, service_of(&f, row->service), "a-1", 20, "x");
        assert_int_equal(f.tick->plan->count, row->patch ? 1 : 0);
        if (row->patch)
            assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)), row->patch);
    }
}

/* A plan writes the Service once, however many changes it makes. */
CASE(test_one_patch)
{
    struct fixture f = fixture_new(NULL);
    struct json_object *service = service_of(
        &f,
        "{'metadata':{'annotations':{'flagger.app/primary-revision':'a-1'}},'spec':{'traffic':[{"
        "'latestRevision':true,'percent':50},{'revisionName':'a-1','percent':50}]}}");

    f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
    knative_route(f.tick, service, "a-1", 0, "weights 100/0");
    knative_route(
        f.tick, service, "a-2",
        knative_share(json_at(knative_as_planned(f.tick, service), "spec", "traffic", NULL)),
        "promote");
    assert_int_equal(f.tick->plan->count, 1);
    assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)),
                        "{'metadata':{'annotations':{'flagger.app/primary-revision':'a-2'},"
                        "'resourceVersion':'9'},'spec':{'traffic':[{'latestRevision':true,"
                        "'percent':0},{'percent':100,'revisionName':'a-2'}]}}");
    assert_string_equal(f.tick->plan->first->why, "weights 100/0, promote");
}

CASE(test_release)
{
    struct fixture f = fixture_new(NULL);
    struct json_object *service = service_of(
        &f,
        "{'metadata':{'annotations':{'flagger.app/primary-revision':'a-1'}},'spec':{'traffic':[{"
        "'latestRevision':true,'percent':0},{'revisionName':'a-1','percent':100}]}}");

    f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
    knative_release(f.tick, service, "x");
    knative_annotate(f.tick, service, NULL, "y");
    assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)),
                        "{'metadata':{'annotations':{'flagger.app/"
                        "primary-revision':null},'resourceVersion':'9'},'spec':{'traffic':[{"
                        "'latestRevision':true,'percent':100}]}}");
}

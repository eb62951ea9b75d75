#include <string.h>

#include "engine/cache.h"
#include "test/rows.h"
#include "test/unit.h"

CASE(managed_fields_stay_as_far_as_they_are_read)
{
    static const struct {
        const char *object, *want;
    } rows[] = {
        {"{}", "{}"},
        {"{'metadata':{'name':'a'},'spec':{}}", "{'metadata':{'name':'a'},'spec':{}}"},
        {"{'metadata':{'name':'a','managedFields':[{'manager':'kubectl','time':'T',"
         "'fieldsV1':{'f:status':{}}}]},'spec':{'a':1}}",
         "{'metadata':{'name':'a'},'spec':{'a':1}}"},
        {"{'kind':'D','metadata':{'managedFields':[{'manager':'m','time':'T','fieldsV1':"
         "{'f:spec':{'f:template':{'f:spec':{}},'f:replicas':{}},'f:metadata':{}}}],'name':'a'}}",
         "{'kind':'D','metadata':{'managedFields':[{'time':'T','fieldsV1':"
         "{'f:spec':{'f:template':{}}}}],'name':'a'}}"},
        {"{'metadata':{'managedFields':7}}", "{'metadata':{}}"},
    };
    EACH_ROW (row, rows) {
        struct json_object *object = rows_json(arena, row->object);
        const char *before = json_text(arena, object);
        struct json_object *strip = json_own(arena, strip_object(object));
        if (!json_same(strip, rows_json(arena, row->want)))
            fail_msg("%s", json_text(arena, strip));
        assert_string_equal(json_text(arena, object), before);
    }
}

CASE(names_of_a_canary_are_known_with_their_sides)
{
    static const struct {
        const char *namespace_, *name;
        bool want;
    } rows[] = {
        {"test", "podinfo", true},
        {"test", "podinfo-primary", true},
        {"test", "podinfo-canary", true},
        {"test", "scaler-primary", true},
        {"test", "svc", true},
        {"other", "podinfo", false},
        {"test", "podinfo-prim", false},
        {"test", "-primary", false},
        {"test", "latency", false},
        {"monitoring", "latency", true},
        {"test", "podinfo-primary-primary", false},
    };
    struct object_presence mentions;

    object_presence_init(&mentions);
    assert_false(mentions_has(&mentions, "test", "podinfo"));
    mentions_add(&mentions,
                 rows_json(arena,
                           "{'metadata':{'name':'c','namespace':'test'},'spec':{'targetRef':"
                           "{'kind':'Deployment','name':'podinfo'},'autoscalerRef':{'name':"
                           "'scaler'},'service':{'name':'svc'},'analysis':{'metrics':["
                           "{'templateRef':{'name':'latency','namespace':'monitoring'}}]}}}"));
    EACH_ROW (row, rows)
        assert_int_equal(mentions_has(&mentions, row->namespace_, row->name), row->want);
    object_presence_fini(&mentions);
}

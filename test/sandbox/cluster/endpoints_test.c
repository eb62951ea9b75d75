
#include <string.h>

#include "cluster/endpoints.h"
#include "test/unit.h"

#define READY "'conditions':[{'type':'Ready','status':'True'}]"

static struct json_object *parse(struct arena *arena, const char *text)
{
    struct json_object *obj = json_own(arena, json_tokener_parse(text));
    assert_non_null(obj);
    return obj;
}

static size_t sample(struct arena *arena, struct json_object *pods[4])
{
    static const char *const texts[] = {
        "{'metadata':{'name':'a'},'spec':{'containers':[{'ports':[{'name':'http','containerPort':"
        "8080}]}]},'status':{'podIP':'127.64.0.1'," READY "}}",
        "{'metadata':{'name':'b'},'spec':{'containers':[{'ports':[{'name':'http','containerPort':"
        "8081}]}]},'status':{'podIP':'127.64.0.2'}}",
        "{'metadata':{'name':'c','deletionTimestamp':'x'},'status':{'podIP':'127.64.0.3'," READY
        "}}",
        "{'metadata':{'name':'d'},'status':{" READY "}}",
    };
    for (size_t i = 0; i < 4; i++)
        pods[i] = parse(arena, texts[i]);
    return 4;
}

static void targets(void **state)
{
    struct arena *arena = arena_new();
    struct json_object *pods[4];
    struct forward_target found[4];
    size_t count = sample(arena, pods);
    struct json_object *service = parse(arena, "{'metadata':{'name':'web'},'spec':{'ports':[{'port'"
                                               ":80,'targetPort':'http'},{'port':9898}]}}");
    assert_int_equal(endpoints_targets(service, 0, pods, count, found), 1);
    assert_string_equal(found[0].address, "127.64.0.1");
    assert_int_equal(found[0].port, 8080);
    assert_int_equal(endpoints_targets(service, 1, pods, count, found), 1);
    assert_int_equal(found[0].port, 9898);
    json_set_bool(json_sub(service, "spec"), "publishNotReadyAddresses", true);
    assert_int_equal(endpoints_targets(service, 0, pods, count, found), 2);
    assert_int_equal(found[1].port, 8081);
    arena_free(arena);
}

static void given(void **state)
{
    struct arena *arena = arena_new();
    struct forward_target found[2];
    struct json_object *service = parse(arena, "{'spec':{'ports':[{'name':'http','port':80}]}}");
    struct json_object *eps =
        parse(arena, "{'subsets':[{'addresses':[{'ip':'127.0.0.1'},{'ip':'127.0.0.2'},{'ip':'127.0."
                     "0.3'}],'ports':[{'port':4000}]}]}");
    assert_int_equal(endpoints_given(service, 0, eps, found, 2), 2);
    assert_int_equal(found[1].port, 4000);
    assert_string_equal(found[1].address, "127.0.0.2");
    assert_int_equal(endpoints_given(service, 0, NULL, found, 2), 0);
    arena_free(arena);
}

static void objects(void **state)
{
    struct arena *arena = arena_new();
    struct json_object *pods[4];
    size_t count = sample(arena, pods);
    struct json_object *service =
        parse(arena, "{'metadata':{'name':'web','namespace':'test'},'spec':{'ports':[{'name':'http'"
                     ",'port':80,'targetPort':'http'}]}}");
    struct json_object *subset =
        json_elem(json_at(endpoints_object(arena, service, pods, count), "subsets", NULL), 0);
    assert_int_equal(json_len(json_at(subset, "addresses", NULL)), 1);
    assert_int_equal(json_len(json_at(subset, "notReadyAddresses", NULL)), 1);
    assert_int_equal(json_int_at(json_elem(json_at(subset, "ports", NULL), 0), 0, "port", NULL),
                     8080);
    struct json_object *slice = endpoints_slice(arena, service, pods, count);
    struct json_object *list = json_at(slice, "endpoints", NULL);
    assert_int_equal(json_len(list), 3);
    assert_true(json_bool_at(json_elem(list, 2), false, "conditions", "terminating", NULL));
    assert_false(json_bool_at(json_elem(list, 2), true, "conditions", "ready", NULL));
    assert_int_equal(json_len(json_at(endpoints_object(arena, service, pods, 0), "subsets", NULL)),
                     0);
    arena_free(arena);
}

UNIT_MAIN(cmocka_unit_test(targets), cmocka_unit_test(given), cmocka_unit_test(objects))

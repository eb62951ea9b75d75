#include "proto/canary_parts.h"
#include "proto/canary_testing.h"

CASE(test_references)
{
    struct json_reader r = {.arena = arena};
    struct json_object *root =
        rows_json(arena, "{'full':{'apiVersion':'v1','kind':'K','name':'n','namespace':'ns'},'"
                         "short':{'name':'n','namespace':''},'none':null}");
    struct canary_ref ref = canary_read_ref(&r, root, "full", JSON_REQUIRED);
    assert_string_equal(ref.api_version, "v1");
    assert_string_equal(ref.kind, "K");
    assert_string_equal(ref.name, "n");
    assert_string_equal(ref.namespace_, "ns");
    ref = canary_read_ref(&r, root, "short", JSON_OPTIONAL);
    assert_string_equal(ref.api_version, "");
    assert_string_equal(ref.kind, "");
    assert_null(ref.namespace_);
    ref = canary_read_ref(&r, root, "none", JSON_OPTIONAL);
    assert_null(ref.name);
    assert_int_equal(r.err, ERR_OK);
    canary_read_ref(&r, root, "none", JSON_REQUIRED);
    assert_int_equal(r.err, ERR_INVALID);
    assert_string_equal(r.info.text, "none: required: expected an object");
}

CASE(test_the_first_mistake_is_kept)
{
    struct json_reader r = {.arena = arena};
    struct json_object *root =
        rows_json(arena, "{'map':{'a.b':1},'list':['x',2],'objects':[{},null]}");
    assert_null(canary_read_map(&r, root, "map"));
    assert_null(canary_read_strings(&r, root, "list"));
    assert_string_equal(r.info.text, "map[\"a.b\"]: expected a string, found 1");

    r = (struct json_reader){.arena = arena};
    assert_null(canary_read_strings(&r, root, "list"));
    assert_string_equal(r.info.text, "list[1]: expected a string, found 2");

    r = (struct json_reader){.arena = arena};
    struct json_object *objects = json_read_array(&r, root, "objects", JSON_REQUIRED);
    assert_non_null(canary_read_element(&r, objects, 0));
    assert_null(canary_read_element(&r, objects, 1));
    assert_string_equal(r.info.text, "objects[1]: expected an object, found null");
}

CASE(test_names_and_numbers)
{
    struct json_reader r = {.arena = arena};
    struct json_object *root = rows_json(arena, "{'empty':'','name':'n','ten':10.0}");
    assert_null(canary_read_name(&r, root, "empty", JSON_OPTIONAL));
    assert_string_equal(canary_read_name(&r, root, "name", JSON_REQUIRED), "n");
    assert_int_equal(canary_read_int(&r, root, "ten", 0, 100, 5), 10);
    assert_int_equal(canary_read_int(&r, root, "absent", 0, 100, 5), 5);
    assert_int_equal(r.err, ERR_OK);
    assert_null(canary_read_name(&r, root, "empty", JSON_REQUIRED));
    assert_string_equal(r.info.text, "empty: expected a name, found an empty string");
}

#include "object/patch.h"
#include "object/try.h"

static void test_operations(void **state)
{
    /* Appendix A of RFC 6902, and more. */
    static const struct {
        const char *target, *patch, *result;
    } cases[] = {
        {"{'foo':'bar'}", "[]", "{'foo':'bar'}"},
        {"{'foo':'bar'}", "[{'op':'add','path':'/baz','value':'qux'}]",
         "{'baz':'qux','foo':'bar'}"},
        {"{'foo':['bar','baz']}", "[{'op':'add','path':'/foo/1','value':'qux'}]",
         "{'foo':['bar','qux','baz']}"},
        {"{'foo':[1]}", "[{'op':'add','path':'/foo/1','value':2}]", "{'foo':[1,2]}"},
        {"{'foo':[1]}", "[{'op':'add','path':'/foo/-','value':[2]}]", "{'foo':[1,[2]]}"},
        {"{'baz':'qux','foo':'bar'}", "[{'op':'remove','path':'/baz'}]", "{'foo':'bar'}"},
        {"{'foo':[1,2,3]}", "[{'op':'remove','path':'/foo/1'}]", "{'foo':[1,3]}"},
        {"{'a':1}", "[{'op':'replace','path':'/a','value':null}]", "{'a':null}"},
        {"{'a':[1,2]}", "[{'op':'replace','path':'/a/0','value':{}}]", "{'a':[{},2]}"},
        {"{'foo':{'bar':1,'w':2},'q':{}}", "[{'op':'move','from':'/foo/w','path':'/q/t'}]",
         "{'foo':{'bar':1},'q':{'t':2}}"},
        {"{'foo':[1,2,3,4]}", "[{'op':'move','from':'/foo/1','path':'/foo/3'}]",
         "{'foo':[1,3,4,2]}"},
        {"{'a':1}", "[{'op':'move','from':'/a','path':'/a'}]", "{'a':1}"},
        {"{'a':{'b':1}}",
         "[{'op':'copy','from':'/a','path':'/c'},{'op':'replace','path':'/c/b','value':2}]",
         "{'a':{'b':1},'c':{'b':2}}"},
        {"{'a':{'b':[1,2.0]}}", "[{'op':'test','path':'/a','value':{'b':[1,2]}}]",
         "{'a':{'b':[1,2.0]}}"},
        {"{'/':1,'~1':2}", "[{'op':'test','path':'/~01','value':2},{'op':'remove','path':'/~1'}]",
         "{'~1':2}"},
        {"{'a':1}", "[{'op':'replace','path':'','value':{'b':2}}]", "{'b':2}"},
        {"{'':1}", "[{'op':'remove','path':'/'}]", "{}"},
        {"{'a':null}", "[{'op':'test','path':'/a','value':null}]", "{'a':null}"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *target = try_json(arena, cases[i].target);
        struct json_object *patch = try_json(arena, cases[i].patch);
        struct json_object *out = NULL;
        struct errinfo ei = {0};
        if (patch_json(arena, target, patch, &out, &ei))
            fail_msg("%s: %s", cases[i].patch, ei.text);
        try_same(arena, out, cases[i].result);
        try_same(arena, target, cases[i].target);
        try_same(arena, patch, cases[i].patch);
    }
}

static void test_errors(void **state)
{
    static const struct {
        const char *patch;
        int status;
        const char *why;
    } cases[] = {
        {"{}", 400, "a JSON patch is an array of operations"},
        {"[{}]", 400, "operation 0: \"op\" must be one of"},
        {"[{'op':'test','path':'/a','value':1},{'op':'swap'}]", 400,
         "operation 1, swap: \"op\" must be one of add, remove, replace, move, copy, test, not "
         "\"swap\""},
        {"[{'op':'add','value':1}]", 400, "operation 0, add: \"path\" is required"},
        {"[{'op':'add','path':'a','value':1}]", 400, "must be empty or start with"},
        {"[{'op':'add','path':'/a~2','value':1}]", 400, "\"~\" must be followed"},
        {"[{'op':'add','path':'/a~','value':1}]", 400, "\"~\" must be followed"},
        {"[{'op':'add','path':'/a'}]", 400, "\"value\" is required"},
        {"[{'op':'move','path':'/a'}]", 400, "\"from\" is required"},
        {"[{'op':'add','path':'/x/y','value':1}]", 422, "path \"/x/y\" does not exist"},
        {"[{'op':'add','path':'/a/y','value':1}]", 422, "neither an object nor an array"},
        {"[{'op':'add','path':'/l/3','value':1}]", 422, "no index into an array of 2"},
        {"[{'op':'add','path':'/l/01','value':1}]", 422, "no index into"},
        {"[{'op':'remove','path':'/x'}]", 422, "path \"/x\" does not exist"},
        {"[{'op':'remove','path':'/l/-'}]", 422, "does not exist"},
        {"[{'op':'remove','path':''}]", 422, "cannot be removed"},
        {"[{'op':'replace','path':'/x','value':1}]", 422, "does not exist"},
        {"[{'op':'replace','path':'/l/2','value':1}]", 422, "does not exist"},
        {"[{'op':'copy','from':'/x','path':'/y'}]", 422, "does not exist"},
        {"[{'op':'move','from':'/x','path':'/y'}]", 422, "does not exist"},
        {"[{'op':'move','from':'/l','path':'/l/0'}]", 422, "into itself"},
        {"[{'op':'test','path':'/a','value':2}]", 422, "path \"/a\" is 1, not 2"},
        {"[{'op':'test','path':'/x','value':null}]", 422, "does not exist"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *out = NULL;
        struct errinfo ei = {0};
        assert_int_equal(patch_json(arena, try_json(arena, "{'a':1,'l':[1,2]}"),
                                    try_json(arena, cases[i].patch), &out, &ei),
                         ERR_INVALID);
        assert_null(out);
        assert_int_equal(ei.status, cases[i].status);
        if (!strstr(ei.text, cases[i].why))
            fail_msg("%s: \"%s\" instead of \"%s\"", cases[i].patch, ei.text, cases[i].why);
    }
}

static void test_bombs(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *doubling = json_own(arena, json_object_new_array());
    struct json_object *deepening = json_own(arena, json_object_new_array());
    for (int i = 0; i < 100; i++) {
        json_object_array_add(
            doubling, json_object_get(try_json(arena, "{'op':'copy','from':'','path':'/x'}")));
        json_object_array_add(
            deepening, json_object_get(try_json(arena, "{'op':'add','path':'/n','value':{}}")));
        json_object_array_add(
            deepening, json_object_get(try_json(arena, "{'op':'move','from':'/d','path':'/n/d'}")));
        json_object_array_add(
            deepening, json_object_get(try_json(arena, "{'op':'move','from':'/n','path':'/d'}")));
    }
    struct json_object *out = NULL;
    struct errinfo ei = {0};
    struct json_object *target = try_json(arena, "{'a':'0123456789','d':{}}");
    assert_int_equal(patch_json(arena, target, doubling, &out, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "nested deeper than"));
    assert_int_equal(patch_json(arena, target, deepening, &out, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "nested deeper than"));

    char *large = arena_alloc(arena, 1024 * 1024 + 1);
    memset(large, 'a', 1024 * 1024);
    target = json_own(arena, json_object_new_object());
    json_set_str(target, "a", large);
    struct json_object *copies =
        try_json(arena, "[{'op':'copy','from':'/a','path':'/b'},{'op':'copy','from':'/a','path':'/"
                        "c'},{'op':'copy','from':'/a','path':'/d'}]");
    assert_int_equal(patch_json(arena, target, copies, &out, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "operation 2, copy: the copies of this patch are larger"));
}

UNIT_MAIN(cmocka_unit_test(test_operations), cmocka_unit_test(test_errors),
          cmocka_unit_test(test_bombs))

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
    } cases[] = {
        {"{}", 400},
        {"[{}]", 400},
        {"[1]", 400},
        {"[{'op':'test','path':'/a','value':1},{'op':'swap','path':'/a'}]", 400},
        {"[{'op':'add','value':1}]", 400},
        {"[{'op':'add','path':'a','value':1}]", 400},
        {"[{'op':'add','path':'/a'}]", 400},
        {"[{'op':'move','from':'/a','path':'/b'}]", 400},
        {"[{'op':'add','path':'/x/y','value':1}]", 422},
        {"[{'op':'add','path':'/a/y','value':1}]", 422},
        {"[{'op':'add','path':'/l/3','value':1}]", 422},
        {"[{'op':'add','path':'/l/01','value':1}]", 422},
        {"[{'op':'remove','path':'/x'}]", 422},
        {"[{'op':'remove','path':'/l/-'}]", 422},
        {"[{'op':'remove','path':''}]", 422},
        {"[{'op':'replace','path':'/x','value':1}]", 422},
        {"[{'op':'replace','path':'/l/2','value':1}]", 422},
        {"[{'op':'test','path':'/a','value':2}]", 422},
        {"[{'op':'test','path':'/x','value':null}]", 422},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *out = NULL;
        struct errinfo ei = {0};
        assert_int_equal(patch_json(arena, try_json(arena, "{'a':1,'l':[1,2]}"),
                                    try_json(arena, cases[i].patch), &out, &ei),
                         ERR_INVALID);
        assert_null(out);
        if (ei.status != cases[i].status)
            fail_msg("%s: %d: %s", cases[i].patch, ei.status, ei.text);
    }
}

UNIT_MAIN(cmocka_unit_test(test_operations), cmocka_unit_test(test_errors))

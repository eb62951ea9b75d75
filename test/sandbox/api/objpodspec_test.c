#include "api/objpodspec.h"
#include "object/try.h"

static void test_check(void **state)
{
    static const struct {
        const char *spec, *wanted;
        bool template_;
    } cases[] = {
        {"{'containers':[{'name':'c','image':'i'}]}", NULL, true},
        {"{}", "spec.containers: Required value", true},
        {"{'containers':[{'image':'i'}]}", "spec.containers[0].name: Required value", true},
        {"{'containers':[{'name':'c'}]}", "spec.containers[0].image: Required value", true},
        {"{'containers':[{'name':'c','image':'i'},{'name':'c','image':'i'}]}",
         "spec.containers[1].name: Duplicate value: \"c\"", true},
        {"{'containers':[{'name':'c','image':'i','ports':[{'containerPort':70000}]}]}",
         "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and "
         "65535, inclusive",
         true},
        {"{'containers':[{'name':'c','image':'i','volumeMounts':[{'name':'v','mountPath':'/'}]}]}",
         "spec.containers[0].volumeMounts[0].name: Not found: \"v\"", true},
        {"{'volumes':[{'name':'v'}],'containers':[{'name':'c','image':'i','volumeMounts':[{'name':'"
         "v','mountPath':'/'}]}]}",
         NULL, true},
        {"{'containers':[{'name':'c','image':'i','env':[{'name':'A','value':1}]}]}",
         "spec.containers[0].env[0].value: Invalid value: 1: must be a string", true},
        {"{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}",
         "spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"", true},
        {"{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}", NULL, false},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct objfail fail = {.arena = arena};
        objpodspec_check(&fail, try_json(arena, cases[i].spec), "spec", cases[i].template_);
        if (cases[i].wanted)
            assert_string_equal(cause_text(&fail.causes), cases[i].wanted);
        else
            assert_int_equal(fail.causes.count, 0);
    }
}

static void test_may_become(void **state)
{
    static const struct {
        const char *before, *after;
        bool ok;
    } cases[] = {
        {"{'containers':[{'name':'c','image':'i'}]}", "{'containers':[{'name':'c','image':'j'}]}",
         true},
        {"{'a':1}", "{'a':1,'nodeName':'n','tolerations':[1],'activeDeadlineSeconds':3}", true},
        {"{'a':1}", "{'a':2}", false},
        {"{'containers':[{'name':'c'}]}", "{'containers':[{'name':'c'},{'name':'d'}]}", false},
        {"{'containers':[1]}", "[]", false},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        assert_int_equal(objpodspec_may_become(try_json(arena, cases[i].before),
                                               try_json(arena, cases[i].after)),
                         cases[i].ok);
    }
}

UNIT_MAIN(cmocka_unit_test(test_check), cmocka_unit_test(test_may_become))

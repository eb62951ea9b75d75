#include "object/patch.h"
#include "object/try.h"

#define POD(containers) "{'spec':{'containers':" containers "}}"

static const struct {
    const char *kind, *target, *patch, *result;
} merges[] = {
    {"Pod", NULL, "{'a':{'b':null,'c':1}}", "{'a':{'c':1}}"},
    {"Pod", "{'a':{'b':1,'c':2}}", "{'a':{'b':null,'d':3}}", "{'a':{'c':2,'d':3}}"},
    {"Pod", POD("[{'name':'a','image':'1'},{'name':'b','image':'1'}]"),
     POD("[{'name':'b','image':'2'},{'name':'c','image':'3'}]"),
     POD("[{'name':'a','image':'1'},{'name':'b','image':'2'},{'name':'c','image':'3'}]")},
    {"Pod", POD("[{'name':'a'},{'name':'b'}]"), POD("[{'name':'a','$patch':'delete'}]"),
     POD("[{'name':'b'}]")},
    {"Pod", POD("[{'name':'a'},{'name':'b'}]"), POD("[{'name':'c'},{'$patch':'replace'}]"),
     POD("[{'name':'c'}]")},
    {"Pod", POD("[{'name':'a','args':['x','y']}]"), POD("[{'name':'a','args':['z']}]"),
     POD("[{'name':'a','args':['z']}]")},
    {"Pod", POD("[{'name':'a','env':[{'name':'A','value':'1'}]}]"),
     POD("[{'name':'a','env':[{'name':'A','value':'2'},{'name':'B'}]}]"),
     POD("[{'name':'a','env':[{'name':'A','value':'2'},{'name':'B'}]}]")},
    {"Pod", POD("[{'name':'a','ports':[{'containerPort':80,'name':'w'}]}]"),
     POD("[{'name':'a','ports':[{'containerPort':80,'protocol':'TCP'}]}]"),
     POD("[{'name':'a','ports':[{'containerPort':80,'name':'w','protocol':'TCP'}]}]")},
    {"Service", "{'spec':{'ports':[{'port':80},{'port':81}]}}",
     "{'spec':{'ports':[{'port':81,'name':'x'}]}}",
     "{'spec':{'ports':[{'port':80},{'port':81,'name':'x'}]}}"},
    {"Pod", "{'spec':{'tolerations':[{'key':'a'}]}}", "{'spec':{'tolerations':[{'key':'b'}]}}",
     "{'spec':{'tolerations':[{'key':'b'}]}}"},
    {"Pod", "{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'finalizers':['b','c']}}",
     "{'metadata':{'finalizers':['a','b','c']}}"},
    {"Pod", "{'metadata':{'finalizers':['a','b']}}",
     "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a']}}",
     "{'metadata':{'finalizers':['b']}}"},
    {"Pod", POD("[{'name':'a'},{'name':'b'}]"),
     "{'spec':{'$setElementOrder/containers':[{'name':'n'},{'name':'a'}],'containers':[{'name':'n'}"
     "]}}",
     POD("[{'name':'a'},{'name':'b'},{'name':'n'}]")},
    {"Deployment", "{'spec':{'strategy':{'type':'RollingUpdate','rollingUpdate':{'maxSurge':1}}}}",
     "{'spec':{'strategy':{'$retainKeys':['type'],'type':'Recreate'}}}",
     "{'spec':{'strategy':{'type':'Recreate'}}}"},
    {"Pod", "{'a':{'b':1}}", "{'a':{'$patch':'replace','c':2}}", "{'a':{'c':2}}"},
    {"Pod", "{'a':{'b':1},'d':1}", "{'a':{'$patch':'delete'}}", "{'d':1}"},
    {"Pod", "{'a':1}", "{'$patch':'delete'}", "{}"},
    {"Pod", "{}", POD("[{'name':'a','$patch':'delete'},{'name':'b'}]"), POD("[{'name':'b'}]")},
    {"Deployment", "{'status':{'conditions':[{'type':'A','status':'True'}]}}",
     "{'status':{'conditions':[{'type':'A','status':'False'}]}}",
     "{'status':{'conditions':[{'type':'A','status':'False'}]}}"},
    {"Deployment", "{'spec':{'selector':{'matchLabels':{'a':'1'}}}}",
     "{'spec':{'selector':{'matchLabels':{'b':'2'}}}}",
     "{'spec':{'selector':{'matchLabels':{'a':'1','b':'2'}}}}"},
};

static void test_merge(void **state)
{
    for (size_t i = 0; i < TRY_COUNT(merges); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *target = try_json(arena, merges[i].target);
        struct json_object *patch = try_json(arena, merges[i].patch);
        struct json_object *out = NULL;
        struct errinfo ei = {0};
        if (patch_strategic(arena, merges[i].kind, target, patch, &out, &ei))
            fail_msg("%s: %s", merges[i].patch, ei.text);
        try_same(arena, out, merges[i].result);
        if (target)
            try_same(arena, target, merges[i].target);
        try_same(arena, patch, merges[i].patch);
    }
}

static void test_errors(void **state)
{
    static const struct {
        const char *patch;
        int status;
        const char *why;
    } cases[] = {
        {"[]", 400, "the patch: expected an object"},
        {"{'spec':{'$patch':'twist'}}", 400, "spec: $patch: must be one of"},
        {"{'spec':{'$patch':3}}", 400, "$patch: must be one of"},
        {"{'$twist':1}", 400, "$twist: unknown directive"},
        {POD("[{'image':'x'}]"), 400, "no value for its merge key name"},
        {POD("['a']"), 400, "containers: expected only objects"},
        {"{'spec':{'$retainKeys':'a'}}", 400, "$retainKeys: expected an array"},
        {"{'spec':{'$retainKeys':['a'],'b':1}}", 400, "sets b, which is not listed"},
        {"{'spec':{'$deleteFromPrimitiveList/x':1}}", 400, "expected an array"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *out = NULL;
        struct errinfo ei = {0};
        assert_int_equal(patch_strategic(arena, "Pod", try_json(arena, POD("[{'name':'a'}]")),
                                         try_json(arena, cases[i].patch), &out, &ei),
                         ERR_INVALID);
        assert_null(out);
        assert_int_equal(ei.status, cases[i].status);
        if (!strstr(ei.text, cases[i].why))
            fail_msg("%s: \"%s\" instead of \"%s\"", cases[i].patch, ei.text, cases[i].why);
    }
}

UNIT_MAIN(cmocka_unit_test(test_merge), cmocka_unit_test(test_errors))

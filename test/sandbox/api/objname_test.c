#include "api/objname.h"
#include "object/selector.h"
#include "object/try.h"

#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void test_forms(void **state)
{
    static const struct {
        const char *text;
        bool subdomain, label, label_1035, segment;
    } cases[] = {
        {"a", true, true, true, true},
        {"a-1", true, true, true, true},
        {"1a", true, true, false, true},
        {"a.b", true, false, false, true},
        {"a..b", false, false, false, true},
        {"-a", false, false, false, true},
        {"a-", false, false, false, true},
        {"A", false, false, false, true},
        {"a_b", false, false, false, true},
        {"a/b", false, false, false, false},
        {"..", false, false, false, false},
        {"", false, false, false, false},
        {A63, true, true, true, true},
        {A63 "a", true, false, false, true},
        {A63 A63 A63 A63 "aa", false, false, false, false},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        const bool wanted[] = {cases[i].subdomain, cases[i].label, cases[i].label_1035,
                               cases[i].segment};
        for (int form = OBJNAME_SUBDOMAIN; form <= OBJNAME_SEGMENT; form++) {
            struct arena *arena TRY_FREED = arena_new();
            struct objfail fail = {.arena = arena};
            objname_check(&fail, "metadata.name", cases[i].text, (enum objname_form)form);
            assert_int_equal(fail.causes.count == 0, wanted[form]);
        }
    }
}

static void test_qualified(void **state)
{
    static const struct {
        const char *text;
        bool ok;
    } cases[] = {{"app", true},    {"a.b/c_D.1", true},
                 {"/x", false},    {"a/", false},
                 {"a/b/c", false}, {"_x", false},
                 {"x_", false},    {A63 "a", false},
                 {"a b", false},   {"foregroundDeletion", true}};
    for (size_t i = 0; i < TRY_COUNT(cases); i++)
        assert_int_equal(selector_is_key(cases[i].text), cases[i].ok);
    assert_true(selector_is_value(""));
    assert_true(selector_is_value("1.2.3"));
    assert_false(selector_is_value("a/b"));
    assert_false(selector_is_value(A63 "a"));
}

static void test_metadata(void **state)
{
    static const struct {
        const char *metadata, *field;
    } cases[] = {
        {"{}", NULL},
        {"{'labels':{'app':'x'},'annotations':{'a':'any thing'}}", NULL},
        {"{'labels':{'a b':'x'}}", "metadata.labels"},
        {"{'labels':{'a':'x y'}}", "metadata.labels"},
        {"{'labels':{'a':1}}", "metadata.labels"},
        {"{'labels':[]}", "metadata.labels"},
        {"{'annotations':{'a b':'x'}}", "metadata.annotations"},
        {"{'finalizers':['a b']}", "metadata.finalizers"},
        {"{'finalizers':[1]}", NULL},
        {"{'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'x'}]}",
         "metadata.ownerReferences[0].uid"},
        {"{'ownerReferences':[{'apiVersion':'v1','kind':'P','name':'x','uid':'1','controller':true}"
         ",{'apiVersion':'v1','kind':'P','name':'y','uid':'2','controller':true}]}",
         "metadata.ownerReferences"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct objfail fail = {.arena = arena};
        struct json_object *obj = json_own(arena, json_object_new_object());
        json_set(obj, "metadata", try_json(arena, cases[i].metadata));
        objname_check_metadata(&fail, obj);
        if (cases[i].field) {
            assert_non_null(fail.causes.first);
            assert_string_equal(fail.causes.first->field, cases[i].field);
        } else {
            assert_int_equal(fail.causes.count, 0);
        }
    }
}

UNIT_MAIN(cmocka_unit_test(test_forms), cmocka_unit_test(test_qualified),
          cmocka_unit_test(test_metadata))

#include "object/selector.h"
#include "object/try.h"

static void test_labels(void **state)
{
    static const struct {
        const char *selector, *labels;
        bool match;
    } cases[] = {
        {NULL, NULL, true},
        {"", "{'a':'1'}", true},
        {" ", NULL, true},
        {"a=1", "{'a':'1'}", true},
        {"a==1", "{'a':'1'}", true},
        {"a = 1 , b=2", "{'a':'1','b':'2'}", true},
        {"a=1,b=2", "{'a':'1'}", false},
        {"a=", "{'a':''}", true},
        {"a!=1", "{'a':'2'}", true},
        {"a!=1", "{}", true},
        {"a!=1", "{'a':'1'}", false},
        {"a in (1,2)", "{'a':'2'}", true},
        {"a in ( 1 , 2 ),b", "{'a':'2'}", false},
        {"a in (1,2)", NULL, false},
        {"a notin (1,2)", "{'a':'3'}", true},
        {"a notin (1,2)", "{'a':'1'}", false},
        {"a", "{'a':'x'}", true},
        {"a", NULL, false},
        {"!a", NULL, true},
        {"!a", "{'a':''}", false},
        {"app.kubernetes.io/name=podinfo", "{'app.kubernetes.io/name':'podinfo'}", true},
        {"in in (in)", "{'in':'in'}", true},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        const struct selector *selector = NULL;
        struct errinfo ei = {0};
        if (selector_parse_labels(arena, cases[i].selector, &selector, &ei))
            fail_msg("%s", ei.text);
        if (selector_match_labels(selector, try_json(arena, cases[i].labels)) != cases[i].match)
            fail_msg("%s against %s", cases[i].selector, cases[i].labels);
    }
}

static void test_label_errors(void **state)
{
    static const char *const cases[] = {"a=1,", ",a",   "a b",   "a in 1", "a in (1", "a=1 b",
                                        "-a=1", "/a=1", "A/a=1", "a=b:c",  "a=1(",    "a>1"};
    struct arena *arena TRY_FREED = arena_new();
    const struct selector *selector;
    struct errinfo ei;
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        assert_int_equal(selector_parse_labels(arena, cases[i], &selector, &ei), ERR_INVALID);
        assert_non_null(strstr(ei.text, "unable to parse selector"));
    }
    char *many = arena_alloc(arena, 1000);
    for (int i = 0; i < 300; i++)
        memcpy(many + (ptrdiff_t)(2 * i), "a,", 2);
    many[599] = 0;
    assert_int_equal(selector_parse_labels(arena, many, &selector, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "at most 64"));
}

static void test_objects(void **state)
{
    static const struct {
        const char *selector, *labels;
        bool match;
        const char *text;
    } cases[] = {
        {NULL, "{}", false, ""},
        {"{}", "{}", true, ""},
        {"{'matchLabels':{'b':'2','a':'1'}}", "{'a':'1','b':'2'}", true, "b=2,a=1"},
        {"{'matchExpressions':[{'key':'a','operator':'In','values':['y','x']}]}", "{'a':'x'}", true,
         "a in (y,x)"},
        {"{'matchExpressions':[{'key':'a','operator':'NotIn','values':['x','z']}]}", "{'a':'x'}",
         false, "a notin (x,z)"},
        {"{'matchExpressions':[{'key':'a','operator':'Exists'}]}", "{'a':'x'}", true, "a"},
        {"{'matchExpressions':[{'key':'a','operator':'DoesNotExist'}]}", "{'a':'x'}", false, "!a"},
    };
    struct arena *arena TRY_FREED = arena_new();
    const struct selector *selector = NULL;
    struct errinfo ei;
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        assert_int_equal(
            selector_from_object(arena, try_json(arena, cases[i].selector), &selector, &ei),
            ERR_OK);
        assert_int_equal(selector_match_labels(selector, try_json(arena, cases[i].labels)),
                         cases[i].match);
        assert_string_equal(selector_text(selector), cases[i].text);
    }
    static const char *const bad[] = {
        "[]",
        "{'matchLabels':[]}",
        "{'matchLabels':{'a':1}}",
        "{'matchLabels':{'a':'b c'}}",
        "{'matchExpressions':[{'key':'a','operator':'Is'}]}",
        "{'matchExpressions':[{'key':'a','operator':'In'}]}",
        "{'matchExpressions':[{'key':'a','operator':'Exists','values':['b']}]}",
    };
    for (size_t i = 0; i < TRY_COUNT(bad); i++) {
        *ei.text = 0;
        assert_int_equal(selector_from_object(arena, try_json(arena, bad[i]), &selector, &ei),
                         ERR_INVALID);
        assert_true(*ei.text);
    }
    assert_int_equal(selector_from_map(arena, try_json(arena, "{'a':'1'}"), &selector, &ei),
                     ERR_OK);
    assert_true(selector_match_labels(selector, try_json(arena, "{'a':'1','b':''}")));
    assert_int_equal(selector_from_map(arena, NULL, &selector, &ei), ERR_OK);
    assert_false(selector_match_labels(selector, try_json(arena, "{'a':'1'}")));
}

static void test_fields(void **state)
{
    static const char pod[] = "{'metadata':{'name':'p','namespace':'n'},'spec':{'nodeName':'x,y'},'"
                              "status':{'phase':'Running'}}";
    static const struct {
        const char *kind, *selector, *obj;
        bool match;
    } cases[] = {
        {"Pod", NULL, pod, true},
        {"Pod", "metadata.name=p", pod, true},
        {"Pod", "metadata.name==p,metadata.namespace!=m", pod, true},
        {"Pod", "metadata.name=q", pod, false},
        {"Pod", "status.phase!=Running", pod, false},
        {"Canary", "metadata.name=p,", pod, true},
        {"Event", "involvedObject.kind=Canary", "{'involvedObject':{'kind':'Canary'}}", true},
    };
    struct arena *arena TRY_FREED = arena_new();
    const struct selector *selector = NULL;
    struct errinfo ei;
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        assert_int_equal(
            selector_parse_fields(arena, cases[i].kind, cases[i].selector, &selector, &ei), ERR_OK);
        if (selector_match_fields(selector, try_json(arena, cases[i].obj)) != cases[i].match)
            fail_msg("%s", cases[i].selector);
    }
    assert_int_equal(selector_parse_fields(arena, "Canary", "metadata.name=p", &selector, &ei),
                     ERR_OK);
    assert_string_equal(selector_wanted(selector, "metadata.name"), "p");
    assert_null(selector_wanted(selector, "metadata.namespace"));
    assert_int_equal(selector_parse_fields(arena, "Canary", "status.phase=x", &selector, &ei),
                     ERR_INVALID);
    assert_string_equal(ei.text, "field label not supported: status.phase");
    assert_int_equal(selector_parse_fields(arena, "Pod", "status.phase", &selector, &ei),
                     ERR_INVALID);
}

UNIT_MAIN(cmocka_unit_test(test_labels), cmocka_unit_test(test_label_errors),
          cmocka_unit_test(test_objects), cmocka_unit_test(test_fields))

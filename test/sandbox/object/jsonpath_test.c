#include "object/jsonpath.h"
#include "object/try.h"

static const char object[] = "{\"a\":{\"b\":1,\"b.c\":2,\"d\\\"e\":3},\"l\":[1,2,3],\"n\":null,"
                             "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"n\":3},"
                             "{\"type\":\"Other\",\"status\":\"False\",\"n\":1,\"x\":true}]}";

static void test_find(void **state)
{
    static const struct {
        const char *path, *found; /* values joined by spaces */
    } cases[] = {
        {".a.b", "1"},
        {"$.a.b", "1"},
        {"{.a.b}", "1"},
        {".a['b.c']", "2"},
        {".a[\"b\"]", "1"},
        {".a['d\"e']", "3"},
        {".a.b\\.c", "2"},
        {".a", "{\"b\":1,\"b.c\":2,\"d\\\"e\":3}"},
        {".a.*", "1 2 3"},
        {".l[0]", "1"},
        {".l[-1]", "3"},
        {".l[3]", ""},
        {".l[-4]", ""},
        {".l[*]", "1 2 3"},
        {".l[]", "1 2 3"},
        {".l[1:]", "2 3"},
        {".l[:2]", "1 2"},
        {".l[1:2]", "2"},
        {".l.b", ""},
        {".n", "null"},
        {".n.x", ""},
        {".missing.x", ""},
        {".a.b.c", ""},
        {".conditions[*].type", "\"Ready\" \"Other\""},
        {".conditions[?(@.type==\"Ready\")].status", "\"True\""},
        {".conditions[?(@.type=='Other')].status", "\"False\""},
        {".conditions[?( @.type != 'Ready' )].status", "\"False\""},
        {".conditions[?(@['type']=='No')].status", ""},
        {".conditions[?(@.n>1)].type", "\"Ready\""},
        {".conditions[?(@.n>=1)].type", "\"Ready\" \"Other\""},
        {".conditions[?(@.n<2.5)].type", "\"Other\""},
        {".conditions[?(@.n<=1)].type", "\"Other\""},
        {".conditions[?(@.x==true)].type", "\"Other\""},
        {".conditions[?(@.x)].type", "\"Other\""},
        {".conditions[?(@.n=='1')].type", ""},
        {".conditions[?(@.n!='1')].type", "\"Ready\" \"Other\""},
        {".l[?(@>1)]", "2 3"},
        {".a[0]", ""},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct jsonpath *path = NULL;
        struct errinfo ei = {0};
        if (jsonpath_compile(cases[i].path, &path, &ei))
            fail_msg("%s", ei.text);
        struct jsonpath_result result = jsonpath_find(path, arena, try_json(arena, object));
        const char *text = "";
        for (size_t k = 0; k < result.count; k++)
            text = arena_printf(arena, "%s%s%s", text, k ? " " : "",
                                json_text(arena, result.values[k]));
        if (strcmp(text, cases[i].found) != 0)
            fail_msg("%s: %s instead of %s", cases[i].path, text, cases[i].found);
        jsonpath_free(path);
    }
}

static void test_errors(void **state)
{
    static const char *const cases[][2] = {
        {"", "it is empty"},
        {"a.b", "expected \".\" or \"[\""},
        {".a..b", "\"..\" is not supported"},
        {".a.", "expected a field name"},
        {".a[", "expected \"]\""},
        {".a[x]", "expected \"]\""},
        {".a['x", "does not end"},
        {".a[?(type)]", "expected a filter"},
        {".a[?(@.x==)]", "expected a string, a number"},
        {".a[?(@.x==1]", "expected \")\""},
        {".a[?(@[?(@.x)])]", "inside of a filter"},
        {"{.a", "expected \".\" or \"[\""},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct jsonpath *path = NULL;
        struct errinfo ei = {0};
        assert_int_equal(jsonpath_compile(cases[i][0], &path, &ei), ERR_INVALID);
        if (!strstr(ei.text, cases[i][1]))
            fail_msg("%s: \"%s\" instead of \"%s\"", cases[i][0], ei.text, cases[i][1]);
    }
}

static void test_limits(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct jsonpath *path = NULL;
    struct errinfo ei = {0};
    char text[JSONPATH_MAX_BYTES + 2];
    memset(text, 'a', sizeof(text));
    text[0] = '.';
    text[sizeof(text) - 1] = 0;
    assert_int_equal(jsonpath_compile(text, &path, &ei), ERR_INVALID);
    for (size_t i = 0; i < 200; i += 2)
        memcpy(text + i, ".a", 2);
    text[200] = 0;
    assert_int_equal(jsonpath_compile(text, &path, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "too many steps"));

    struct json_object *list = json_own(arena, json_object_new_array());
    for (int i = 0; i < 2000; i++)
        json_object_array_add(list, json_object_new_int(i));
    assert_int_equal(jsonpath_compile("$[*]", &path, &ei), ERR_OK);
    assert_int_equal(jsonpath_find(path, arena, list).count, JSONPATH_MAX_RESULTS);
    jsonpath_free(path);
}

UNIT_MAIN(cmocka_unit_test(test_find), cmocka_unit_test(test_errors), cmocka_unit_test(test_limits))

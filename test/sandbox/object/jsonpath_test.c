#include "object/jsonpath.h"
#include "object/try.h"

static void test_first(void **state)
{
    static const struct {
        const char *path, *found; /* NULL: nothing */
    } cases[] = {
        {".a.b", "1"},
        {".a", "{\"b\":1}"},
        {".l[0]", "1"},
        {".l[2]", "3"},
        {".l[3]", NULL},
        {".l[*]", "1"},
        {".l", "[1,2,3]"},
        {".l.b", NULL},
        {".l[", NULL},
        {".a[0]", NULL},
        {".missing.x", NULL},
        {".c[?(@.type==\"Ready\")].status", "\"True\""},
        {".c[?(@.type==\"No\")].status", NULL},
        {".c[1].type", "\"Ready\""},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *obj =
            try_json(arena, "{'a':{'b':1},'l':[1,2,3],'c':[{'type':'A'},{'type':'Ready','status':"
                            "'True'}]}");
        struct json_object *found = jsonpath_first(arena, obj, cases[i].path);
        if (!found != !cases[i].found)
            fail_msg("%s", cases[i].path);
        if (found)
            assert_string_equal(json_text(arena, found), cases[i].found);
    }
}

UNIT_MAIN(cmocka_unit_test(test_first))

#include "api/objtidy.h"
#include "object/try.h"

static void test_tidy(void **state)
{
    static const struct {
        bool typed;
        const char *obj, *wanted;
    } cases[] = {
        {true,
         "{'metadata':{'labels':{},'annotations':null,'finalizers':[],'name':'x','managedFields':[]"
         "}}",
         "{'metadata':{'name':'x','managedFields':[]}}"},
        {true, "{'spec':{'a':null,'b':[{'c':null,'d':1},null],'e':{}}}",
         "{'spec':{'b':[{'d':1},null],'e':{}}}"},
        {true, "{'spec':{'template':{'metadata':{'creationTimestamp':null,'annotations':{}}}}}",
         "{'spec':{'template':{'metadata':{}}}}"},
        {true, "{'metadata':7,'spec':{'template':{'metadata':[]}}}",
         "{'metadata':7,'spec':{'template':{'metadata':[]}}}"},
        {false, "{'metadata':{'labels':{}},'spec':{'a':null}}",
         "{'metadata':{},'spec':{'a':null}}"},
        {false, "{}", "{}"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *obj = try_json(arena, cases[i].obj);
        objtidy(obj, cases[i].typed);
        try_same(arena, obj, cases[i].wanted);
    }
}

UNIT_MAIN(cmocka_unit_test(test_tidy))

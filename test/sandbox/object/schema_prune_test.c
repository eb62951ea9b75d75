#include "object/schema.h"
#include "object/try.h"

#define PROPS(text) "{'type':'object','properties':{" text "}}"

static void test_prune(void **state)
{
    static const struct {
        const char *schema, *obj, *result, *paths;
    } cases[] = {
        {PROPS("'spec':" PROPS("'a':{'type':'string'}")),
         "{'apiVersion':'v1','kind':'K','metadata':{'x':1},'spec':{'a':'','b':1},'more':{}}",
         "{'apiVersion':'v1','kind':'K','metadata':{'x':1},'spec':{'a':''}}", "spec.b more"},
        {PROPS("'l':{'type':'array','items':" PROPS("'a':{'type':'string'}") "}"),
         "{'l':[{'a':'','z':1},3,{'y':null}]}", "{'l':[{'a':''},3,{}]}", "l[0].z l[2].y"},
        {PROPS("'m':{'type':'object','additionalProperties':" PROPS("'a':{'type':'string'}") "}"),
         "{'m':{'k':{'a':'','b':1}}}", "{'m':{'k':{'a':''}}}", "m.k.b"},
        {PROPS("'p':{'type':'object','x-kubernetes-preserve-unknown-fields':true,'properties':{'q':"
               "{'type':'object'}}}"),
         "{'p':{'x':{'y':1},'q':{'z':1}}}", "{'p':{'x':{'y':1},'q':{}}}", "p.q.z"},
        {PROPS("'t':{'type':'object','additionalProperties':true}"), "{'t':{'x':{'y':[{'z':1}]}}}",
         "{'t':{'x':{'y':[{'z':1}]}}}", ""},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct schema *schema = NULL;
        struct schema_paths unknown;
        struct json_object *obj = try_json(arena, cases[i].obj);
        assert_int_equal(schema_compile(try_json(arena, cases[i].schema), &schema, NULL), ERR_OK);
        schema_prune(schema, arena, obj, &unknown);
        try_same(arena, obj, cases[i].result);
        const char *paths = "";
        for (size_t k = 0; k < unknown.count; k++)
            paths = arena_printf(arena, "%s%s%s", paths, k ? " " : "", unknown.paths[k]);
        assert_string_equal(paths, cases[i].paths);
        schema_prune(schema, arena, obj, NULL);
        try_same(arena, obj, cases[i].result);
        schema_free(schema);
    }
}

static void test_prune_many(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct schema *schema = NULL;
    struct schema_paths unknown;
    assert_int_equal(schema_compile(try_json(arena, "{'type':'object'}"), &schema, NULL), ERR_OK);
    struct json_object *obj = json_own(arena, json_object_new_object());
    for (int i = 0; i < 1000; i++)
        json_set_int(obj, arena_printf(arena, "k%d", i), i);
    schema_prune(schema, arena, obj, &unknown);
    assert_int_equal(unknown.count, CAUSE_MAX);
    assert_string_equal(unknown.paths[CAUSE_MAX - 1], "k99");
    assert_int_equal(json_object_object_length(obj), 0);
    schema_free(schema);
}

static void test_defaults(void **state)
{
    static const char open_api[] = PROPS(
        "'spec':{'type':'object','default':{},'properties':{'foo':{'type':'string','default':'d'},'"
        "bar':{'type':'string','nullable':true,'default':'e'},'baz':{'type':'string'},'list':{'"
        "type':'array','items':{'type':'object','properties':{'p':{'type':'string','default':'TCP'}"
        "}}},'map':{'type':'object','additionalProperties':{'type':'integer','default':7}}}}");
    static const struct {
        const char *obj, *result;
    } cases[] = {
        {"{}", "{'spec':{'foo':'d','bar':'e'}}"},
        {"{'spec':{'foo':null,'bar':null,'baz':null}}", "{'spec':{'foo':'d','bar':null}}"},
        {"{'spec':{'foo':'x','bar':'y','list':[{},{'p':'UDP'},3],'map':{'a':null,'b':1}}}",
         "{'spec':{'foo':'x','bar':'y','list':[{'p':'TCP'},{'p':'UDP'},3],'map':{'a':7,'b':1}}}"},
        {"{'spec':[]}", "{'spec':[]}"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct schema *schema = NULL;
        struct json_object *obj = try_json(arena, cases[i].obj);
        assert_int_equal(schema_compile(try_json(arena, open_api), &schema, NULL), ERR_OK);
        schema_default(schema, obj);
        try_same(arena, obj, cases[i].result);
        /* What was set is the object's own: the schema keeps its defaults. */
        struct json_object *other = try_json(arena, "{}");
        if (json_object_is_type(json_at(obj, "spec", NULL), json_type_object))
            json_set_str(json_at(obj, "spec", NULL), "foo", "changed");
        schema_default(schema, other);
        try_same(arena, other, cases[0].result);
        schema_free(schema);
    }
}

UNIT_MAIN(cmocka_unit_test(test_prune), cmocka_unit_test(test_prune_many),
          cmocka_unit_test(test_defaults))

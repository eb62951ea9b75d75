#include "object/schema.h"
#include "object/try.h"

static void test_errors(void **state)
{
    static const struct {
        const char *schema, *why;
    } cases[] = {
        {"{}", "type: required, unless"},
        {"[]", "expected a schema object"},
        {"{'type':'string'}", "type: must be object at the root"},
        {"{'type':'text'}", "type: \"text\" is none of object"},
        {"{'type':3}", "type: expected string, found int"},
        {"{'type':'object','properties':{'a':{'properties':{}}}}", "properties[a]: type: required"},
        {"{'type':'object','properties':{'a':{'type':'array'}}}", "properties[a]: items: required"},
        {"{'type':'object','properties':{'a':{'type':'array','items':{'type':'string','pattern':'('"
         "}}}}",
         "properties[a]: items: pattern \"(\""},
        {"{'type':'object','properties':{'a':{'type':'string','minLength':-1}}}",
         "minLength: expected a whole number"},
        {"{'type':'object','minimum':'1'}", "must be numbers"},
        {"{'type':'object','required':'a'}", "required: expected array, found string"},
        {"{'type':'object','required':[1]}", "required[0]: expected a string"},
        {"{'type':'object','enum':{}}", "enum: expected array"},
        {"{'type':'object','nullable':'yes'}", "nullable: expected boolean"},
        {"{'type':'object','properties':{'a':{'$ref':'#/x'}}}", "$ref"},
        {"{'type':'object','properties':{'a':{'type':'array','items':{'type':'object'},'x-"
         "kubernetes-list-type':'map'}}}",
         "x-kubernetes-list-map-keys"},
        {"{'type':'object','x-kubernetes-list-type':'bag'}", "none of atomic, set, map"},
        {"{'type':'object','properties':{'a':{'type':'string'}},'additionalProperties':{'type':'"
         "string'}}",
         "not allowed together"},
        {"{'type':'object','oneOf':[{},{'pattern':'['}]}", "oneOf[1]: pattern"},
        {"{'type':'object','additionalProperties':{'type':'x'}}", "additionalProperties: type"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct schema *schema = NULL;
        struct errinfo ei = {0};
        assert_int_equal(schema_compile(try_json(arena, cases[i].schema), &schema, &ei),
                         ERR_INVALID);
        if (!strstr(ei.text, cases[i].why))
            fail_msg("%s: \"%s\" instead of \"%s\"", cases[i].schema, ei.text, cases[i].why);
    }
}

static void test_depth(void **state)
{
    struct json_object *inner = json_object_new_object();
    json_set_str(inner, "type", "object");
    for (int i = 0; i <= SCHEMA_MAX_DEPTH; i++) {
        struct json_object *outer = json_object_new_object();
        json_set_str(outer, "type", "array");
        json_object_object_add(outer, "items", inner);
        inner = outer;
    }
    struct schema *schema = NULL;
    struct errinfo ei;
    assert_int_equal(schema_compile(inner, &schema, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "nested deeper than"));
    json_object_put(inner);
}

UNIT_MAIN(cmocka_unit_test(test_errors), cmocka_unit_test(test_depth))

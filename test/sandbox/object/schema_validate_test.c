#include "object/schema.h"
#include "object/try.h"

#define FIELD(text) "{'type':'object','properties':{'f':" text "}}"

static const struct {
    const char *schema, *obj, *text; /* text "": valid */
} cases[] = {
    {FIELD("{'type':'number'}"), "{'f':'x'}",
     "f: Invalid value: \"string\": f in body must be of type number: \"string\""},
    {FIELD("{'type':'number'}"), "{'f':3}", ""},
    {FIELD("{'type':'integer'}"), "{'f':3.0}", ""},
    {FIELD("{'type':'integer'}"), "{'f':3.5}",
     "f: Invalid value: \"number\": f in body must be of type integer: \"number\""},
    {FIELD("{'type':'string'}"), "{'f':null}",
     "f: Invalid value: \"null\": f in body must be of type string: \"null\""},
    {FIELD("{'type':'string','nullable':true}"), "{'f':null}", ""},
    {FIELD("{'type':'boolean'}"), "{'f':[]}",
     "f: Invalid value: \"array\": f in body must be of type boolean: \"array\""},
    {FIELD("{'type':'array','items':{'type':'object'}}"), "{'f':[{},true]}",
     "f[1]: Invalid value: \"boolean\": f[1] in body must be of type object: \"boolean\""},
    {FIELD("{'type':'string','enum':['a','b']}"), "{'f':'c'}",
     "f: Unsupported value: \"c\": supported values: \"a\", \"b\""},
    {FIELD("{'type':'string','enum':['a','b']}"), "{'f':'b'}", ""},
    {FIELD("{'type':'integer','minimum':0,'maximum':100}"), "{'f':-1}",
     "f: Invalid value: -1: f in body should be greater than or equal to 0"},
    {FIELD("{'type':'integer','minimum':0,'maximum':100}"), "{'f':101}",
     "f: Invalid value: 101: f in body should be less than or equal to 100"},
    {FIELD("{'type':'integer','minimum':0,'maximum':100}"), "{'f':100}", ""},
    {FIELD("{'type':'integer','format':'int32'}"), "{'f':2147483648}",
     "f: Invalid value: 2147483648: f in body must be of type int32: 2147483648"},
    {FIELD("{'type':'string','minLength':2}"), "{'f':'ä'}",
     "f: Invalid value: \"ä\": f in body should be at least 2 chars long"},
    {FIELD("{'type':'string','maxLength':2}"), "{'f':'äöü'}",
     "f: Too long: may not be more than 2 characters"},
    {FIELD("{'type':'string','maxLength':2}"), "{'f':'äö'}", ""},
    {FIELD("{'type':'string','pattern':'^[0-9]+(m|s)'}"), "{'f':'m'}",
     "f: Invalid value: \"m\": f in body should match '^[0-9]+(m|s)'"},
    {FIELD("{'type':'string','format':'date-time'}"), "{'f':'now'}",
     "f: Invalid value: \"now\": f in body must be of type date-time: \"now\""},
    {FIELD("{'type':'array','minItems':1,'items':{'type':'string'}}"), "{'f':[]}",
     "f: Invalid value: []: f in body should have at least 1 items"},
    {FIELD("{'type':'array','maxItems':1,'items':{'type':'string'}}"), "{'f':['a','b']}",
     "f: Too many: 2: must have at most 1 items"},
    {FIELD("{'type':'object','minProperties':1}"), "{'f':{}}",
     "f: Invalid value: {}: f in body should have at least 1 properties"},
    {FIELD("{'type':'object','maxProperties':1,'additionalProperties':true}"),
     "{'f':{'a':1,'b':2}}", "f: Too many: 2: must have at most 1 properties"},
    {FIELD("{'type':'object','required':['a','b']}"), "{'f':{}}",
     "[f.a: Required value, f.b: Required value]"},
    {FIELD("{'type':'object','additionalProperties':{'type':'string'}}"), "{'f':{'k':1}}",
     "f.k: Invalid value: \"integer\": f.k in body must be of type string: \"integer\""},
    {FIELD("{'type':'object','additionalProperties':false}"), "{'f':{'k':1}}",
     "f.k: Forbidden: f.k in body is a forbidden property"},
    {FIELD("{'x-kubernetes-int-or-string':true}"), "{'f':'25%'}", ""},
    {FIELD("{'x-kubernetes-int-or-string':true}"), "{'f':3}", ""},
    {FIELD("{'x-kubernetes-int-or-string':true}"), "{'f':true}",
     "f: Invalid value: \"boolean\": f in body must be of type integer,string: \"boolean\""},
    {FIELD("{'x-kubernetes-preserve-unknown-fields':true}"), "{'f':[{'a':null}]}", ""},
    {FIELD("{'type':'array','x-kubernetes-list-type':'set','items':{'type':'string'}}"),
     "{'f':['a','b','a']}", "f[2]: Duplicate value: \"a\""},
    {FIELD("{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['p','q'],'"
           "items':{'type':'object','properties':{'p':{'type':'integer'},'q':{'type':'string','"
           "default':'TCP'}}}}"),
     "{'f':[{'p':1},{'p':1,'q':'UDP'},{'p':1,'q':'TCP'}]}",
     "f[2]: Duplicate value: {\"p\":1,\"q\":\"TCP\"}"},
    {FIELD("{'type':'object','properties':{'a':{'type':'integer'},'b':{'type':'integer'}},'oneOf':["
           "{'required':['a']},{'required':['b']}]}"),
     "{'f':{'a':1}}", ""},
    {FIELD("{'type':'object','additionalProperties':true,'oneOf':[{'required':['a']},{'required':['"
           "b']}]}"),
     "{'f':{}}",
     "[f: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found none "
     "valid, f.a: Required value]"},
    {FIELD("{'type':'object','additionalProperties':true,'oneOf':[{'required':['a']},{'required':['"
           "b']}]}"),
     "{'f':{'a':1,'b':2}}",
     "f: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found 2 valid "
     "alternatives"},
    {FIELD("{'type':'object','additionalProperties':true,'anyOf':[{'required':['a']},{'required':['"
           "b']}]}"),
     "{'f':{'c':1}}",
     "[f: Invalid value: \"\": \"f\" must validate at least one schema (anyOf), f.a: Required "
     "value]"},
};

static void test_validate(void **state)
{
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct causes causes = {.arena = arena};
        struct schema *schema = NULL;
        struct errinfo ei = {0};
        if (schema_compile(try_json(arena, cases[i].schema), &schema, &ei))
            fail_msg("%s: %s", cases[i].schema, ei.text);
        bool ok = schema_validate(schema, try_json(arena, cases[i].obj), &causes);
        if (strcmp(cause_text(&causes), cases[i].text) != 0)
            fail_msg("%s\n%s:\nfound  %s\nwanted %s", cases[i].schema, cases[i].obj,
                     cause_text(&causes), cases[i].text);
        assert_int_equal(ok, cases[i].text[0] == 0);
        schema_free(schema);
    }
}

static void test_reasons(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct causes causes = {.arena = arena};
    struct schema *schema = NULL;
    assert_int_equal(
        schema_compile(try_json(arena, FIELD("{'type':'string','enum':['a']}")), &schema, NULL),
        ERR_OK);
    assert_false(schema_validate(schema, try_json(arena, "{'f':3}"), &causes));
    assert_false(schema_validate(schema, try_json(arena, "{'f':'b'}"), &causes));
    assert_true(schema_validate(schema, try_json(arena, "{'f':'a'}"), &causes));
    assert_int_equal(causes.count, 2);
    assert_int_equal(causes.first->reason, CAUSE_TYPE_INVALID);
    assert_string_equal(causes.first->field, "f");
    assert_int_equal(causes.first->next->reason, CAUSE_NOT_SUPPORTED);
    schema_free(schema);
}

UNIT_MAIN(cmocka_unit_test(test_validate), cmocka_unit_test(test_reasons))

#include "object/fieldset.h"
#include "object/try.h"

static struct json_object *set(struct arena *arena, const char *fields_v1)
{
    return fields_v1 ? fieldset_parse(arena, try_json(arena, fields_v1)) : NULL;
}

static void same_set(struct arena *arena, struct json_object *found, const char *wanted)
{
    if (!wanted)
        assert_null(found);
    else
        try_same(arena, fieldset_text(arena, found), wanted);
}

static void test_algebra(void **state)
{
    static const struct {
        const char *a, *b, *join, *minus, *common;
    } cases[] = {
        {NULL, NULL, NULL, NULL, NULL},
        {"{'f:a':{}}", NULL, "{'f:a':{}}", "{'f:a':{}}", NULL},
        {NULL, "{'f:a':{}}", "{'f:a':{}}", NULL, NULL},
        {"{'f:a':{}}", "{'f:a':{}}", "{'f:a':{}}", NULL, "{'f:a':{}}"},
        {"{'f:a':{}}", "{'f:b':{}}", "{'f:a':{},'f:b':{}}", "{'f:a':{}}", NULL},
        {"{'f:a':{}}", "{'f:a':{'f:b':{}}}", "{'f:a':{'.':{},'f:b':{}}}", "{'f:a':{}}", NULL},
        {"{'f:a':{'.':{},'f:b':{},'f:c':{}}}", "{'f:a':{'f:b':{}}}",
         "{'f:a':{'.':{},'f:b':{},'f:c':{}}}", "{'f:a':{'.':{},'f:c':{}}}", "{'f:a':{'f:b':{}}}"},
        {"{'f:a':{'.':{},'f:b':{}}}", "{'f:a':{'f:b':{}}}", "{'f:a':{'.':{},'f:b':{}}}",
         "{'f:a':{}}", "{'f:a':{'f:b':{}}}"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *a = set(arena, cases[i].a), *b = set(arena, cases[i].b);
        same_set(arena, fieldset_join(arena, a, b), cases[i].join);
        same_set(arena, fieldset_minus(arena, a, b), cases[i].minus);
        same_set(arena, fieldset_common(arena, a, b), cases[i].common);
        same_set(arena, a, cases[i].a);
        same_set(arena, b, cases[i].b);
    }
}

#define POD(containers) "{'spec':{'containers':" containers "}}"

static void test_of(void **state)
{
    static const struct {
        const char *kind, *obj, *fields;
    } cases[] = {
        {"Pod",
         "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a','labels':{'x':'1'},'annotations':{"
         "}}}",
         "{'f:metadata':{'f:labels':{'f:x':{}},'f:annotations':{}}}"},
        {"Pod", POD("[{'name':'a','args':['x'],'ports':[{'containerPort':80}]}]"),
         "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\".\":{},\"f:name\":{},"
         "\"f:args\":{},\"f:ports\":{\"k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":"
         "{\".\":{},\"f:containerPort\":{}}}}}}}"},
        {"Pod", "{'metadata':{'finalizers':['x/y']}}",
         "{\"f:metadata\":{\"f:finalizers\":{\"v:\\\"x/y\\\"\":{}}}}"},
        {"Service", "{'spec':{'selector':{'a':'1'}}}", "{'f:spec':{'f:selector':{}}}"},
        {"Pod", POD("[{'name':'a'},{'name':'a'}]"), "{'f:spec':{'f:containers':{}}}"},
        {"Pod", POD("[{'image':'a'}]"), "{'f:spec':{'f:containers':{}}}"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *found =
            fieldset_of(arena, typing_builtin(cases[i].kind), try_json(arena, cases[i].obj));
        same_set(arena, fieldset_without_server(arena, found), cases[i].fields);
    }
}

static void test_compare(void **state)
{
    static const struct {
        const char *before, *after, *changed, *removed;
    } cases[] = {
        {"{'a':1}", "{'a':1.0}", NULL, NULL},
        {"{'a':1,'b':2}", "{'a':2,'c':{'d':1}}", "{'f:a':{},'f:c':{'f:d':{}}}", "{'f:b':{}}"},
        {"{'a':{'b':1,'c':2}}", "{'a':3}", "{'f:a':{}}", "{'f:a':{'f:b':{},'f:c':{}}}"},
        {POD("[{'name':'a','image':'1'},{'name':'b'}]"),
         POD("[{'name':'c'},{'name':'a','image':'2'}]"),
         "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\"f:image\":{}},"
         "\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:name\":{}}}}}",
         "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"b\\\"}\":{\".\":{},\"f:name\":{}}}}"
         "}"},
        {"{'l':[1]}", "{'l':[1,2]}", "{'f:l':{}}", NULL},
        {POD("[{'name':'a'},{'name':'b'}]"), POD("[{'name':'b'},{'name':'a'}]"), NULL, NULL},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *changed, *removed;
        fieldset_compare(arena, typing_builtin("Pod"), try_json(arena, cases[i].before),
                         try_json(arena, cases[i].after), &changed, &removed);
        same_set(arena, changed, cases[i].changed);
        same_set(arena, removed, cases[i].removed);
    }
}

struct paths {
    struct arena *arena;
    const char *text;
};

static void add_path(void *ctx, const char *path)
{
    struct paths *paths = ctx;
    paths->text = arena_printf(paths->arena, "%s%s ", paths->text, path);
}

static void test_paths_and_index(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct paths paths = {.arena = arena, .text = ""};
    fieldset_each(arena,
                  set(arena, "{\"f:spec\":{\"f:ports\":{\"k:{\\\"port\\\":80,\\\"protocol\\\":"
                             "\\\"TCP\\\"}\":{\".\":{},\"f:name\":{}}}},\"f:l\":{\"v:\\\"x\\\"\":"
                             "{}}}"),
                  add_path, &paths);
    assert_string_equal(paths.text, ".spec.ports[port=80,protocol=\"TCP\"] "
                                    ".spec.ports[port=80,protocol=\"TCP\"].name .l[=\"x\"] ");
    fieldset_each(arena, NULL, add_path, &paths);

    struct typing spec = typing_field(typing_builtin("Pod"), "spec");
    struct typing containers = typing_field(spec, "containers");
    const char *why;
    assert_non_null(fieldset_index(arena, containers, try_json(arena, "[{'name':'a'}]"), &why));
    assert_null(why);
    assert_null(fieldset_index(arena, containers, try_json(arena, "[{}]"), &why));
    assert_string_equal(why, "containers[0]: the item must have a value for its key: name");
    assert_null(
        fieldset_index(arena, containers, try_json(arena, "[{'name':'a'},{'name':'a'}]"), &why));
    assert_string_equal(why, "containers[1]: the key occurs twice: {\"name\":\"a\"}");
    assert_null(
        fieldset_index(arena, typing_field(spec, "tolerations"), try_json(arena, "[{}]"), &why));
    assert_null(why);
}

UNIT_MAIN(cmocka_unit_test(test_algebra), cmocka_unit_test(test_of), cmocka_unit_test(test_compare),
          cmocka_unit_test(test_paths_and_index))

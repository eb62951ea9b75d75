#include "api/objinternal.h"
#include "object/try.h"

static void test_uid(void **state)
{
    char a[37], b[37];
    objmeta_uid(a);
    objmeta_uid(b);
    assert_int_equal(strlen(a), 36);
    assert_int_equal(a[14], '4');
    assert_int_equal(strspn(a, "0123456789abcdef-"), 36);
    assert_string_not_equal(a, b);
}

static void test_generated_name(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    const char *name = objmeta_generate_name(
        arena, "a-very-long-base-that-goes-on-and-on-until-it-is-longer-than-a-label-may-be-");
    assert_int_equal(strlen(name), 63);
    assert_int_equal(strlen(objmeta_generate_name(arena, "x-")), 7);
}

static void test_finalizers(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *obj = try_json(arena, "{'metadata':{}}");
    assert_false(objmeta_has_finalizer(obj, NULL));
    objmeta_add_finalizer(obj, "a");
    objmeta_add_finalizer(obj, "b");
    objmeta_add_finalizer(obj, "a");
    try_same(arena, obj, "{'metadata':{'finalizers':['a','b']}}");
    assert_true(objmeta_has_finalizer(obj, "b"));
    objmeta_remove_finalizer(obj, "a");
    objmeta_remove_finalizer(obj, "none");
    try_same(arena, obj, "{'metadata':{'finalizers':['b']}}");
    objmeta_remove_finalizer(obj, "b");
    try_same(arena, obj, "{'metadata':{}}");
    objmeta_remove_finalizer(obj, "b");
}

UNIT_MAIN(cmocka_unit_test(test_uid), cmocka_unit_test(test_generated_name),
          cmocka_unit_test(test_finalizers))

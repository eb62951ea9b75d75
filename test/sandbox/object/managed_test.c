#include "object/apply.h"
#include "object/fieldset.h"
#include "object/managed.h"
#include "object/try.h"

static void test_round_trip(void **state)
{
    static const char text[] =
        "{'metadata':{'managedFields':[{'manager':'a','operation':'Apply','apiVersion':'v1','time':"
        "'2026-01-01T00:00:00Z','fieldsType':'FieldsV1','fieldsV1':{'f:x':{}}},{'manager':'b','"
        "operation':'Update','apiVersion':'v1','time':'2026-01-02T00:00:00Z','fieldsType':'"
        "FieldsV1','fieldsV1':{'f:y':{'.':{},'f:z':{}}},'subresource':'status'}]}}";
    struct arena *arena TRY_FREED = arena_new();
    struct managed managed;
    struct json_object *obj = try_json(arena, text);
    struct json_object *copy = try_json(arena, "{'metadata':{}}");
    managed_read(&managed, arena, obj);
    assert_int_equal(managed.count, 2);
    managed_write(&managed, copy);
    try_same(arena, copy, text);

    struct managed_entry *a = managed_find(&managed, "a", true, "v2", NULL);
    assert_ptr_equal(a, managed.first);
    assert_ptr_equal(managed_find(&managed, "b", false, "v1", "status"), a->next);
    assert_ptr_not_equal(managed_find(&managed, "b", false, "v1", NULL), a->next);
    assert_ptr_not_equal(managed_find(&managed, "b", false, "v2", "status"), a->next);
    try_same(arena, fieldset_text(arena, managed_owned(&managed, a)), "{'f:y':{'.':{},'f:z':{}}}");
    managed_set(&managed, a, a->set, "v1", 0);
    assert_string_equal(a->time, "2026-01-01T00:00:00Z");
    managed_set(&managed, a, fieldset_parse(arena, try_json(arena, "{'f:q':{}}")), "v1", 0);
    assert_string_equal(a->time, "1970-01-01T00:00:00Z");
    managed_release(&managed, NULL, managed_owned(&managed, NULL));
    managed_write(&managed, copy);
    try_same(arena, copy, "{'metadata':{}}");
}

static void test_ancient(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct managed managed;
    managed_read(&managed, arena, NULL);
    for (int i = 0; i < 13; i++) {
        const char *name = arena_printf(arena, "m%d", i);
        const char *fields = arena_printf(arena, "{'f:%d':{}}", i);
        managed_set(&managed, managed_find(&managed, name, false, "v1", NULL),
                    fieldset_parse(arena, try_json(arena, fields)), "v1", (12 - i) * 1000);
    }
    struct json_object *obj = try_json(arena, "{}");
    managed_write(&managed, obj);
    struct json_object *list = json_at(obj, "metadata", "managedFields", NULL);
    assert_int_equal(json_len(list), APPLY_MAX_UPDATERS);
    struct json_object *ancient = json_elem(list, APPLY_MAX_UPDATERS - 1);
    assert_string_equal(json_str_at(ancient, "manager", NULL), "ancient-changes");
    try_same(arena, json_at(ancient, "fieldsV1", NULL), "{'f:12':{},'f:11':{},'f:10':{},'f:9':{}}");
}

UNIT_MAIN(cmocka_unit_test(test_round_trip), cmocka_unit_test(test_ancient))

#include "api/objinternal.h"
#include "api/trystore.h"

/* More objects than trees are kept of: what is not in use is text, and comes back as it was. */
CASE(test_texts)
{
    enum { COUNT = 5000, TREES = 4096 };
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *maps = try_kind(&t, "", "configmaps");
    struct json_object *first = json_copy(
        t.arena, try_create(&t, maps, "default",
                            "{'metadata':{'name':'x'},'data':{'a':'\\u00e9 \\n','b':''}}"));
    for (int i = 0; i < COUNT; i++) {
        struct objcall call = {.arena = arena_new(), .manager = "test"};
        struct json_object *obj = json_own(call.arena, json_object_new_object());
        json_set_str(json_sub(obj, "metadata"), "name", arena_printf(call.arena, "m%d", i));
        assert_int_equal(objstore_create(t.store, &call, maps, "default", obj, NULL), ERR_OK);
        arena_free(call.arena);
    }
    const struct objrecord *record = objset_get(objset_of_kind(t.store, maps), "default/x");
    assert_null(record->state->tree);
    assert_int_equal(t.store->trees, TREES);
    assert_true(json_same(objstore_get(t.store, maps, "default", "x"), first));
    assert_non_null(record->state->tree);
    assert_int_equal(t.store->trees, TREES);
    try_merge(&t, maps, "default", "x", OBJSUB_NONE, "{'data':{'a':'2'}}");
    assert_string_equal(json_str_at(objstore_get(t.store, maps, "default", "x"), "data", "a", NULL),
                        "2");
}

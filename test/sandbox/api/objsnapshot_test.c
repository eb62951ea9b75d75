#include "api/trystore.h"

CASE(test_round_trip)
{
    struct trystore a TRY_CLOSED = try_open(), b TRY_CLOSED = try_open();
    const char *path = unit_path("state.json");
    struct errinfo ei;
    assert_int_equal(objstore_load(b.store, path, &ei), ERR_NOT_FOUND);
    try_create(&a, try_kind(&a, "apiextensions.k8s.io", "customresourcedefinitions"), NULL,
               try_crd);
    struct json_object *toy = try_create(&a, try_kind(&a, "try.io", "toys"), "default",
                                         "{'metadata':{'name':'bear'},'spec':{'size':1}}");
    assert_int_equal(objstore_save(a.store, path, &ei), ERR_OK);
    if (objstore_load(b.store, path, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    struct json_object *found =
        objstore_get(b.store, try_kind(&b, "try.io", "toys"), "default", "bear");
    assert_true(json_same(found, toy));
    /* What was listed before has expired, and versions go on behind those of the objects. */
    assert_int_equal(objstore_version(b.store), objstore_version(a.store) + 1);
    assert_int_equal(objstore_oldest_version(b.store), objstore_version(b.store));
    try_settle(&b);
    assert_non_null(objstore_get(b.store, try_kind(&b, "", "namespaces"), NULL, "default"));
    struct json_object **items;
    assert_int_equal(objstore_list(b.store, arena, try_kind(&b, "", "namespaces"), NULL, &items),
                     2);
}

CASE(test_damaged)
{
    static const char *const texts[] = {
        "{", "{}\n", "{\"apiVersion\":\"x/v1\",\"kind\":\"Y\"}\n",
        ("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\","
         "\"uid\":\"x\"}}\n")};
    EACH_ROW (text, texts) {
        const char *path = unit_put("state.json", *text);
        struct errinfo ei = {0};
        struct trystore t TRY_CLOSED = try_open();
        assert_int_equal(objstore_load(t.store, path, &ei), ERR_INVALID);
        assert_non_null(strstr(ei.text, path));
    }
}

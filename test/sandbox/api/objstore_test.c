#include "api/objstore.h"
#include "api/trystore.h"

static void test_kinds(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    assert_non_null(objstore_kind(t.store, "", "pods"));
    assert_non_null(objstore_kind_named(t.store, "apps", "Deployment"));
    assert_null(objstore_kind(t.store, "", "deployments"));
    assert_null(objstore_kind(t.store, "try.io", "toys"));
}

static void test_list_in_order(void **state)
{
    static const char *const order[] = {"a-b/x", "a/w", "a/x", "b/x"};
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *namespaces = try_kind(&t, "", "namespaces");
    const struct objkind *maps = try_kind(&t, "", "configmaps");
    try_create(&t, namespaces, NULL, "{'metadata':{'name':'b'}}");
    try_create(&t, namespaces, NULL, "{'metadata':{'name':'a'}}");
    try_create(&t, namespaces, NULL, "{'metadata':{'name':'a-b'}}");
    try_create(&t, maps, "b", "{'metadata':{'name':'x'}}");
    try_create(&t, maps, "a", "{'metadata':{'name':'x'}}");
    try_create(&t, maps, "a-b", "{'metadata':{'name':'x'}}");
    try_create(&t, maps, "a", "{'metadata':{'name':'w'}}");
    struct json_object **items;
    assert_int_equal(objstore_list(t.store, t.arena, maps, NULL, &items), TRY_COUNT(order));
    for (size_t i = 0; i < TRY_COUNT(order); i++) {
        assert_string_equal(arena_printf(t.arena, "%s/%s",
                                         json_str_at(items[i], "metadata", "namespace", NULL),
                                         json_str_at(items[i], "metadata", "name", NULL)),
                            order[i]);
    }
    assert_int_equal(objstore_list(t.store, t.arena, maps, "a", &items), 2);
    assert_string_equal(json_str_at(items[0], "metadata", "name", NULL), "w");
    assert_int_equal(objstore_count(t.store, maps, "a-b"), 1);
    assert_int_equal(objstore_count(t.store, maps, "nowhere"), 0);
}

static void test_find(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *maps = try_kind(&t, "", "configmaps");
    struct json_object *obj = try_create(&t, maps, "default", "{'metadata':{'name':'x'}}");
    assert_ptr_equal(objstore_get(t.store, maps, "default", "x"), obj);
    assert_null(objstore_get(t.store, maps, "default", "y"));
    assert_ptr_equal(objstore_by_uid(t.store, json_str_at(obj, "metadata", "uid", NULL)), obj);
    assert_null(objstore_by_uid(t.store, "none"));
}

static void test_versions(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *hpas = try_kind(&t, "autoscaling", "horizontalpodautoscalers");
    struct objcall call = try_call(&t);
    call.version = "v2beta2";
    struct json_object *out;
    assert_int_equal(
        objstore_create(t.store, &call, hpas, "default",
                        try_json(t.arena, "{'apiVersion':'autoscaling/v2beta2','metadata':{'name':"
                                          "'h'},'spec':{'maxReplicas':3,'scaleTargetRef':{'"
                                          "kind':'Deployment','name':'x'}}}"),
                        &out),
        ERR_OK);
    assert_string_equal(json_str_at(out, "apiVersion", NULL), "autoscaling/v2beta2");
    struct json_object *stored = objstore_get(t.store, hpas, "default", "h");
    assert_string_equal(json_str_at(stored, "apiVersion", NULL), "autoscaling/v2");
    assert_ptr_equal(objstore_as_version(t.arena, hpas, stored, "v2"), stored);
}

static void refuse_secret(void *arg, struct objfail *fail, const struct objkind *kind,
                          enum objop op, bool dry_run, struct json_object *obj,
                          struct json_object *old)
{
    (void)kind;
    (void)dry_run;
    ++*(int *)arg;
    if (op == OBJOP_DELETE) {
        assert_null(obj);
        assert_non_null(old);
        (void)!objfail_set(fail, 403, "Forbidden", "not this one");
    } else {
        json_set_str(obj, "type", "admitted");
    }
}

static void test_admission(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    int calls = 0;
    const struct objkind *secrets = try_kind(&t, "", "secrets");
    objstore_on_admit(t.store, secrets, refuse_secret, &calls);
    struct json_object *obj = try_create(&t, secrets, "default", "{'metadata':{'name':'x'}}");
    assert_string_equal(json_str_at(obj, "type", NULL), "admitted");
    try_create(&t, try_kind(&t, "", "configmaps"), "default", "{'metadata':{'name':'x'}}");
    assert_int_equal(calls, 1);
    struct objcall call = try_call(&t);
    assert_int_equal(objstore_delete(t.store, &call, secrets, "default", "x", NULL, NULL, NULL),
                     ERR_DENIED);
    assert_non_null(objstore_get(t.store, secrets, "default", "x"));
}

static void test_stored_trees_do_not_change(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *kind = try_kind(&t, "", "configmaps");
    struct json_object *first =
        try_create(&t, kind, "default", "{'metadata':{'name':'x'},'data':{'a':'1'}}");
    try_merge(&t, kind, "default", "x", OBJSUB_NONE, "{'data':{'a':'2'}}");
    try_delete(&t, kind, "default", "x", OBJ_BACKGROUND);
    assert_string_equal(json_str_at(first, "data", "a", NULL), "1");
}

UNIT_MAIN(cmocka_unit_test(test_stored_trees_do_not_change), cmocka_unit_test(test_kinds),
          cmocka_unit_test(test_list_in_order), cmocka_unit_test(test_find),
          cmocka_unit_test(test_versions), cmocka_unit_test(test_admission))

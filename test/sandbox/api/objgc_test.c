#include "api/trystore.h"

static const char *uid(struct json_object *obj)
{
    return json_str_at(obj, "metadata", "uid", NULL);
}

static struct json_object *map(struct trystore *t, const char *name, const char *rest)
{
    return try_create(t, try_kind(t, "", "configmaps"), "default",
                      arena_printf(t->arena, "{\"metadata\":{\"name\":\"%s\"%s}}", name, rest));
}

static const char *owned_by(struct trystore *t, const char *owner, const char *second)
{
    const char *one =
        arena_printf(t->arena,
                     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"o\",\"uid\":\"%s\","
                     "\"blockOwnerDeletion\":true}",
                     owner);
    const char *two =
        second ? arena_printf(t->arena,
                              ",{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"p\","
                              "\"uid\":\"%s\"}",
                              second)
               : "";
    return arena_printf(t->arena, ",\"ownerReferences\":[%s%s]", one, two);
}

static bool there(struct trystore *t, const char *name)
{
    return objstore_get(t->store, try_kind(t, "", "configmaps"), "default", name) != NULL;
}

static void test_background(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    struct json_object *owner = map(&t, "owner", ""), *other = map(&t, "other", "");
    struct json_object *child = map(&t, "child", owned_by(&t, uid(owner), NULL));
    map(&t, "grandchild", owned_by(&t, uid(child), NULL));
    map(&t, "shared", owned_by(&t, uid(owner), uid(other)));
    try_settle(&t);
    assert_true(there(&t, "grandchild"));
    try_delete(&t, try_kind(&t, "", "configmaps"), "default", "owner", OBJ_BACKGROUND);
    assert_true(there(&t, "child")); /* later, from the loop */
    try_settle(&t);
    assert_false(there(&t, "child"));
    assert_false(there(&t, "grandchild"));
    struct json_object *shared =
        objstore_get(t.store, try_kind(&t, "", "configmaps"), "default", "shared");
    assert_non_null(shared);
    assert_int_equal(json_len(json_at(shared, "metadata", "ownerReferences", NULL)), 1);
}

static void test_owner_was_never_there(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    map(&t, "child", owned_by(&t, "00000000-0000-0000-0000-000000000000", NULL));
    try_settle(&t);
    assert_false(there(&t, "child"));
}

static void test_orphan(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    struct json_object *owner = map(&t, "owner", "");
    map(&t, "child", owned_by(&t, uid(owner), NULL));
    try_delete(&t, try_kind(&t, "", "configmaps"), "default", "owner", OBJ_ORPHAN);
    try_settle(&t);
    assert_false(there(&t, "owner"));
    assert_true(there(&t, "child"));
    struct json_object *child =
        objstore_get(t.store, try_kind(&t, "", "configmaps"), "default", "child");
    assert_null(json_at(child, "metadata", "ownerReferences", NULL));
}

static void test_foreground(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *maps = try_kind(&t, "", "configmaps");
    struct json_object *owner = map(&t, "owner", "");
    map(&t, "child",
        arena_printf(t.arena, "%s,\"finalizers\":[\"try.io/wait\"]",
                     owned_by(&t, uid(owner), NULL)));
    try_delete(&t, maps, "default", "owner", OBJ_FOREGROUND);
    try_settle(&t);
    assert_true(there(&t, "owner")); /* waits for the child, which waits for its finalizer */
    assert_true(there(&t, "child"));
    assert_non_null(json_str_at(objstore_get(t.store, maps, "default", "child"), "metadata",
                                "deletionTimestamp", NULL));
    try_merge(&t, maps, "default", "child", OBJSUB_NONE, "{\"metadata\":{\"finalizers\":null}}");
    try_settle(&t);
    assert_false(there(&t, "child"));
    assert_false(there(&t, "owner"));
}

static void test_namespace(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *namespaces = try_kind(&t, "", "namespaces"),
                         *maps = try_kind(&t, "", "configmaps");
    try_create(&t, namespaces, NULL, "{\"metadata\":{\"name\":\"n\"}}");
    assert_non_null(objstore_get(t.store, try_kind(&t, "", "serviceaccounts"), "n", "default"));
    try_create(&t, maps, "n", "{\"metadata\":{\"name\":\"x\",\"finalizers\":[\"try.io/wait\"]}}");
    try_delete(&t, namespaces, NULL, "n", OBJ_BACKGROUND);
    try_settle(&t);
    struct json_object *ns = objstore_get(t.store, namespaces, NULL, "n");
    assert_string_equal(json_str_at(ns, "status", "phase", NULL), "Terminating");
    struct objcall call = try_call(&t);
    assert_int_equal(objstore_create(t.store, &call, maps, "n",
                                     try_json(t.arena, "{\"metadata\":{\"name\":\"y\"}}"), NULL),
                     ERR_DENIED);
    try_merge(&t, maps, "n", "x", OBJSUB_NONE, "{\"metadata\":{\"finalizers\":[]}}");
    try_settle(&t);
    assert_null(objstore_get(t.store, namespaces, NULL, "n"));
}

UNIT_MAIN(cmocka_unit_test(test_background), cmocka_unit_test(test_owner_was_never_there),
          cmocka_unit_test(test_orphan), cmocka_unit_test(test_foreground),
          cmocka_unit_test(test_namespace))

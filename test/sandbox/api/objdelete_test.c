#include "api/trystore.h"

static enum err delete_with(struct trystore *t, struct objdelete options, bool *gone)
{
    struct objcall call = try_call(t);
    return objstore_delete(t->store, &call, try_kind(t, "", "pods"), "default", "p", &options, NULL,
                           gone);
}

static const char pod[] =
    "{'metadata':{'name':'p'},'spec':{'nodeName':'n','terminationGracePeriodSeconds':20,'"
    "containers':[{'name':'c','image':'i'}]}}";

static void test_preconditions(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    bool gone;
    assert_int_equal(delete_with(&t, (struct objdelete){0}, &gone), ERR_NOT_FOUND);
    struct json_object *obj = try_create(&t, try_kind(&t, "", "pods"), "default", pod);
    assert_int_equal(delete_with(&t, (struct objdelete){.uid = "other"}, &gone), ERR_CONFLICT);
    assert_int_equal(delete_with(&t, (struct objdelete){.resource_version = "1"}, &gone),
                     ERR_CONFLICT);
    assert_int_equal(
        delete_with(&t,
                    (struct objdelete){.uid = json_str_at(obj, "metadata", "uid", NULL),
                                       .resource_version =
                                           json_str_at(obj, "metadata", "resourceVersion", NULL)},
                    &gone),
        ERR_OK);
    assert_true(gone);
}

static void test_graceful(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *pods = try_kind(&t, "", "pods");
    bool gone;
    objstore_graceful(t.store, pods);
    try_create(&t, pods, "default", pod);
    assert_int_equal(delete_with(&t, (struct objdelete){.grace_seconds = -1}, &gone), ERR_OK);
    assert_false(gone);
    struct json_object *obj = objstore_get(t.store, pods, "default", "p");
    assert_int_equal(json_int_at(obj, -1, "metadata", "deletionGracePeriodSeconds", NULL), 20);
    uint64_t before = objstore_version(t.store);
    assert_int_equal(delete_with(&t, (struct objdelete){.grace_seconds = -1}, &gone), ERR_OK);
    assert_int_equal(objstore_version(t.store), before); /* asking again changes nothing */
    try_merge(&t, pods, "default", "p", OBJSUB_STATUS, "{'status':{'phase':'Succeeded'}}");
    assert_non_null(objstore_get(t.store, pods, "default", "p"));
    assert_int_equal(delete_with(&t, (struct objdelete){.grace_seconds = 0}, &gone), ERR_OK);
    assert_true(gone);
    try_create(&t, pods, "default",
               "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i'}]}}");
    assert_int_equal(delete_with(&t, (struct objdelete){.grace_seconds = -1}, &gone), ERR_OK);
    assert_true(gone); /* it runs nowhere */
}

static void test_finalizers(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *maps = try_kind(&t, "", "configmaps");
    try_create(&t, maps, "default", "{'metadata':{'name':'x','finalizers':['a/b','c/d']}}");
    try_delete(&t, maps, "default", "x", OBJ_BACKGROUND);
    struct objcall call = try_call(&t);
    assert_int_equal(objstore_merge(t.store, &call, maps, "default", "x", OBJSUB_NONE,
                                    try_json(t.arena, "{'metadata':{'finalizers':['a/b','e/f']}}"),
                                    NULL),
                     ERR_INVALID);
    try_merge(&t, maps, "default", "x", OBJSUB_NONE, "{'metadata':{'finalizers':['a/b']}}");
    assert_non_null(objstore_get(t.store, maps, "default", "x"));
    try_merge(&t, maps, "default", "x", OBJSUB_NONE, "{'metadata':{'finalizers':[]}}");
    assert_null(objstore_get(t.store, maps, "default", "x"));
}

static void test_dry_run(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *maps = try_kind(&t, "", "configmaps");
    try_create(&t, maps, "default", "{'metadata':{'name':'x'}}");
    struct objcall call = try_call(&t);
    call.dry_run = true;
    assert_int_equal(objstore_delete(t.store, &call, maps, "default", "x", NULL, NULL, NULL),
                     ERR_OK);
    assert_non_null(objstore_get(t.store, maps, "default", "x"));
}

UNIT_MAIN(cmocka_unit_test(test_preconditions), cmocka_unit_test(test_graceful),
          cmocka_unit_test(test_finalizers), cmocka_unit_test(test_dry_run))

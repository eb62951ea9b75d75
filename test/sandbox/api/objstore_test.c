/* What the store does beside what the API shows (cases.yaml). */
#include "api/objstore.h"
#include "api/trystore.h"

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

CASE(test_admission)
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

CASE(test_stored_trees_do_not_change)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *kind = try_kind(&t, "", "configmaps");
    struct json_object *first =
        try_create(&t, kind, "default", "{'metadata':{'name':'x'},'data':{'a':'1'}}");
    try_merge(&t, kind, "default", "x", OBJSUB_NONE, "{'data':{'a':'2'}}");
    try_delete(&t, kind, "default", "x", OBJ_BACKGROUND);
    assert_string_equal(json_str_at(first, "data", "a", NULL), "1");
}

/* No shape that a client sends may make the checks read past what is there. */
CASE(test_odd_shapes)
{
    static const char *const objs[] = {
        "{}",
        "{'spec':{'containers':7,'ports':{},'rules':'x','versions':{},'strategy':1}}",
        "{'spec':{'containers':[1,null,[]],'ports':[1,null],'rules':[1,{'http':{'paths':[1]}}],'"
        "versions':[1,null],'selector':[],'template':[],'strategy':[],'names':1}}",
        "{'data':[],'stringData':[],'spec':{'selector':{},'template':{'spec':{'volumes':[1,null,{"
        "}],'containers':[{'volumeMounts':[1],'env':[2],'ports':[3]}]}}}}",
    };
    for (const struct objkind *kind = objkind_builtin(); kind->kind; kind++) {
        struct trystore t TRY_CLOSED = try_open();
        for (size_t i = 0; i < TRY_COUNT(objs); i++) {
            struct json_object *obj = try_json(t.arena, objs[i]);
            struct objcall call = try_call(&t);
            json_set_str(json_sub(obj, "metadata"), "name", "odd");
            (void)!objstore_create(t.store, &call, kind,
                                   objkind_namespaced(kind) ? "default" : NULL, obj, NULL);
        }
    }
}

static enum err delete_with(struct trystore *t, struct objdelete options, bool *gone)
{
    struct objcall call = try_call(t);
    return objstore_delete(t->store, &call, try_kind(t, "", "pods"), "default", "p", &options, NULL,
                           gone);
}

static const char pod[] =
    "{'metadata':{'name':'p'},'spec':{'nodeName':'n','terminationGracePeriodSeconds':20,'"
    "containers':[{'name':'c','image':'i'}]}}";

CASE(test_graceful)
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

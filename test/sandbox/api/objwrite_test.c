#include "api/trystore.h"

/* What creating an object answers: code 0 is accepted. */
static void test_create_refused(void **state)
{
    static const struct {
        const char *group, *plural, *ns, *obj;
        int code;
        const char *reason, *message;
    } cases[] = {
        {"", "configmaps", "default", "{'metadata':{'name':'x'}}", 0, NULL, NULL},
        {"", "configmaps", "default", "{'metadata':{'name':'taken'}}", 409, "AlreadyExists",
         "configmaps \"taken\" already exists"},
        {"apps", "deployments", "nowhere", try_deployment, 404, "NotFound",
         "namespaces \"nowhere\" not found"},
        {"", "configmaps", "default", "{'metadata':{'name':'x','namespace':'other'}}", 400,
         "BadRequest",
         "the namespace of the provided object does not match the namespace sent on the request"},
        {"", "configmaps", NULL, "{'metadata':{'name':'x'}}", 400, "BadRequest", NULL},
        {"", "configmaps", "default", "{'kind':'Pod','metadata':{'name':'x'}}", 400, "BadRequest",
         NULL},
        {"", "configmaps", "default", "{'apiVersion':'v2','metadata':{'name':'x'}}", 400,
         "BadRequest", NULL},
        {"", "configmaps", "default", "{'metadata':[]}", 400, "BadRequest", NULL},
        {"", "configmaps", "default", "{'metadata':{'name':'x','resourceVersion':'7'}}", 400,
         "BadRequest", "resourceVersion should not be set on objects to be created"},
        {"", "configmaps", "default", "{}", 422, "Invalid",
         "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is "
         "required"},
        {"", "configmaps", "default", "{'metadata':{'name':'A'}}", 422, "Invalid", NULL},
        {"apps", "deployments", "default", "{'metadata':{'name':'x'},'spec':{}}", 422, "Invalid",
         NULL},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct trystore t TRY_CLOSED = try_open();
        try_create(&t, try_kind(&t, "", "configmaps"), "default", "{'metadata':{'name':'taken'}}");
        struct objcall call = try_call(&t);
        uint64_t before = objstore_version(t.store);
        enum err err =
            objstore_create(t.store, &call, try_kind(&t, cases[i].group, cases[i].plural),
                            cases[i].ns, try_json(t.arena, cases[i].obj), NULL);
        assert_int_equal(err, cases[i].code ? objfail_err(cases[i].code) : ERR_OK);
        assert_int_equal(call.fail.code, cases[i].code);
        if (cases[i].code) {
            assert_string_equal(call.fail.reason, cases[i].reason);
            assert_int_equal(objstore_version(t.store), before);
        }
        if (cases[i].message)
            assert_string_equal(call.fail.message, cases[i].message);
    }
}

static void test_system_fields(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *kind = try_kind(&t, "apps", "deployments");
    struct json_object *sent = try_json(t.arena, try_deployment), *obj;
    json_set_str(json_sub(sent, "metadata"), "uid", "mine");
    json_set_int(json_sub(sent, "metadata"), "generation", 9);
    json_set_int(json_sub(sent, "status"), "replicas", 9);
    struct objcall call = try_call(&t);
    assert_int_equal(objstore_create(t.store, &call, kind, "default", sent, &obj), ERR_OK);
    assert_int_equal(strlen(json_str_at(obj, "metadata", "uid", NULL)), 36);
    assert_int_equal(json_int_at(obj, 0, "metadata", "generation", NULL), 1);
    assert_non_null(json_str_at(obj, "metadata", "creationTimestamp", NULL));
    assert_int_equal(json_int_at(obj, -1, "status", "replicas", NULL), -1);
    assert_string_equal(json_str_at(obj, "apiVersion", NULL), "apps/v1");
    assert_string_equal(json_str_at(obj, "kind", NULL), "Deployment");
}

/* Patches one after the other: the generation and whether the version moved. */
static void test_generation(void **state)
{
    static const struct {
        enum objsub sub;
        const char *patch;
        int generation;
        bool moved;
    } steps[] = {
        {OBJSUB_NONE, "{'metadata':{'labels':{'a':'b'}}}", 1, true},
        {OBJSUB_NONE, "{'metadata':{'annotations':{'a':'b'}}}", 2,
         true}, /* Deployments count these */
        {OBJSUB_NONE, "{'spec':{'replicas':3}}", 3, true},
        {OBJSUB_NONE, "{'spec':{'replicas':3}}", 3, false},
        {OBJSUB_NONE, "{'status':{'replicas':3}}", 3, false}, /* not through the main resource */
        {OBJSUB_STATUS, "{'status':{'replicas':3}}", 3, true},
        {OBJSUB_STATUS, "{'status':{'replicas':3},'spec':{'replicas':9}}", 3, false},
        {OBJSUB_NONE, "{'metadata':{'generation':77,'uid':null,'creationTimestamp':null}}", 3,
         false},
    };
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *kind = try_kind(&t, "apps", "deployments");
    try_create(&t, kind, "default", try_deployment);
    for (size_t i = 0; i < TRY_COUNT(steps); i++) {
        uint64_t before = objstore_version(t.store);
        struct json_object *obj =
            try_merge(&t, kind, "default", "web", steps[i].sub, steps[i].patch);
        assert_int_equal(json_int_at(obj, 0, "metadata", "generation", NULL), steps[i].generation);
        assert_int_equal(objstore_version(t.store) != before, steps[i].moved);
    }
    struct json_object *obj = objstore_get(t.store, kind, "default", "web");
    assert_int_equal(json_int_at(obj, 0, "spec", "replicas", NULL), 3);
    assert_int_equal(json_int_at(obj, 0, "status", "replicas", NULL), 3);
}

static void test_preconditions(void **state)
{
    static const struct {
        const char *patch;
        enum err err;
    } cases[] = {
        {"{'metadata':{'resourceVersion':'1'},'data':{'a':'c'}}", ERR_CONFLICT},
        {"{'metadata':{'uid':'other'},'data':{'a':'c'}}", ERR_CONFLICT},
        {"{'metadata':{'resourceVersion':null},'data':{'a':'c'}}", ERR_OK},
        {"{'metadata':{'resourceVersion':'0'},'data':{'a':'d'}}", ERR_OK},
        {"{'metadata':{'name':'y'}}", ERR_NOT_FOUND},
    };
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *kind = try_kind(&t, "", "configmaps");
    try_create(&t, kind, "default", "{'metadata':{'name':'x'},'data':{'a':'b'}}");
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct objcall call = try_call(&t);
        assert_int_equal(objstore_merge(t.store, &call, kind, "default", "x", OBJSUB_NONE,
                                        try_json(t.arena, cases[i].patch), NULL),
                         cases[i].err);
    }
    struct objcall call = try_call(&t);
    assert_int_equal(objstore_merge(t.store, &call, kind, "default", "none", OBJSUB_NONE,
                                    try_json(t.arena, "{}"), NULL),
                     ERR_NOT_FOUND);
    assert_string_equal(call.fail.message, "configmaps \"none\" not found");
}

static void test_generate_name(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *kind = try_kind(&t, "", "configmaps");
    for (int i = 0; i < 20; i++) {
        struct json_object *obj =
            try_create(&t, kind, "default", "{'metadata':{'generateName':'x-'}}");
        const char *name = json_str_at(obj, "metadata", "name", NULL);
        assert_int_equal(strlen(name), 7);
        assert_int_equal(strncmp(name, "x-", 2), 0);
    }
    assert_int_equal(objstore_count(t.store, kind, "default"), 20);
}

static void test_dry_run(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *kind = try_kind(&t, "apps", "deployments");
    uint64_t before = objstore_version(t.store);
    struct objcall call = try_call(&t);
    call.dry_run = true;
    struct json_object *obj;
    assert_int_equal(
        objstore_create(t.store, &call, kind, "default", try_json(t.arena, try_deployment), &obj),
        ERR_OK);
    assert_int_equal(json_int_at(obj, 0, "spec", "replicas", NULL), 1);
    assert_null(objstore_get(t.store, kind, "default", "web"));
    assert_int_equal(objstore_version(t.store), before);
}

/* kubectl apply sends "annotations": {} and, from Go, "creationTimestamp": null: neither is a
 * change. */
static void test_nothing_said(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    const struct objkind *kind = try_kind(&t, "apps", "deployments");
    struct json_object *first = try_create(&t, kind, "default", try_deployment), *second;
    struct json_object *again = json_copy(t.arena, first);
    json_set(json_sub(again, "metadata"), "annotations", try_json(t.arena, "{}"));
    json_set(json_sub(json_at(again, "spec", "template", NULL), "metadata"), "creationTimestamp",
             NULL);
    struct objcall call = try_call(&t);
    assert_int_equal(objstore_update(t.store, &call, kind, "default", OBJSUB_NONE, again, &second),
                     ERR_OK);
    assert_string_equal(json_str_at(first, "metadata", "resourceVersion", NULL),
                        json_str_at(second, "metadata", "resourceVersion", NULL));
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

UNIT_MAIN(cmocka_unit_test(test_create_refused), cmocka_unit_test(test_system_fields),
          cmocka_unit_test(test_generation), cmocka_unit_test(test_preconditions),
          cmocka_unit_test(test_generate_name), cmocka_unit_test(test_dry_run),
          cmocka_unit_test(test_nothing_said), cmocka_unit_test(test_stored_trees_do_not_change))

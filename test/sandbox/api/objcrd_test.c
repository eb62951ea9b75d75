#include "api/trystore.h"

static const struct objkind *crds(struct trystore *t)
{
    return try_kind(t, "apiextensions.k8s.io", "customresourcedefinitions");
}

static const char *condition(struct json_object *crd, const char *type)
{
    struct json_object *list = json_at(crd, "status", "conditions", NULL);
    for (size_t i = 0; i < json_len(list); i++)
        if (strcmp(json_str_at(json_elem(list, i), "type", NULL), type) == 0)
            return json_str_at(json_elem(list, i), "status", NULL);
    return "";
}

static void test_established(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    struct json_object *crd = try_create(&t, crds(&t), NULL, try_crd);
    assert_string_equal(condition(crd, "Established"), "True");
    assert_string_equal(condition(crd, "NamesAccepted"), "True");
    assert_string_equal(json_str_at(crd, "status", "acceptedNames", "listKind", NULL), "ToyList");
    try_same(t.arena, json_at(crd, "status", "storedVersions", NULL), "[\"v1\"]");
    const struct objkind *kind = try_kind(&t, "try.io", "toys");
    assert_string_equal(kind->versions[0].name, "v1alpha1"); /* as the CRD has them */
    assert_string_equal(kind->versions[1].name, "v1");
    assert_string_equal(kind->short_names[0], "ty");
    assert_string_equal(kind->versions[1].scale.spec_replicas, ".spec.size");
    assert_true(kind->custom && objkind_namespaced(kind));
}

static void test_schema(void **state)
{
    static const struct {
        const char *obj;
        bool strict;
        int code;
        const char *message;
        size_t warnings;
    } cases[] = {
        {"{'metadata':{'name':'a'},'spec':{'size':1}}", true, 0, NULL, 0},
        {"{'metadata':{'name':'a'},'spec':{'size':1,'wheels':4}}", false, 0, NULL, 1},
        {"{'metadata':{'name':'a'},'spec':{'size':1,'wheels':4}}", true, 400,
         "Toy in version \"v1\" cannot be handled as a Toy: strict decoding error: unknown field "
         "\"spec.wheels\"",
         0},
        {"{'metadata':{'name':'a'},'spec':{}}", false, 422,
         "Toy.try.io \"a\" is invalid: spec.size: Required value", 0},
        {"{'metadata':{'name':'a'},'spec':{'size':-1}}", false, 422, NULL, 0},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct trystore t TRY_CLOSED = try_open();
        try_create(&t, crds(&t), NULL, try_crd);
        struct objcall call = try_call(&t);
        call.strict = cases[i].strict;
        struct json_object *obj = NULL;
        (void)!objstore_create(t.store, &call, try_kind(&t, "try.io", "toys"), "default",
                               try_json(t.arena, cases[i].obj), &obj);
        assert_int_equal(call.fail.code, cases[i].code);
        assert_int_equal(json_len(call.warnings), cases[i].warnings);
        if (cases[i].message)
            assert_string_equal(call.fail.message, cases[i].message);
        if (obj)
            try_same(t.arena, json_at(obj, "spec", NULL), "{'size':1,'color':'red'}");
    }
}

static void test_other_version(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    try_create(&t, crds(&t), NULL, try_crd);
    const struct objkind *toys = try_kind(&t, "try.io", "toys");
    struct objcall call = try_call(&t);
    call.version = "v1alpha1";
    struct json_object *obj;
    assert_int_equal(
        objstore_create(t.store, &call, toys, "default",
                        try_json(t.arena,
                                 "{'apiVersion':'try.io/"
                                 "v1alpha1','metadata':{'name':'a'},'spec':{'size':1,'wheels':4}}"),
                        &obj),
        ERR_OK);
    assert_string_equal(json_str_at(obj, "apiVersion", NULL), "try.io/v1alpha1");
    struct json_object *stored = objstore_get(t.store, toys, "default", "a");
    assert_string_equal(json_str_at(stored, "apiVersion", NULL), "try.io/v1");
    assert_null(json_at(stored, "spec", "wheels", NULL)); /* the storage version does not know it */
}

static void test_status_and_generation(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    try_create(&t, crds(&t), NULL, try_crd);
    const struct objkind *toys = try_kind(&t, "try.io", "toys");
    try_create(&t, toys, "default", "{'metadata':{'name':'a'},'spec':{'size':1},'status':{'x':1}}");
    struct json_object *obj = try_merge(&t, toys, "default", "a", OBJSUB_STATUS,
                                        "{'status':{'phase':'Ready'},'spec':{'size':5}}");
    try_same(t.arena, json_at(obj, "status", NULL), "{'phase':'Ready'}");
    assert_int_equal(json_int_at(obj, 0, "spec", "size", NULL), 1);
    assert_int_equal(json_int_at(obj, 0, "metadata", "generation", NULL), 1);
    obj = try_merge(&t, toys, "default", "a", OBJSUB_NONE,
                    "{'spec':{'size':2},'metadata':{'annotations':{'a':'b'}}}");
    assert_int_equal(json_int_at(obj, 0, "metadata", "generation", NULL), 2);
}

static void test_deleted_with_its_objects(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    try_create(&t, crds(&t), NULL, try_crd);
    const struct objkind *toys = try_kind(&t, "try.io", "toys");
    try_create(&t, toys, "default",
               "{'metadata':{'name':'a','finalizers':['x/y']},'spec':{'size':1}}");
    try_delete(&t, crds(&t), NULL, "toys.try.io", OBJ_BACKGROUND);
    try_settle(&t);
    assert_non_null(objstore_get(t.store, crds(&t), NULL, "toys.try.io"));
    try_merge(&t, toys, "default", "a", OBJSUB_NONE, "{'metadata':{'finalizers':null}}");
    try_settle(&t);
    assert_null(objstore_get(t.store, crds(&t), NULL, "toys.try.io"));
    assert_null(objstore_kind(t.store, "try.io", "toys"));
    assert_false(toys->served);
    try_create(&t, crds(&t), NULL, try_crd);
    assert_ptr_equal(objstore_kind(t.store, "try.io", "toys"), toys);
    assert_int_equal(objstore_count(t.store, toys, NULL), 0);
}

static void test_names_conflict(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    struct json_object *crd = try_json(t.arena, try_crd);
    json_set_str(json_at(crd, "metadata", NULL), "name", "ingresses.networking.k8s.io");
    json_set_str(json_at(crd, "spec", NULL), "group", "networking.k8s.io");
    json_set_str(json_at(crd, "spec", "names", NULL), "plural", "ingresses");
    struct objcall call = try_call(&t);
    struct json_object *out;
    assert_int_equal(objstore_create(t.store, &call, crds(&t), NULL, crd, &out), ERR_OK);
    assert_string_equal(condition(out, "NamesAccepted"), "False");
    assert_string_equal(condition(out, "Established"), "False");
    assert_false(try_kind(&t, "networking.k8s.io", "ingresses")->custom);
}

/* Applying a CRD again with another schema: the next write is checked by the new one. */
static void test_updated(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    try_create(&t, crds(&t), NULL, try_crd);
    const struct objkind *toys = try_kind(&t, "try.io", "toys");
    for (int minimum = 1; minimum < 5; minimum++) {
        struct json_object *crd =
            json_copy(t.arena, objstore_get(t.store, crds(&t), NULL, "toys.try.io"));
        struct json_object *version = json_elem(json_at(crd, "spec", "versions", NULL), 1);
        json_set_int(json_at(version, "schema", "openAPIV3Schema", "properties", "spec",
                             "properties", "size", NULL),
                     "minimum", minimum);
        struct objcall call = try_call(&t), create = try_call(&t);
        assert_int_equal(objstore_update(t.store, &call, crds(&t), NULL, OBJSUB_NONE, crd, NULL),
                         ERR_OK);
        assert_int_equal(
            objstore_create(
                t.store, &create, toys, "default",
                try_json(t.arena,
                         arena_printf(t.arena, "{'metadata':{'name':'a'},'spec':{'size':%d}}",
                                      minimum - 1)),
                NULL),
            ERR_INVALID);
    }
}

UNIT_MAIN(cmocka_unit_test(test_established), cmocka_unit_test(test_schema),
          cmocka_unit_test(test_other_version), cmocka_unit_test(test_status_and_generation),
          cmocka_unit_test(test_deleted_with_its_objects), cmocka_unit_test(test_names_conflict),
          cmocka_unit_test(test_updated))

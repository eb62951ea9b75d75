#include "api/tryapi.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

static void make(struct tryapi *a, const char *name, const char *rest)
{
    ask_for(a, 201, "POST", MAPS,
            arena_printf(a->t.arena, "{'metadata':{'name':'%s'%s}}", name, rest));
}

static void test_one(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    make(&a, "x", "");
    ask_for(&a, 200, "DELETE", MAPS "/x?dryRun=All", NULL);
    ask_for(&a, 409, "DELETE", MAPS "/x", "{'preconditions':{'uid':'other'}}");
    ask_for(&a, 409, "DELETE", MAPS "/x", "{'preconditions':{'resourceVersion':'1'}}");
    struct json_object *status =
        ask_for(&a, 200, "DELETE", MAPS "/x", "{'propagationPolicy':'Background'}");
    assert_string_equal(json_str_at(status, "status", NULL), "Success");
    assert_string_equal(json_str_at(status, "details", "name", NULL), "x");
    assert_non_null(json_str_at(status, "details", "uid", NULL));
    make(&a, "y", ",'finalizers':['a/b']");
    status = ask_for(&a, 200, "DELETE", MAPS "/y", NULL);
    assert_string_equal(json_str_at(status, "kind", NULL), "ConfigMap"); /* it is still there */
    assert_non_null(json_str_at(status, "metadata", "deletionTimestamp", NULL));
}

static void test_collection(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    make(&a, "x", ",'labels':{'a':'1'}");
    make(&a, "y", ",'labels':{'a':'1'}");
    make(&a, "z", "");
    struct json_object *list = ask_for(&a, 200, "DELETE", MAPS "?labelSelector=a%3D1", NULL);
    assert_int_equal(json_len(json_at(list, "items", NULL)), 2);
    list = ask_for(&a, 200, "GET", MAPS, NULL);
    assert_int_equal(json_len(json_at(list, "items", NULL)), 1);
}

static void test_propagation_from_query(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    make(&a, "o", "");
    struct json_object *owner = ask_for(&a, 200, "GET", MAPS "/o", NULL);
    make(&a, "c",
         arena_printf(
             a.t.arena,
             ",'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':'o','uid':'%s'}]",
             json_str_at(owner, "metadata", "uid", NULL)));
    ask_for(&a, 200, "DELETE", MAPS "/o?propagationPolicy=Orphan", NULL);
    struct json_object *child = ask_for(&a, 200, "GET", MAPS "/c", NULL);
    assert_null(json_at(child, "metadata", "ownerReferences", NULL));
}

UNIT_MAIN(cmocka_unit_test(test_one), cmocka_unit_test(test_collection),
          cmocka_unit_test(test_propagation_from_query))

#include "api/tryapi.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

static void make(struct tryapi *a, int count)
{
    for (int i = 0; i < count; i++) {
        ask_for(a, 201, "POST", MAPS,
                arena_printf(a->t.arena, "{'metadata':{'name':'m%02d','labels':{'odd':'%d'}}}", i,
                             i % 2));
    }
}

static void test_get(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    make(&a, 1);
    struct json_object *obj = ask_for(&a, 200, "GET", MAPS "/m00", NULL);
    assert_string_equal(json_str_at(obj, "kind", NULL), "ConfigMap");
    a.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    obj = ask_for(&a, 200, "GET", MAPS "/m00", NULL);
    assert_string_equal(json_str_at(obj, "kind", NULL), "PartialObjectMetadata");
    assert_string_equal(json_str_at(obj, "metadata", "name", NULL), "m00");
    a.accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    obj = ask_for(&a, 200, "GET", MAPS "/m00", NULL);
    assert_string_equal(json_str_at(obj, "kind", NULL), "Table");
    assert_int_equal(json_len(json_at(obj, "rows", NULL)), 1);
}

static void test_pages(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    make(&a, 7);
    struct json_object *page = ask_for(&a, 200, "GET", MAPS "?limit=3", NULL);
    const char *version = json_str_at(page, "metadata", "resourceVersion", NULL);
    assert_int_equal(json_len(json_at(page, "items", NULL)), 3);
    assert_int_equal(json_int_at(page, 0, "metadata", "remainingItemCount", NULL), 4);
    ask_for(&a, 200, "DELETE", MAPS "/m03", NULL); /* the first of the next page */
    int found = 3;
    while (json_str_at(page, "metadata", "continue", NULL)) {
        page = ask_for(&a, 200, "GET",
                       arena_printf(a.t.arena, MAPS "?limit=3&continue=%s",
                                    json_str_at(page, "metadata", "continue", NULL)),
                       NULL);
        found += (int)json_len(json_at(page, "items", NULL));
        assert_string_equal(json_str_at(page, "metadata", "resourceVersion", NULL), version);
    }
    assert_int_equal(found, 6);
    page = ask_for(&a, 200, "GET", MAPS "?limit=3", NULL);
    const char *token = json_str_at(page, "metadata", "continue", NULL);
    ask_for(&a, 200, "DELETE", MAPS "/m00", NULL);
    ask_for(&a, 200, "POST", "/sandbox/compact", NULL);
    ask_for(&a, 410, "GET", arena_printf(a.t.arena, MAPS "?limit=3&continue=%s", token), NULL);
}

static void test_selectors(void **state)
{
    static const struct {
        const char *query;
        size_t count;
    } cases[] = {
        {"", 5},
        {"?labelSelector=odd%3D1", 2},
        {"?labelSelector=odd%20in%20(0,1)", 4},
        {"?labelSelector=!odd", 1}, /* kube-root-ca and its kind have none */
        {"?fieldSelector=metadata.name%3Dm01", 1},
        {"?fieldSelector=metadata.name!%3Dm01", 4},
        {"?labelSelector=odd%3D1&fieldSelector=metadata.name%3Dm00", 0},
    };
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    make(&a, 4);
    ask_for(&a, 201, "POST", MAPS, "{'metadata':{'name':'plain'}}");
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct json_object *list =
            ask_for(&a, 200, "GET", arena_printf(a.t.arena, MAPS "%s", cases[i].query), NULL);
        assert_int_equal(json_len(json_at(list, "items", NULL)), cases[i].count);
    }
    ask_for(&a, 201, "POST", "/api/v1/namespaces", "{'metadata':{'name':'other'}}");
    ask_for(&a, 201, "POST", "/api/v1/namespaces/other/configmaps", "{'metadata':{'name':'m00'}}");
    struct json_object *all = ask_for(&a, 200, "GET", "/api/v1/configmaps", NULL);
    assert_int_equal(json_len(json_at(all, "items", NULL)), 6);
}

static void test_list_shapes(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    make(&a, 2);
    struct json_object *list = ask_for(&a, 200, "GET", MAPS, NULL);
    assert_string_equal(json_str_at(list, "kind", NULL), "ConfigMapList");
    a.accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    list = ask_for(&a, 200, "GET", MAPS, NULL);
    assert_string_equal(json_str_at(list, "kind", NULL), "PartialObjectMetadataList");
    assert_string_equal(json_str_at(json_elem(json_at(list, "items", NULL), 1), "kind", NULL),
                        "PartialObjectMetadata");
    a.accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    list = ask_for(&a, 200, "GET", MAPS, NULL);
    assert_int_equal(json_len(json_at(list, "rows", NULL)), 2);
    assert_non_null(json_str_at(list, "metadata", "resourceVersion", NULL));
}

/* Clients must not look for a kind in the items of a built-in kind, nor for a count under a
 * selector. */
static void test_what_lists_leave_out(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    make(&a, 3);
    struct json_object *list = ask_for(&a, 200, "GET", MAPS "?limit=2", NULL);
    struct json_object *item = json_elem(json_at(list, "items", NULL), 0);
    assert_null(json_at(item, "kind", NULL));
    assert_null(json_at(item, "apiVersion", NULL));
    assert_string_equal(json_str_at(item, "metadata", "name", NULL), "m00");
    assert_int_equal(json_int_at(list, -1, "metadata", "remainingItemCount", NULL), 1);
    list = ask_for(&a, 200, "GET", MAPS "?limit=1&labelSelector=odd%3D0", NULL);
    assert_non_null(json_str_at(list, "metadata", "continue", NULL));
    assert_int_equal(json_int_at(list, -1, "metadata", "remainingItemCount", NULL), -1);
    ask_for(&a, 201, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", try_crd);
    ask_for(&a, 201, "POST", "/apis/try.io/v1/namespaces/default/toys",
            "{'metadata':{'name':'x'},'spec':{'size':1}}");
    list = ask_for(&a, 200, "GET", "/apis/try.io/v1/namespaces/default/toys", NULL);
    assert_string_equal(json_str_at(json_elem(json_at(list, "items", NULL), 0), "kind", NULL),
                        "Toy");
}

UNIT_MAIN(cmocka_unit_test(test_get), cmocka_unit_test(test_pages),
          cmocka_unit_test(test_selectors), cmocka_unit_test(test_list_shapes),
          cmocka_unit_test(test_what_lists_leave_out))

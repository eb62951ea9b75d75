#include "api/tryapi.h"

static struct json_object *find(struct json_object *list, const char *name)
{
    for (size_t i = 0; i < json_len(list); i++)
        if (strcmp(json_str_at(json_elem(list, i), "name", NULL), name) == 0)
            return json_elem(list, i);
    return NULL;
}

static void test_groups(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    struct json_object *api = ask_for(&a, 200, "GET", "/api", NULL);
    try_same(a.t.arena, json_at(api, "versions", NULL), "[\"v1\"]");
    struct json_object *groups = json_at(ask_for(&a, 200, "GET", "/apis", NULL), "groups", NULL);
    struct json_object *hpa = find(groups, "autoscaling");
    assert_int_equal(json_len(json_at(hpa, "versions", NULL)), 2);
    assert_string_equal(json_str_at(hpa, "preferredVersion", "groupVersion", NULL),
                        "autoscaling/v2");
    assert_null(find(groups, "try.io"));
    ask_for(&a, 201, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", try_crd);
    struct json_object *group = ask_for(&a, 200, "GET", "/apis/try.io", NULL);
    assert_string_equal(json_str_at(group, "kind", NULL), "APIGroup");
    assert_string_equal(json_str_at(group, "preferredVersion", "version", NULL), "v1");
}

static void test_resources(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    struct json_object *list = json_at(ask_for(&a, 200, "GET", "/api/v1", NULL), "resources", NULL);
    assert_false(json_bool_at(find(list, "namespaces"), true, "namespaced", NULL));
    assert_non_null(find(list, "pods/log"));
    assert_non_null(find(list, "namespaces/status"));
    assert_null(find(list, "configmaps/status"));
    list = json_at(ask_for(&a, 200, "GET", "/apis/apps/v1", NULL), "resources", NULL);
    struct json_object *scale = find(list, "deployments/scale");
    assert_string_equal(json_str_at(scale, "kind", NULL), "Scale");
    assert_string_equal(json_str_at(scale, "group", NULL), "autoscaling");
    try_same(a.t.arena, json_at(find(list, "deployments"), "shortNames", NULL), "[\"deploy\"]");
    ask_for(&a, 201, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", try_crd);
    list = json_at(ask_for(&a, 200, "GET", "/apis/try.io/v1", NULL), "resources", NULL);
    assert_non_null(find(list, "toys/scale"));
    try_same(a.t.arena, json_at(find(list, "toys"), "categories", NULL), "[\"all\"]");
    list = json_at(ask_for(&a, 200, "GET", "/apis/try.io/v1alpha1", NULL), "resources", NULL);
    assert_null(find(list, "toys/scale"));
}

static void test_others(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    assert_string_equal(json_str_at(ask_for(&a, 200, "GET", "/version", NULL), "major", NULL), "1");
    assert_string_equal(ask(&a, "GET", "/readyz", NULL).text, "ok");
    assert_int_equal(ask(&a, "GET", "/openapi/v2", NULL).status, 200);
    ask_for(&a, 404, "GET", "/openapi/v3", NULL);
}

UNIT_MAIN(cmocka_unit_test(test_groups), cmocka_unit_test(test_resources),
          cmocka_unit_test(test_others))

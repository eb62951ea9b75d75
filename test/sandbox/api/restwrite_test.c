#include "api/tryapi.h"

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define TOYS "/apis/try.io/v1/namespaces/default/toys"

static void test_custom_kind(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    ask_for(&a, 404, "GET", TOYS, NULL);
    ask_for(&a, 201, "POST", CRDS, try_crd);
    struct answer answer =
        ask(&a, "POST", TOYS, "{'metadata':{'name':'x'},'spec':{'size':1,'wheels':4}}");
    assert_int_equal(answer.status, 201);
    assert_string_equal(answer.warning, "299 - \"unknown field \\\"spec.wheels\\\"\"");
    answer = ask(&a, "POST", TOYS "?fieldValidation=Ignore",
                 "{'metadata':{'name':'y'},'spec':{'size':1,'w':4}}");
    assert_null(answer.warning);
    ask_for(&a, 400, "POST", TOYS "?fieldValidation=Strict",
            "{'metadata':{'name':'z'},'spec':{'size':1,'w':4}}");
    struct json_object *obj =
        ask_for(&a, 422, "PUT", TOYS "/x", "{'metadata':{'name':'x'},'spec':{'size':2}}");
    assert_non_null(
        strstr(json_str_at(obj, "message", NULL), "metadata.resourceVersion: Invalid value: 0x0"));
    answer = ask(&a, "GET", "/apis/try.io/v1alpha1/namespaces/default/toys/x", NULL);
    assert_string_equal(json_str_at(answer.body, "apiVersion", NULL), "try.io/v1alpha1");
    assert_string_equal(answer.warning, "299 - \"try.io/v1alpha1 Toy is deprecated\"");
}

UNIT_MAIN(cmocka_unit_test(test_custom_kind))

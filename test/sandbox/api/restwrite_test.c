#include "api/tryapi.h"

#define MAPS "/api/v1/namespaces/default/configmaps"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define TOYS "/apis/try.io/v1/namespaces/default/toys"

static void test_create_and_update(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    struct json_object *obj =
        ask_for(&a, 201, "POST", MAPS, "{'metadata':{'name':'x'},'data':{'a':'1'}}");
    const char *version = json_str_at(obj, "metadata", "resourceVersion", NULL);
    ask_for(&a, 409, "POST", MAPS, "{'metadata':{'name':'x'}}");
    obj = ask_for(&a, 200, "PUT", MAPS "/x", "{'metadata':{'name':'x'},'data':{'a':'2'}}");
    assert_string_equal(json_str_at(obj, "data", "a", NULL), "2");
    const char *stale =
        arena_printf(a.t.arena, "{'metadata':{'name':'x','resourceVersion':'%s'}}", version);
    obj = ask_for(&a, 409, "PUT", MAPS "/x", stale);
    assert_string_equal(json_str_at(obj, "reason", NULL), "Conflict");
    assert_string_equal(json_str_at(obj, "message", NULL),
                        "Operation cannot be fulfilled on configmaps \"x\": the object has been "
                        "modified; please apply "
                        "your changes to the latest version and try again");
    ask_for(&a, 400, "PUT", MAPS "/x", "{'metadata':{'name':'y'}}");
    ask_for(&a, 404, "PUT", MAPS "/none", "{'metadata':{'name':'none'}}");
    ask_for(&a, 201, "POST", MAPS "?dryRun=All", "{'metadata':{'name':'dry'}}");
    ask_for(&a, 404, "GET", MAPS "/dry", NULL);
}

static void test_yaml(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    a.type = "application/yaml";
    struct json_object *obj =
        ask_for(&a, 201, "POST", MAPS, "metadata:\n  name: x\ndata:\n  a: b\n");
    assert_string_equal(json_str_at(obj, "data", "a", NULL), "b");
    ask_for(&a, 400, "POST", MAPS, "a: [");
    ask_for(&a, 400, "POST", MAPS, "a: 1\n---\nb: 2\n");
}

static void test_manager(void **state)
{
    static const struct {
        const char *agent, *query, *manager;
    } cases[] = {
        {"kubectl/v1.32.4 (linux/amd64)", "", "kubectl"},
        {"kubectl/v1.32.4 (linux/amd64)", "?fieldManager=me", "me"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct tryapi a TRYAPI_CLOSED = tryapi_open();
        a.agent = cases[i].agent;
        struct json_object *obj =
            ask_for(&a, 201, "POST", arena_printf(a.t.arena, MAPS "%s", cases[i].query),
                    "{'metadata':{'name':'x'},'data':{'a':'1'}}");
        struct json_object *entry = json_elem(json_at(obj, "metadata", "managedFields", NULL), 0);
        assert_string_equal(json_str_at(entry, "manager", NULL), cases[i].manager);
        assert_string_equal(json_str_at(entry, "operation", NULL), "Update");
    }
}

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

static void test_status(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    ask_for(&a, 201, "POST", CRDS, try_crd);
    struct json_object *obj =
        ask_for(&a, 201, "POST", TOYS, "{'metadata':{'name':'x'},'spec':{'size':1}}");
    const char *body = arena_printf(
        a.t.arena,
        "{'metadata':{'name':'x','resourceVersion':'%s'},'spec':{'size':9},'status':{'p':1}}",
        json_str_at(obj, "metadata", "resourceVersion", NULL));
    obj = ask_for(&a, 200, "PUT", TOYS "/x/status", body);
    assert_int_equal(json_int_at(obj, 0, "spec", "size", NULL), 1);
    assert_int_equal(json_int_at(obj, 0, "status", "p", NULL), 1);
    ask_for(&a, 409, "PUT", TOYS "/x/status", body);
    ask_for(&a, 200, "GET", TOYS "/x/status", NULL);
    ask_for(&a, 405, "DELETE", TOYS "/x/status", NULL);
}

UNIT_MAIN(cmocka_unit_test(test_create_and_update), cmocka_unit_test(test_yaml),
          cmocka_unit_test(test_manager), cmocka_unit_test(test_custom_kind),
          cmocka_unit_test(test_status))

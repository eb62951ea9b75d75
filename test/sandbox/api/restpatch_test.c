#include "api/tryapi.h"

#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define WEB         DEPLOYMENTS "/web"
#define JSON        "application/json-patch+json"
#define MERGE       "application/merge-patch+json"
#define STRATEGIC   "application/strategic-merge-patch+json"

static struct answer patch(struct tryapi *a, const char *type, const char *path, const char *body)
{
    a->type = type;
    struct answer answer = ask(a, "PATCH", path, body);
    a->type = NULL;
    return answer;
}

static void test_types(void **state)
{
    static const struct {
        const char *type, *body;
        int status;
        const char *at, *wanted; /* of spec */
    } cases[] = {
        {JSON, "[{'op':'replace','path':'/spec/replicas','value':4}]", 200, "replicas", "4"},
        {JSON, "[{'op':'test','path':'/spec/replicas','value':9}]", 422, NULL, NULL},
        {JSON, "{}", 400, NULL, NULL},
        {JSON, "[{'op':'replace','path':'','value':7}]", 400, NULL, NULL},
        {MERGE, "{'spec':{'paused':true}}", 200, "paused", "true"},
        {MERGE, "{'spec':{'paused':null}}", 200, "replicas", "1"},
        {MERGE, "[]", 400, NULL, NULL},
        {MERGE, "{'metadata':{'name':'other'}}", 400, NULL, NULL},
        {MERGE, "{'metadata':{'resourceVersion':'1'}}", 409, NULL, NULL},
        {MERGE, "{'spec':{'replicas':-1}}", 422, NULL, NULL},
        {STRATEGIC, "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'i:2'}]}}}}",
         200, "replicas", "1"},
        {STRATEGIC, "{'spec':{'template':{'spec':{'containers':[{'image':'i:2'}]}}}}", 400, NULL,
         NULL},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct tryapi a TRYAPI_CLOSED = tryapi_open();
        ask_for(&a, 201, "POST", DEPLOYMENTS, try_deployment);
        struct answer answer = patch(&a, cases[i].type, WEB, cases[i].body);
        if (answer.status != cases[i].status && !(cases[i].status == 400 && answer.status == 422))
            fail_msg("%s: %d: %s", cases[i].body, answer.status, answer.text);
        if (cases[i].at)
            try_same(a.t.arena, json_at(answer.body, "spec", cases[i].at, NULL), cases[i].wanted);
    }
}

static void test_strategic_only_for_built_in_kinds(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    ask_for(&a, 201, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", try_crd);
    ask_for(&a, 201, "POST", "/apis/try.io/v1/namespaces/default/toys",
            "{'metadata':{'name':'x'},'spec':{'size':1}}");
    assert_int_equal(patch(&a, STRATEGIC, "/apis/try.io/v1/namespaces/default/toys/x", "{}").status,
                     415);
    assert_int_equal(patch(&a, MERGE, "/apis/try.io/v1/namespaces/default/toys/x", "{}").status,
                     200);
}

static void test_scale(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    ask_for(&a, 201, "POST", DEPLOYMENTS, try_deployment);
    struct json_object *scale = ask_for(&a, 200, "GET", WEB "/scale", NULL);
    assert_string_equal(json_str_at(scale, "kind", NULL), "Scale");
    assert_string_equal(json_str_at(scale, "status", "selector", NULL), "app=web");
    struct answer answer = patch(&a, MERGE, WEB "/scale", "{'spec':{'replicas':5}}");
    assert_int_equal(json_int_at(answer.body, 0, "spec", "replicas", NULL), 5);
    ask_for(&a, 200, "PUT", WEB "/scale", "{'metadata':{'name':'web'},'spec':{'replicas':6}}");
    ask_for(&a, 409, "PUT", WEB "/scale",
            "{'metadata':{'name':'web','resourceVersion':'1'},'spec':{'replicas':7}}");
    ask_for(&a, 422, "PUT", WEB "/scale", "{'spec':{'replicas':-1}}");
    ask_for(&a, 405, "DELETE", WEB "/scale", NULL);
    ask_for(&a, 404, "GET", DEPLOYMENTS "/none/scale", NULL);
    struct json_object *obj = ask_for(&a, 200, "GET", WEB, NULL);
    assert_int_equal(json_int_at(obj, 0, "spec", "replicas", NULL), 6);
    assert_int_equal(json_int_at(obj, 0, "metadata", "generation", NULL), 3);
}

#define OTHER_UID "{'metadata':{'uid':'11111111-2222-3333-4444-555555555555'}}"

/* Where another uid is refused, how, and where a real API server does not look at it. */
static void test_another_uid(void **state)
{
    static const struct {
        const char *path;
        int status;
    } cases[] = {
        {WEB, 422},
        {WEB "/scale", 409},
        {"/apis/try.io/v1/namespaces/default/toys/x", 422},
        {"/apis/try.io/v1/namespaces/default/toys/x/status", 200},
    };
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    ask_for(&a, 201, "POST", DEPLOYMENTS, try_deployment);
    ask_for(&a, 201, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", try_crd);
    ask_for(&a, 201, "POST", "/apis/try.io/v1/namespaces/default/toys",
            "{'metadata':{'name':'x'},'spec':{'size':1}}");
    for (size_t i = 0; i < TRY_COUNT(cases); i++)
        assert_int_equal(patch(&a, MERGE, cases[i].path, OTHER_UID).status, cases[i].status);
}

static void test_scale_to_zero_is_left_out(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    ask_for(&a, 201, "POST", DEPLOYMENTS, try_deployment);
    struct answer answer = patch(&a, MERGE, WEB "/scale", "{'spec':{'replicas':0}}");
    assert_int_equal(answer.status, 200);
    assert_null(json_at(answer.body, "spec", "replicas", NULL));
    assert_non_null(json_at(answer.body, "status", NULL));
}

UNIT_MAIN(cmocka_unit_test(test_types), cmocka_unit_test(test_strategic_only_for_built_in_kinds),
          cmocka_unit_test(test_scale), cmocka_unit_test(test_another_uid),
          cmocka_unit_test(test_scale_to_zero_is_left_out))

#include "api/tryapi.h"

/* "dryRun" as kubectl finds it: operation.parameters > parameter > non-body > query > in, name. */
static const char dry_run[] = "\x42\x15\x0a\x13\x12\x11\x1a\x0f\x12\x05query\x22\x06"
                              "dryRun";
/* The operation's extension, its name and its value. */
static const char deployment[] = "\x6a\x57\x0a\x1fx-kubernetes-group-version-kind\x12\x34\x12\x32"
                                 "{group: \"apps\", version: \"v1\", kind: \"Deployment\"}";

static void test_document(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    struct answer answer = ask(&a, "GET", "/openapi/v2", NULL);
    assert_int_equal(answer.status, 200);
    assert_memory_equal(answer.text,
                        "\x0a\x03"
                        "2.0\x42",
                        6);
    assert_non_null(strstr(answer.text, dry_run));
    assert_non_null(strstr(answer.text, deployment));
    assert_non_null(strstr(answer.text, "/api/v1/namespaces/{namespace}/configmaps/{name}"));
    assert_non_null(strstr(answer.text, "/api/v1/namespaces/{name}"));
    assert_null(strstr(answer.text, "AccessReview"));
    assert_null(strstr(answer.text, "Toy"));
    ask_for(&a, 201, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", try_crd);
    assert_non_null(strstr(ask(&a, "GET", "/openapi/v2", NULL).text, "kind: \"Toy\""));
}

UNIT_MAIN(cmocka_unit_test(test_document))

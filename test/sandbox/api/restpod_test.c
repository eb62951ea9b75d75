#include "api/tryapi.h"

#define PODS "/api/v1/namespaces/default/pods"

static void on_log(void *arg, const char *ns, const char *pod, struct buf *out)
{
    assert_string_equal(ns, "default");
    assert_string_equal(pod, "p");
    buf_puts(out, arg);
}

static void test_log(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    char text[] = "one\ntwo\n";
    ask_for(&a, 201, "POST", PODS,
            "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i'}]}}");
    assert_string_equal(ask(&a, "GET", PODS "/p/log", NULL).text, ""); /* nobody knows logs yet */
    api_on_pod_log(a.api, on_log, text);
    struct answer answer = ask(&a, "GET", PODS "/p/log", NULL);
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.text, "one\ntwo\n");
    assert_string_equal(answer.content_type, "text/plain");
    ask_for(&a, 404, "GET", PODS "/q/log", NULL);
    ask_for(&a, 405, "POST", PODS "/p/log", NULL);
}

UNIT_MAIN(cmocka_unit_test(test_log))

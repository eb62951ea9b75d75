/* What a test asks of the API by function, and who has no place for its files. */
#include "api/api.h"
#include "api/tryapi.h"

#define MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"

CASE(test_no_directory)
{
    struct trystore t TRY_CLOSED = try_open();
    struct api *api = NULL;
    struct errinfo ei = {0};
    struct api_options options = {.http_port = -1, .directory = "/nonexistent/x"};
    assert_int_not_equal(api_new(t.loop, t.store, &options, &api, &ei), ERR_OK);
    assert_true(*ei.text);
    options = (struct api_options){.https_port = -1, .directory = "/nonexistent/x"};
    assert_int_not_equal(api_new(t.loop, t.store, &options, &api, &ei), ERR_OK);
}

static bool refuse_creates(void *arg, const char *verb, struct http_conn_request *req)
{
    (void)req;
    *(int *)arg += 1;
    return strcmp(verb, "create") != 0;
}

/* Who listens hears of each request to a resource before it is served, and may have it dropped. */
CASE(test_on_request)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    int heard = 0;
    api_on_request(a.api, refuse_creates, &heard);
    assert_int_equal(ask(&a, "GET", MAPS, NULL).status, 200);
    assert_int_equal(heard, 1);
    assert_int_equal(ask(&a, "GET", "/sandbox/stats", NULL).status, 200);
    assert_int_equal(heard, 1);
    assert_int_not_equal(ask(&a, "POST", MAPS, "{'metadata':{'name':'x'}}").err, ERR_OK);
    assert_true(heard >= 2); /* a client may try a connection that was closed once more */
    assert_int_equal(ask(&a, "GET", MAPS "/x", NULL).status, 404);
}

static void on_log(void *arg, const char *ns, const char *pod, struct buf *out)
{
    assert_string_equal(ns, "default");
    assert_string_equal(pod, "p");
    buf_puts(out, arg);
}

CASE(test_log)
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

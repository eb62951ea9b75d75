/* What a test asks of the API by function, and who has no place for its files. */
#include "api/api.h"
#include "api/tryapi.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

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
    *(int *)arg += 1;
    return strcmp(verb, "create") != 0;
}

/* Who listens hears of each request to a resource before it is served, and may have it dropped. */
CASE(test_on_request)
{
    struct tryapi a;
    int heard = 0;
    tryapi_open(&a);
    api_on_request(a.api, refuse_creates, &heard);
    assert_int_equal(talk_ask(&a.talk, NULL, "GET " MAPS, NULL).status, 200);
    assert_int_equal(heard, 1);
    assert_int_equal(talk_ask(&a.talk, NULL, "GET /sandbox/stats", NULL).status, 200);
    assert_int_equal(heard, 1);
    assert_int_equal(talk_ask(&a.talk, NULL, "POST " MAPS, "{'metadata':{'name':'x'}}").status, 0);
    assert_true(heard >= 2); /* a client may try a connection that was closed once more */
    assert_int_equal(talk_ask(&a.talk, NULL, "GET " MAPS "/x", NULL).status, 404);
    tryapi_close(&a);
}
